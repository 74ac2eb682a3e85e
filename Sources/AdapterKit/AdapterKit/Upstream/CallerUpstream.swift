/// The systems behind a portal, called in the name of whoever called the adapter: with the cookies and the token against
/// cross-site requests that the portal gave that person at sign-in. The adapter sees neither.
///
/// Safe to call from any number of tasks. Only the servers that the portal's configuration names can be reached.
public protocol CallerUpstream: Sendable {
    var name: UpstreamName { get }

    /// The whole answer, whatever its status, within the call's deadline and the upstream's own. A sign-in that has
    /// ended there is renewed once where that is possible.
    ///
    /// Throws `auth.required` where the caller has no sign-in there or none that could be renewed, and what
    /// ``UpstreamFailure/asError`` says where there is no answer. Cookies and the token of the request are replaced.
    func send(_ request: UpstreamRequest, for call: Call) async throws -> UpstreamResponse
}
