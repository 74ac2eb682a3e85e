import AdapterKit
import Telemetry

/// A request's line in the access log, known once its response is ready to be written; of a body that is sent
/// while it is made, once it has ended.
public struct AccessRecord: Sendable {
    public let id: String
    public let method: String
    /// As it came, without the query: people put secrets there.
    public let path: Substring
    public let status: Int
    /// Bytes of the response's body; of one that broke off, those that were sent.
    public internal(set) var bytes: Int
    /// Which endpoint answered, such as `users.list`; `-` where none did.
    public let endpoint: String
    /// The account's name; empty for an anonymous caller.
    public let caller: String
    /// Why the request was refused; nil where it was not.
    public let refusal: Refusal?
    /// From the whole head to the response.
    public let microseconds: Int64
    /// Its place in the trace that it belongs to; nil: none is known.
    public let trace: TraceParent?
    /// Whether it took as long as `log.slow`.
    public let isSlow: Bool
    /// Where its time went, of a slow one, or where ``ServerSettings/wantsSteps`` asks for it; nil: of others.
    public let steps: [RequestTimeline.Total]?

    /// An error's code and what it says of itself, without what the caller sent.
    public final class Refusal: Sendable {
        public let code: String
        public let reason: String
        let errorCode: ErrorCode

        init(_ error: PorticoError) {
            errorCode = error.code
            code = error.code.rawValue
            reason = error.code.reason
        }
    }
}

/// The part of a request target that the log shows: the path up to the first character that may begin a secret. That is
/// the query, path parameters (RFC 3986, section 3.3), and either of them percent-encoded twice.
enum LoggedPath {
    static func text(_ target: String) -> String {
        let bytes = target.utf8
        guard bytes.contains(where: isSuspect) else { return target }
        let end = bytes.indices.first { isEnd(bytes[$0...]) }
        return end.map { String(target[..<$0]) } ?? target
    }

    /// Whether an end begins with the byte.
    private static func isSuspect(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: "?") || byte == UInt8(ascii: ";") || byte == UInt8(ascii: "%")
    }

    private static func isEnd(_ rest: Substring.UTF8View) -> Bool {
        switch rest.first {
        case UInt8(ascii: "?"), UInt8(ascii: ";"): true
        case UInt8(ascii: "%"): ["%3f", "%3b"].contains(Substring(rest.prefix(3)).lowercased())
        default: false
        }
    }
}
