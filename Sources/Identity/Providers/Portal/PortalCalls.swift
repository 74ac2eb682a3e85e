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
