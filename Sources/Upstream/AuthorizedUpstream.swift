import AdapterKit
import WireFormats

/// An upstream with its credentials: what adapters and push services call.
///
/// A token that the upstream refuses with 401 is fetched anew once, and the call is made again.
public struct AuthorizedUpstream: Upstream {
    /// A token of this gateway about a caller, with the roles of the call's credential, for token exchange. Throws where the
    /// caller has no account.
    public typealias SubjectToken = @Sendable (Principal) async throws -> Secret

    private let transport: HTTPUpstream
    private let credentials: UpstreamCredentials
    private let tokens: TokenCache
    private let subjectToken: SubjectToken?
    private let clock: any WallClock

    /// `subjectToken` is needed for ``UpstreamCredentials/exchange(_:audience:)``.
    public init(
        _ transport: HTTPUpstream, _ credentials: UpstreamCredentials, clock: any WallClock,
        subjectToken: SubjectToken? = nil
    ) {
        self.transport = transport
        self.credentials = credentials
        self.subjectToken = subjectToken
        self.clock = clock
        tokens = TokenCache(transport.name)
    }

    public var name: UpstreamName { transport.name }
    public var url: UpstreamAddress { transport.url }

    /// Something of the account has ended: a sign-in, a role, a password, the account itself. Tokens in its name are fetched
    /// anew.
    public func forget(_ account: String) { tokens.forget(account) }

    public var actsForCallers: Bool { if case .exchange = credentials { true } else { false } }

    public func stream(_ request: UpstreamRequest, for caller: Principal?) async throws(UpstreamFailure)
        -> UpstreamStream
    {
        try await sendAuthorized(request, caller, \.status) { request throws(UpstreamFailure) in
            try await transport.stream(request, for: nil)
        }
    }

    public func send(_ request: UpstreamRequest, for caller: Principal?) async throws(UpstreamFailure)
        -> UpstreamResponse
    {
        try await sendAuthorized(request, caller, \.status) { request throws(UpstreamFailure) in
            try await transport.send(request, for: nil)
        }
    }

    private func sendAuthorized<Answer: Sendable>(
        _ request: UpstreamRequest, _ caller: Principal?, _ status: (Answer) -> Int,
        _ send: (UpstreamRequest) async throws(UpstreamFailure) -> Answer
    ) async throws(UpstreamFailure) -> Answer {
        let limits = transport.settings.limits
        let own = ContinuousClock.now + (request.deadline ?? limits.deadline)
        let end = CallContext.current.map { min(own, $0.deadline) } ?? own
        var request = request
        var isSecondTry = false
        while true {
            let token = try await add(to: &request, for: caller, until: end)
            request.deadline = ContinuousClock.now.duration(to: end)
            let answer = try await send(request)
            guard status(answer) == 401, let token, !isSecondTry, request.streamedBody == nil else { return answer }
            tokens.invalidate(token, of: owner(caller))
            isSecondTry = true
        }
    }

    /// The token that was fetched for it; nil: none was.
    private func add(
        to request: inout UpstreamRequest, for caller: Principal?, until end: ContinuousClock.Instant
    ) async throws(UpstreamFailure) -> Secret? {
        // Credentials are for the upstream's own server; a document may lead to others that it may ask too.
        guard request.address.origin == url.origin else { return nil }
        switch credentials {
        case .none: return nil
        case .basic(let username, let password):
            request.fields["Authorization"] =
                "Basic "
                + String(decoding: Base64.encode(Array("\(username):\(password.reveal())".utf8)), as: UTF8.self)
            return nil
        case .bearer(let token):
            request.fields["Authorization"] = "Bearer \(token.reveal())"
            return nil
        case .apiKey(let header, let value):
            request.fields[header] = value.reveal()
            request.secretFields.append(header)
            return nil
        case .oauth2, .jwtBearer, .exchange:
            let token = try await tokens.token(for: owner(caller), until: end) { () throws(UpstreamFailure) in
                // A token that all use is fetched in the gateway's own share.
                let account = actsForCallers ? CallerIdentity.current : .system
                do {
                    return try await CallerIdentity.$current.withValue(account) {
                        try await fetch(for: caller, until: end)
                    }
                } catch {
                    throw transport.failure(error)
                }
            }
            request.fields["Authorization"] = "Bearer \(token.reveal())"
            return token
        }
    }

