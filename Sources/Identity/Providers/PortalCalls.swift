import AdapterKit

/// Calls of the systems behind a portal, each in the name of the account that signed in there.
///
/// Cookies and token go to this portal's servers only, as far as each cookie's own domain and path reach; the caller's
/// request brings none of its own.
public struct PortalCalls: Sendable {
    let provider: PortalProvider

    /// Throws `auth.required` where the account has no sign-in there, or none that could be renewed.
    public func send(_ request: UpstreamRequest, as principal: Principal) async throws -> UpstreamResponse {
        guard let account = AccountID(principal.id), var kept = provider.signIns.kept(for: account) else {
            throw Self.signInNeeded
        }
        var call = PortalCall(request, provider.settings)
        var step = call.begin(hasToken: kept.pair.token != nil)
        while true {
            switch step {
            case .send: step = call.next(after: try await send(request, account, &kept.pair))
            case .fetchToken: step = call.fetched(try await fetchToken(for: request, account, &kept.pair))
            case .renew:
                kept.pair = try await renew(account, kept)
                step = call.renewed(hasToken: kept.pair.token != nil)
            case .deliver(let response): return response
            case .signedOut: throw Self.signInNeeded
            }
        }
    }

    private func send(_ request: UpstreamRequest, _ account: AccountID, _ pair: inout PortalCredentials) async throws
        -> UpstreamResponse
    {
        let now = provider.context.clock.now()
        var request = request
        request.redirects = .returned
        request.fields["User-Agent"] = provider.settings.userAgent
        request.fields["Cookie"] = pair.cookies.field(for: request.address, now: now)
        if request.fields["X-CSRF-Token"] == nil { request.fields["X-CSRF-Token"] = pair.token?.reveal() }
        let response = try await provider.answer(to: request)
        pair.cookies.note(response, now: now)
        // Noted in what is kept by then: calls side by side must not undo each other's cookies.
        provider.signIns.update(account, generation: pair.generation) { $0.cookies.note(response, now: now) }
        return response
    }

    private func fetchToken(for request: UpstreamRequest, _ account: AccountID, _ pair: inout PortalCredentials)
        async throws
        -> UpstreamResponse
    {
        pair.token = nil
        let page = provider.settings.tokenPage ?? request.address
        let asking = UpstreamRequest(.get, page, fields: ["X-CSRF-Token": "Fetch"])
        let response = try await send(asking, account, &pair)
        if let token = response.fields["X-CSRF-Token"], response.isSuccess, token.utf8.count <= 4096 {
            pair.token = Secret(token)
        }
        let token = pair.token
        provider.signIns.update(account, generation: pair.generation) { $0.token = token }
        return response
    }

    /// Signs in again with what is kept, once for all calls that wait. A refusal forgets the password, so that no
    /// further try locks the person out there.
    private func renew(_ account: AccountID, _ kept: PortalSignIns.Kept) async throws -> PortalCredentials {
        let generation = kept.pair.generation
        let pair = try await kept.turn.pass { () -> PortalCredentials? in
            guard let current = provider.signIns.kept(for: account) else { return nil }
            guard current.pair.generation == generation else { return current.pair }
            guard let cookies = try await provider.signIn(kept.username, kept.password, from: .unknown) else {
                provider.signIns.forget(account)
                return nil
            }
            return provider.signIns.renew(account, from: generation, with: cookies)
        }
        guard let pair else { throw Self.signInNeeded }
        return pair
    }

    private static let signInNeeded = PorticoError(.loginRequired, "This needs a new login.")
}

/// One call of a portal's system as an account: with its cookies and CSRF token, with a fresh token where that one is
/// refused, after one renewed sign-in where the cookies are. A state machine; ``PortalCalls`` executes it.
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

/// A portal as adapters see it.
struct PortalUpstream: CallerUpstream {
    let calls: PortalCalls

    var name: UpstreamName { UpstreamName(unchecked: calls.provider.name.text) }

    func send(_ request: UpstreamRequest, for call: Call) async throws -> UpstreamResponse {
        var request = request
        let left = ContinuousClock.now.duration(to: call.deadline)
        request.deadline = min(request.deadline ?? left, left)
        return try await calls.send(request, as: call.caller)
    }
}
