import AdapterKit

/// What the access log says about one request, known once its response is ready to be written; of a body that is sent
/// while it is made, once it has ended.
public struct AccessRecord: Sendable {
    public let id: String
    public let method: String
    /// As it came, without the query: people put secrets there.
    public let path: Substring
    public let status: Int
    /// Of the response's body; of one that broke off, what was sent of it.
    public internal(set) var bytes: Int
    /// Which endpoint answered, such as `users.list`; `-` where none did.
    public let endpoint: String
    /// The account's name; empty for an anonymous caller.
    public let caller: String
    /// Why the request was refused; nil where it was not.
    public let refusal: Refusal?
    /// From the whole head to the response.
    public let microseconds: Int64

    /// An error's code and what it says of itself, without what the caller sent.
    public final class Refusal: Sendable {
        public let code: String
        public let reason: String

        init(_ error: PorticoError) {
            code = error.code.rawValue
            reason = error.code.reason
        }
    }
}