    private func owner(_ caller: Principal?) -> TokenOwner {
        actsForCallers ? TokenOwner(caller, signIn: CallContext.current?.signIn) : .gateway
    }
}

extension AuthorizedUpstream {
    private func fetch(for caller: Principal?, until end: ContinuousClock.Instant) async throws(UpstreamFailure)
        -> IssuedToken
    {
        var request = try await tokenRequest(for: caller)
        request.fields["Accept"] = "application/json"
        request.answerLimit = 64 << 10
        request.deadline = ContinuousClock.now.duration(to: end)
        let response = try await transport.send(request, for: nil)
        guard response.status == 200, let issued = IssuedToken(response.body) else {
            let kind: UpstreamFailure.Kind =
                response.status >= 500 ? .broken : actsForCallers ? .signInRequired : .credentialsRefused
            throw UpstreamFailure(
                kind, of: name, detail: "the token endpoint answered \(response.status) \(Self.code(response.body))")
        }
        return issued
    }

    private func tokenRequest(for caller: Principal?) async throws(UpstreamFailure) -> UpstreamRequest {
        switch credentials {
        case .oauth2(let endpoint, let scopes):
            var form = [(name: "grant_type", value: "client_credentials")]
            if !scopes.isEmpty { form.append((name: "scope", value: scopes.joined(separator: " "))) }
            var request = UpstreamRequest(posting: FormFields(form), to: endpoint.url)
            request.fields["Authorization"] = endpoint.authorization
            request.isIdempotent = true
            return request
        case .jwtBearer(let bearer):
            // Whole seconds before the epoch is changed: nothing is rounded up.
            let now = Int64(exactly: clock.now().secondsSinceReferenceDate.rounded(.down))
            let offset = Int64(WireDate.unixEpochOffset)
            guard let now, let assertion = try? bearer.assertion(now: now &+ offset) else {
                throw UpstreamFailure(.credentialsRefused, of: name, detail: "the assertion cannot be signed")
            }
            var request = UpstreamRequest(
                posting: [
                    "grant_type": "urn:ietf:params:oauth:grant-type:jwt-bearer", "assertion": assertion.reveal(),
                ], to: bearer.tokenURL)
            request.isIdempotent = true
            return request
        case .exchange(let endpoint, let audience):
            guard let caller, !caller.isAnonymous, let subject = try? await subjectToken?(caller) else {
                throw UpstreamFailure(.signInRequired, of: name, detail: "the call has no caller")
            }
            var request = UpstreamRequest(
                posting: [
                    "grant_type": "urn:ietf:params:oauth:grant-type:token-exchange", "subject_token": subject.reveal(),
                    "subject_token_type": "urn:ietf:params:oauth:token-type:jwt", "audience": audience,
                    "requested_token_type": "urn:ietf:params:oauth:token-type:access_token",
                ], to: endpoint.url)
            request.fields["Authorization"] = endpoint.authorization
            return request
        default: throw UpstreamFailure(.credentialsRefused, of: name)
        }
    }

    /// `error` of the answer (RFC 6749, section 5.2) where it is a name; nothing else of it reaches a log.
    private static func code(_ body: [UInt8]) -> String {
        guard body.count <= 64 << 10, let code = (try? JSONFormat().read(body))?["error"]?.stringValue,
            code.utf8.count <= 64, code.utf8.allSatisfy({ $0 == 0x5F || (0x61...0x7A).contains($0) })
        else { return "" }
        return code
    }
}
