import AdapterKit
import Crypto

/// Where a browser goes to sign in, and what it must bring back.
public struct BrowserSignIn: Sendable {
    /// The provider's page, with what it has to be told.
    public let location: String
    /// The value of a cookie: letters, digits, `-` and `_`.
    public let cookie: Secret
    /// Seconds.
    public let cookieLifetime: Int
}

/// What a provider's page sent the browser back with (RFC 6749, section 4.1.2; RFC 9207).
public struct BrowserReturn: Sendable {
    public let code: Secret
    public let state: Secret
    public let issuer: String?

    public init(code: Secret, state: Secret, issuer: String?) {
        self.code = code
        self.state = state
        self.issuer = issuer
    }
}

extension Identity {
    /// The providers with a sign-in page of their own.
    public var browserProviders: [ProviderName] { providers.openIDConnect.map(\.name) }

    /// Begins a sign-in at a provider's page, which ends at `path` of this gateway. Throws `route.notFound` for a
    /// provider that is none, `request.invalid` for a path that leads elsewhere.
    public func beginSignIn(with name: ProviderName, returningTo path: String) async throws -> BrowserSignIn {
        guard let provider = providers.openIDConnect(name) else { throw Self.noProvider }
        guard Self.isOwnPath(path) else {
            throw PorticoError(.requestInvalid, "The address to return to is not one of this server.", target: "return")
        }
        let configuration = try await provider.documents.configuration()
        let pending = pendingSignIn(name, path)
        return BrowserSignIn(
            location: configuration.authorization.adding(provider.query(pending)).description,
            cookie: try pendingSignIns.seal(pending),
            cookieLifetime: Int(OpenIDConnectSettings.maximumStay.inSeconds))
    }

    /// Ends it. `cookie` is what ``beginSignIn(with:returningTo:)`` gave this very browser. Gives the path to return to.
    ///
    /// Throws `auth.invalid`, whatever is wrong with what was brought back, and `route.notFound` for a provider that is
    /// none. What ``beginSignIn(with:returningTo:)`` gave is good for one answer.
    public func finishSignIn(
        with name: ProviderName, _ back: BrowserReturn, cookie: Secret, from address: ClientAddress,
        replacing old: Secret? = nil
    ) async throws -> (signIn: SignIn, path: String) {
        guard let provider = providers.openIDConnect(name) else { throw Self.noProvider }
        guard let pending = try await answered(back, cookie, provider, from: address),
            case .accepted(let account) = try await provider.verify(
                .authorizationCode(back.code, verifier: Secret(pending.verifier), nonce: Secret(pending.nonce)))
        else {
            try await context.refusals.record(
                AuditEvent(.signInRefused, actor: "", address: address.description, detail: name.text), name: "",
                from: address)
            throw IdentityContext.refusal
        }
        let proven = PasswordProof.Proven(account: account, provider: name)
        let signIn = try await begin(proven, from: address, replacing: old)
        return (signIn, pending.returnPath)
    }

    /// Nil where the answer belongs to another browser, another provider or another time: forged, mixed up, late or
    /// brought a second time.
    private func answered(
        _ back: BrowserReturn, _ cookie: Secret, _ provider: OpenIDConnectProvider, from address: ClientAddress
    ) async throws -> PendingSignIn? {
        guard let pending = pendingSignIns.open(cookie), pending.provider == provider.name.text,
            context.clock.now().secondsSince1970 < pending.ends,
            SecretDigest(of: Secret(pending.state)).matches(back.state)
        else { return nil }
        let mustNameItself = try await provider.documents.configuration().namesItself
        let isRightIssuer = back.issuer.map { $0 == provider.settings.issuerText } ?? !mustNameItself
        guard isRightIssuer, pendingSignIns.use(pending, from: address, now: context.clock.now()) else { return nil }
        return pending
    }

    private static let noProvider = PorticoError(.routeNotFound, "There is no such provider.")

    private func pendingSignIn(_ name: ProviderName, _ path: String) -> PendingSignIn {
        PendingSignIn(
            provider: name.text, state: Secret.random(context.randomness).reveal(),
            nonce: Secret.random(context.randomness).reveal(), verifier: Secret.random(context.randomness).reveal(),
            returnPath: path, ends: (context.clock.now() + OpenIDConnectSettings.maximumStay).secondsSince1970)
    }

    /// No second slash and no backslash, with which a browser would leave.
    private static func isOwnPath(_ path: String) -> Bool {
        path.hasPrefix("/") && !path.hasPrefix("//") && path.utf8.count <= 1024
            && path.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7f && $0 != UInt8(ascii: "\\") }
    }
}

extension OpenIDConnectProvider {
    /// What the provider's page is asked (OpenID Connect Core 1.0, section 3.1.2.1), with PKCE's `S256`.
    fileprivate func query(_ pending: PendingSignIn) -> FormFields {
        let challenge = Base64URL.encode(Array(SHA256.hash(data: Array(pending.verifier.utf8))))
        return [
            "response_type": "code", "client_id": settings.clientID, "redirect_uri": settings.callback.description,
            "scope": settings.scopes.joined(separator: " "), "state": pending.state, "nonce": pending.nonce,
            "code_challenge": challenge, "code_challenge_method": "S256",
        ]
    }
}
