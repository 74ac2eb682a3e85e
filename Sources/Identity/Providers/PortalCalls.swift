import AdapterKit

/// Calls of the systems behind a portal, each in the name of the account that signed in there.
///
/// Cookies and token go to this portal's servers only, as far as each cookie's own domain and path reach; the caller's
/// request brings none of its own.
public struct PortalCalls: Sendable {
    let provider: PortalProvider

    /// Through the portal's own upstream. Throws `auth.required` where the account has no sign-in there, or none that
    /// could be renewed.
    public func send(_ request: UpstreamRequest, as principal: Principal) async throws -> UpstreamResponse {
        try await call(
            request, as: principal, through: provider.upstream, head: { $0 },
            send: { try await provider.answer(to: $0) })
    }

    /// `send` makes the call itself, through `upstream`, which is asked for tokens too; `head` is what decides about an
    /// answer.
    func call<Answer: Sendable>(
        _ request: UpstreamRequest, as principal: Principal, through upstream: any Upstream,
        head: (Answer) -> UpstreamResponse, send: (UpstreamRequest) async throws -> Answer
    ) async throws -> Answer {
        guard let account = AccountID(principal.id), var kept = provider.signIns.keptSignIn(for: account) else {
            throw Self.signInNeeded
        }
        try await checkReach(of: principal, account)
        var call = PortalCall(request, provider.settings)
        var step = call.begin(hasToken: kept.pair.token != nil)
        while true {
            switch step {
            case .send:
                let answer = try await send(dressed(request, kept.pair))
                note(head(answer), account, &kept.pair)
                step = call.next(after: head(answer))
                if case .deliver = step { return answer }
            case .fetchToken: step = call.noteFetched(try await fetchToken(for: request, account, &kept.pair, upstream))
            case .renew:
                kept.pair = try await renew(account, kept)
                step = call.noteRenewed(hasToken: kept.pair.token != nil)
            case .deliver, .signedOut: throw Self.signInNeeded
            }
        }
    }

    /// The portal's session reaches as far as the person does, so a key with fewer roles has no call there.
    private func checkReach(of principal: Principal, _ account: AccountID) async throws {
        guard principal.kind == .program else { return }
        let roles = try await provider.context.accounts.account(account)?.roles ?? []
        guard principal.roles.isSuperset(of: roles) else {
            throw PorticoError(.loginRequired, "This needs a login: the API key has not all roles of its account.")
        }
    }

    /// With the account's cookies and token.
    private func dressed(_ request: UpstreamRequest, _ pair: PortalCredentials) -> UpstreamRequest {
        var request = request
        request.redirects = .returned
        request.fields["User-Agent"] = provider.settings.userAgent
        request.fields["Cookie"] = pair.cookies.field(for: request.address, now: provider.context.clock.now())
        if request.fields["X-CSRF-Token"] == nil { request.fields["X-CSRF-Token"] = pair.token?.reveal() }
        return request
    }

    private func note(_ response: UpstreamResponse, _ account: AccountID, _ pair: inout PortalCredentials) {
        let now = provider.context.clock.now()
        pair.cookies.note(response, now: now)
        // Noted in what is kept by then: calls side by side must not undo each other's cookies.
        provider.signIns.update(account, generation: pair.generation) { $0.cookies.note(response, now: now) }
    }

    private func fetchToken(
        for request: UpstreamRequest, _ account: AccountID, _ pair: inout PortalCredentials, _ upstream: any Upstream
    ) async throws -> UpstreamResponse {
        pair.token = nil
        let page = provider.settings.tokenPage ?? request.address
        let asking = dressed(UpstreamRequest(.get, page, fields: ["X-CSRF-Token": "Fetch"]), pair)
        let response: UpstreamResponse
        do throws(UpstreamFailure) {
            response = try await upstream.send(asking)
        } catch {
            throw error.asError
        }
        note(response, account, &pair)
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
            guard let current = provider.signIns.keptSignIn(for: account) else { return nil }
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
        /// The answer is the caller's.
        case deliver
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
        if isSignedOut(response) || isForm(response) { return renew() }
        if response.status == 403, response.fields["X-CSRF-Token"]?.lowercased() == "required", !hasFetched {
            return fetch()
        }
        return .deliver
    }

    /// Takes the answer that came with the token; it decides only whether the cookies still hold.
    mutating func noteFetched(_ response: UpstreamResponse) -> Step {
        isSignedOut(response) ? renew() : .send
    }

    mutating func noteRenewed(hasToken: Bool) -> Step {
        hasFetched = false
        return begin(hasToken: hasToken)
    }

    /// A page for people where the request takes none: the form to sign in with.
    private func isForm(_ response: UpstreamResponse) -> Bool {
        guard response.status == 200, let accept = request.fields["Accept"]?.lowercased(), !accept.contains("html"),
            !accept.contains("*/*")
        else { return false }
        return response.fields["Content-Type"]?.lowercased().hasPrefix("text/html") ?? false
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
    private func isSignedOut(_ response: UpstreamResponse) -> Bool {
        guard response.status != 401 else { return true }
        guard let target = response.redirect else { return false }
        return [settings.form, settings.page].contains { $0?.origin == target.origin && $0?.path == target.path }
    }
}

/// A system behind a portal, called in the names of those who are signed in there.
struct PortalUpstream: Upstream {
    let portal: ProviderName
    let providers: CurrentProviders
    /// Without credentials of its own.
    let transport: any Upstream

    var name: UpstreamName { transport.name }
    var url: UpstreamAddress { transport.url }
    var actsForCallers: Bool { true }

    func stream(_ request: UpstreamRequest, for caller: Principal?) async throws(UpstreamFailure) -> UpstreamStream {
        try await call(request, caller, head: Self.head) { try await transport.stream($0) }
    }

    func send(_ request: UpstreamRequest, for caller: Principal?) async throws(UpstreamFailure) -> UpstreamResponse {
        try await call(request, caller, head: { $0 }, send: { try await transport.send($0) })
    }

    private func call<Answer: Sendable>(
        _ request: UpstreamRequest, _ caller: Principal?, head: (Answer) -> UpstreamResponse,
        send: (UpstreamRequest) async throws -> Answer
    ) async throws(UpstreamFailure) -> Answer {
        guard let caller else { throw UpstreamFailure(.signInRequired, of: name, detail: "the call has no caller") }
        guard let provider = providers.value.portal(portal) else {
            throw UpstreamFailure(.signInRequired, of: name, detail: "there is no portal \(portal)")
        }
        let calls = PortalCalls(provider: provider)
        do {
            return try await calls.call(request, as: caller, through: transport, head: head, send: send)
        } catch let failure as UpstreamFailure {
            throw failure
        } catch let error as PorticoError {
            throw UpstreamFailure(Self.kind(error.code), of: name, detail: error.logDetail ?? error.message)
        } catch is CancellationError {
            throw UpstreamFailure(.cancelled, of: name)
        } catch {
            throw UpstreamFailure(.broken, of: name, detail: "\(error)")
        }
    }

    /// The kind of an error in renewing the sign-in.
    private static func kind(_ code: ErrorCode) -> UpstreamFailure.Kind {
        switch code {
        case .loginRequired: .signInRequired
        case .upstreamTimeout: .timedOut
        case .overloaded: .overloaded
        default: .broken
        }
    }

    private static func head(_ stream: UpstreamStream) -> UpstreamResponse {
        UpstreamResponse(address: stream.address, status: stream.status, fields: stream.fields, body: [])
    }
}
