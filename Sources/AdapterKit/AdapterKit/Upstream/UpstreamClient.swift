/// Names another system in configuration, logs and error messages: `[a-z][a-z0-9-]*`, at most 40 characters.
public struct UpstreamName: ValidatedName {
    public let text: String
    public init(unchecked text: String) { self.text = text }
    public static func isValid(_ text: String) -> Bool { AdapterName.isValid(text) }
}

/// The way to another system, with its limits: which servers, how long, how much, how often. The host makes it from the
/// configuration and hands it to whoever may use it.
///
/// Safe to call from any number of tasks. Cookies are nobody's business here: whoever sends some puts them into the
/// request.
public protocol UpstreamClient: Sendable {
    var name: UpstreamName { get }

    /// Returns the whole answer, whatever its status, within the deadline. Ends with the task that waits.
    func send(_ request: UpstreamRequest) async throws(UpstreamFailure) -> UpstreamResponse
}
