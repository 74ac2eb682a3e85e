import AdapterKit

/// One call of a portal's system in somebody's name: with the pair, with a fresh token where that one does not hold,
/// after one renewed sign-in where the cookies do not. A state machine; ``PortalCalls`` carries out what it asks for.
struct PortalCall: Sendable {
    enum Step: Sendable {
        case fetchToken
        case send
        case renew
        case deliver(UpstreamResponse)
        /// The person has to sign in again.
        case signedOut
    }

    private let settings: PortalSettings
    private let request: UpstreamRequest
    private var hasRenewed = false
    private var hasFetched = false

    init(_ request: UpstreamRequest, _ settings: PortalSettings) {
        self.request = request
        self.settings = settings
    }

    /// Reads need no token; a `POST` that only reads is still one to the other side.
    private var needsToken: Bool { request.method != .get && request.method != .head }

    mutating func begin(hasToken: Bool) -> Step {
        needsToken && !hasToken && !hasFetched ? fetch() : .send
    }

    mutating func next(after response: UpstreamResponse) -> Step {
        if Self.isSignedOut(response, settings) { return renew() }
        if response.status == 403, response.fields["X-CSRF-Token"]?.lowercased() == "required", !hasFetched {
            return fetch()
        }
        return .deliver(response)
    }

    /// What came with the token decides only whether the cookies still hold.
    mutating func fetched(_ response: UpstreamResponse) -> Step {
        Self.isSignedOut(response, settings) ? renew() : .send
    }

    mutating func renewed(hasToken: Bool) -> Step {
        hasFetched = false
        return begin(hasToken: hasToken)
    }

    private mutating func fetch() -> Step {
        hasFetched = true
        return .fetchToken
    }

    private mutating func renew() -> Step {
        guard !hasRenewed else { return .signedOut }
        hasRenewed = true
        return .renew
    }

    /// 401, or a redirect to where one signs in.
    private static func isSignedOut(_ response: UpstreamResponse, _ settings: PortalSettings) -> Bool {
        guard response.status != 401 else { return true }
        guard let target = response.redirect else { return false }
        return [settings.form, settings.page].contains { $0?.origin == target.origin && $0?.path == target.path }
    }
}
