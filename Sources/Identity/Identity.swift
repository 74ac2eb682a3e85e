import AdapterKit
import Crypto
import RecordStorage

/// Authentication for every adapter: resolves credentials to principals. Independent of HTTP.
///
/// Every method is safe to call from any task, throws ``PorticoError`` (or `CancellationError`, where the task is
/// cancelled), and takes effect before it returns: the next call refuses what was signed out, revoked or disabled. An
/// invalid credential gives nil where it is verified and `auth.invalid` where it is exchanged, without a reason.
public final class Identity: Sendable {
    let context: IdentityContext
    let sessions: SessionDirectory
    let keys: SigningKeys
    let proof: PasswordProof
    let providers: CurrentProviders
    let pendingSignIns: PendingSignIns
    let tokenBindings: CSRFTokenBindings
    let portalCleanup: PortalSessionCleanup
    let signIns: SignIns
    let tokenRefresh: TokenRefresh
    let verifier: CredentialVerifier
    let passwords: PasswordChange
    let maintenance: Maintenance
    /// What operators do.
    public let administration: Administration
    /// Whom adapters can name.
    public let accounts: any AccountLookup

    /// To be installed in the store before ``init(store:configuration:clock:randomness:providers:log:)``.
    public static func collections() -> [CollectionDeclaration] {
        IdentityCollections.all
    }

    /// Loads the signing keys, and makes the first one in an empty store.
    public init(
        store: any Store, configuration: IdentityConfiguration = IdentityConfiguration(), clock: any WallClock,
        randomness: any Randomness = SystemRandomness(), providers setups: [ProviderSetup] = [], log: Log
    ) async throws {
        context = IdentityContext(
            configuration, records: IdentityRecords(store: store), clock: clock, randomness: randomness, log: log)
        keys = try await SigningKeys(context)
        sessions = SessionDirectory(context: context)
        providers = CurrentProviders(Providers(setups, context))
        pendingSignIns = PendingSignIns(randomness)
        tokenBindings = CSRFTokenBindings(randomness)
        portalCleanup = PortalSessionCleanup(sessions: sessions, providers: providers)
        proof = PasswordProof(
            context: context, providers: providers,
            backoff: BackoffGate(
                configuration.backoff, clock: clock, waiting: configuration.passwords.waitingHashes,
                longestWait: configuration.passwords.longestWait))
        signIns = SignIns(context: context, sessions: sessions, keys: keys)
        tokenRefresh = TokenRefresh(context: context, sessions: sessions, keys: keys)
        verifier = CredentialVerifier(
            context: context, sessions: sessions, keys: keys, proof: proof, providers: providers)
        passwords = PasswordChange(context: context, sessions: sessions)
        maintenance = Maintenance(context: context, keys: keys, backoff: proof.backoff)
        accounts = ListedAccounts(context: context, sessions: sessions)
        administration = Administration(context: context, sessions: sessions, passwords: passwords, keys: keys)
    }
}

extension Identity {
    /// The way to the systems behind a portal; nil for a provider that is none.
    public func portalCalls(_ name: ProviderName) -> PortalCalls? {
        providers.value.portal(name).map { PortalCalls(provider: $0) }
    }

    /// One of the ways to sign in, for its conformance suite.
    package func provider(_ name: ProviderName) -> (any SignInProvider)? {
        providers.value.all.first { $0.name == name }
    }

    /// Writes an audit entry of another module; returns when it is durable.
    public func record(_ event: AuditEvent) async throws {
        try await context.writes.record(event)
    }

    /// Writes down when sessions were used, removes those that ended, rotates a key whose time has come. To be called
    /// every minute or so; errors are worth a line in the log, no more.
    public func maintain() async throws {
        try await maintenance.run()
        try await portalCleanup.sweep(now: context.clock.now())
    }
}

extension Identity {
    /// How the memory of verified credentials does.
    public var credentialFigures: CredentialFigures { context.cache.figures }

    /// Exchanges a name and a password for a session and tokens. The session whose cookie came with the request ends.
    ///
    /// Throws `auth.invalid`, the same in time and text whether the name is unknown, the password wrong or the account
    /// disabled; `auth.throttled` with the seconds to wait; `server.overloaded`.
    public func signIn(
        _ username: String, _ password: Secret, from address: ClientAddress, by agent: ClientAgent? = nil,
        replacing cookie: Secret? = nil
    ) async throws -> SignIn {
        let proven = try await proof.prove(username, password, from: address)
        return try await begin(proven, from: address, by: agent, replacing: cookie)
    }

    /// Begins a session and ends the one whose cookie came with the sign-in, of any account: a browser that changes
    /// hands leaves no session behind.
    func begin(
        _ proven: PasswordProof.Proven, from address: ClientAddress, by agent: ClientAgent?, replacing cookie: Secret?
    ) async throws -> SignIn {
        let old = cookie.flatMap { SessionCookie($0) }
        if let old { try await endSession(of: old, otherThan: proven.account.id) }
        return try await signIns.begin(proven, from: address, by: agent, replacing: old)
    }

    /// A session of the same account ends in the transaction in which the new one begins.
    private func endSession(of cookie: SessionCookie, otherThan account: AccountID) async throws {
        guard let session = try await sessions.session(cookie.id), session.cookie.matches(cookie.secret),
            session.account != account
        else { return }
        try await sessions.end(of: session.account, as: .signedOut, by: .system, detail: "another account signed in") {
            $0.id == session.id
        }
        try await portalCleanup.check(session.account)
    }

    /// Exchanges a refresh token for the next pair. Each is good for one exchange; a second one ends the sign-in.
    public func refresh(_ refreshToken: Secret) async throws -> TokenPair {
        try await tokenRefresh.refresh(refreshToken)
    }

    /// Ends the sign-in that the credential belongs to, its cookie and all of its tokens. Does nothing for Basic and API
    /// keys, which belong to none.
    public func signOut(_ authentication: Authentication) async throws {
        guard let session = authentication.session else { return }
        try await sessions.end(of: authentication.account, as: .signedOut, by: authentication.principal) {
            $0.id == session
        }
        try await portalCleanup.check(authentication.account)
    }

    /// Ends every sign-in of the account, and what goes on because of one: pushes to devices, sign-ins at the console.
    public func signOutEverywhere(_ authentication: Authentication) async throws {
        try await passwords.change(
            authentication.account, [:], as: .signedOut, by: authentication.principal, detail: "everywhere")
        try await portalCleanup.check(authentication.account)
    }

    /// Sets a new password and ends every other sign-in of the account. Throws as ``signIn(_:_:from:replacing:)`` does
    /// for the old password, and `request.invalid` for a new one that the policy refuses.
    public func changePassword(
        _ authentication: Authentication, old: Secret, new: Secret, from address: ClientAddress
    ) async throws {
        let name = authentication.principal.name
        let proven = try await proof.prove(name, old, from: address)
        guard proven.account.id == authentication.account else { throw IdentityContext.refusal }
        try await passwords.set(
            new, for: authentication.account, by: authentication.principal, keeping: authentication.session)
    }
}

extension Identity {
    /// The value of a session cookie. Costs a look-up in memory, mostly.
    public func authentication(sessionCookie value: Secret) async throws -> Authentication? {
        try await verifier.session(value)
    }

    /// An access token of ours, or an API key.
    public func authentication(bearer value: Secret) async throws -> Authentication? {
        value.reveal().hasPrefix(APIKeyCredential.prefix)
            ? try await verifier.apiKey(value) : try await verifier.accessToken(value)
    }

    /// What ``knownAuthentication(_:)`` finds an access token or an API key by.
    public func key(bearer value: Secret) -> CredentialKey {
        verifier.context.cache.key(
            value.reveal().hasPrefix(APIKeyCredential.prefix) ? .apiKey : .accessToken, [value])
    }

    /// What ``knownAuthentication(_:)`` finds the value of a session cookie by.
    public func key(sessionCookie value: Secret) -> CredentialKey {
        verifier.context.cache.key(.sessionCookie, [value])
    }

    /// What is remembered of a credential that was verified, without waiting; nil where it would have to be verified.
    public func knownAuthentication(_ key: CredentialKey) -> Authentication? {
        verifier.context.cache.lookUp(key)
    }

    /// The two halves of HTTP Basic; nil wherever the configuration does not allow it. Throws `auth.throttled` and
    /// `server.overloaded` as a sign-in does.
    public func authentication(
        basic username: String, _ password: Secret, from address: ClientAddress
    ) async throws -> Authentication? {
        do {
            return try await verifier.basic(username, password, from: address)
        } catch let error as PorticoError where error.code == .credentialsInvalid {
            return nil
        }
    }

    /// Returns when a verified credential stops holding before its time, or the account's roles or attributes change: a
    /// live stream that was opened with it ends then, and its client asks again. Returns at once where that has happened
    /// already. Does not watch ``Authentication/expires``. Ends with the task that waits.
    public func waitUntilRevoked(_ authentication: Authentication) async throws {
        try await context.cache.revocations.wait(for: authentication) { try await verifier.holds(authentication) }
    }

    /// The same without a task that waits: `revoked` is called then, from any thread, or before this returns where the
    /// credential does not hold already. The watch is to be ended.
    public func watch(
        _ authentication: Authentication, revoked: @escaping @Sendable () -> Void
    ) async throws -> RevocationWatch {
        let watch = context.cache.revocations.watch(authentication, revoked: revoked)
        do {
            if try await !verifier.holds(authentication) { revoked() }
        } catch {
            watch.end()
            throw error
        }
        return watch
    }

    /// The public keys by which others verify our access tokens (RFC 7517).
    public func jwks() -> WireValue {
        keys.current.publicSet(now: context.clock.now())
    }

    /// A token that a page sends with its writes, bound to the session whose cookie this is. A new text at every call.
    public func csrfToken(forSessionCookie value: Secret) -> Secret {
        csrfToken(for: .session(value))
    }

    /// The same, bound to either.
    public func csrfToken(for tokenBinding: CSRFTokenBinding) -> Secret {
        CSRFToken.issue(for: tokenBindings.secret(of: tokenBinding), context.randomness)
    }

    /// What ``csrfToken(forSessionCookie:)`` is bound to on a page that is shown before there is a session: 256 random
    /// bits in 43 URL-safe characters.
    public func formSecret() -> Secret {
        .random(context.randomness)
    }

    public func isValid(csrfToken token: Secret, forSessionCookie value: Secret) -> Bool {
        isValid(csrfToken: token, for: .session(value))
    }

    public func isValid(csrfToken token: Secret, for tokenBinding: CSRFTokenBinding) -> Bool {
        CSRFToken.isValid(token, for: tokenBindings.secret(of: tokenBinding))
    }
}

extension Identity {
    /// Proves a name and a password as a sign-in does, with the same backoff and the same audit of refusals, and begins no
    /// session. Throws `auth.invalid`, the same whatever is wrong, `auth.throttled`, or what a provider throws.
    public func proveAccount(
        _ username: String, _ password: Secret, from address: ClientAddress
    ) async throws -> (proof: AccountProof, account: Account) {
        let proven = try await proof.prove(username, password, from: address).account
        let proof = AccountProof(account: proven.id, credentialVersion: proven.credentialVersion)
        guard let account = try await holder(of: proof) else { throw IdentityContext.refusal }
        return (proof, account)
    }

    /// The account as it is now; nil where the proof has ended.
    public func holder(of proof: AccountProof) async throws -> Account? {
        guard let account = try await context.accounts.active(proof.account),
            account.credentialVersion == proof.credentialVersion
        else { return nil }
        return account
    }
}

/// Where a browser goes to sign in, and what it must bring back.
public struct BrowserSignIn: Sendable {
    /// The provider's page, with its parameters.
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
    public var browserProviders: [ProviderName] { providers.value.openIDConnect.map(\.name) }

    /// Begins a sign-in at a provider's page, which ends at `path` of this gateway. Throws `route.notFound` for a
    /// provider that is none, `request.invalid` for a path that leads elsewhere.
    public func beginSignIn(with name: ProviderName, returningTo path: String) async throws -> BrowserSignIn {
        guard let provider = providers.value.openIDConnect(name) else { throw Self.noProvider }
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
        by agent: ClientAgent? = nil, replacing old: Secret? = nil
    ) async throws -> (signIn: SignIn, path: String) {
        guard let provider = providers.value.openIDConnect(name) else { throw Self.noProvider }
        guard let pending = try await matchReturn(back, cookie, provider, from: address),
            case .accepted(let account) = try await provider.verify(
                .authorizationCode(back.code, verifier: Secret(pending.verifier), nonce: Secret(pending.nonce)))
        else {
            try await context.refusals.record(
                AuditEvent(.signInRefused, actor: "", address: address.description, detail: name.text), name: "",
                from: address)
            throw IdentityContext.refusal
        }
        let proven = PasswordProof.Proven(account: account, provider: name)
        let signIn = try await begin(proven, from: address, by: agent, replacing: old)
        return (signIn, pending.returnPath)
    }

    /// Nil where the answer belongs to another browser, another provider or another time: forged, mixed up, late or
    /// brought a second time.
    private func matchReturn(
        _ back: BrowserReturn, _ cookie: Secret, _ provider: OpenIDConnectProvider, from address: ClientAddress
    ) async throws -> PendingSignIn? {
        guard let pending = pendingSignIns.open(cookie), pending.provider == provider.name.text,
            UnixTime(context.clock.now()) < pending.ends,
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
            returnPath: path, ends: UnixTime(context.clock.now()) + OpenIDConnectSettings.maximumStay)
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

/// The accounts that may sign in, as adapters see them.
struct ListedAccounts: AccountLookup {
    static let largestPage = 1000

    let context: IdentityContext
    let sessions: SessionDirectory

    func account(named name: String) async throws -> AccountSummary? {
        guard let name = AccountName(name), let account = try await context.accounts.account(named: name),
            account.state == .active
        else { return nil }
        return AccountSummary(account)
    }

    func accounts(after name: String?, limit: Int) async throws -> [AccountSummary] {
        let active = Filter.compare("state", .equal, .string(Account.State.active.rawValue))
        let later = name.map { Filter.compare("foldedName", .greater, .string(AccountName.fold($0))) }
        let query = Query(
            .both(active, later), order: [SortKey("foldedName")], limit: max(0, min(limit, Self.largestPage)))
        return try await context.records.page(query, in: IdentityCollections.accounts).records
            .map { AccountSummary(try AccountRecord.read($0)) }
    }

    func hasSession(_ session: String, of account: String) async throws -> Bool {
        guard let id = SessionID(session), let found = try await sessions.session(id) else { return false }
        return found.account.text == account && context.clock.now() < found.ends
    }
}

extension AccountSummary {
    init(_ account: Account) {
        self.init(
            id: account.id.text, name: account.name.text, displayName: account.displayName, roles: account.roles,
            credentialVersion: account.credentialVersion)
    }
}

extension IdentityCollections {
    /// Every collection of identity, to be installed in the store.
    static let all = [
        AccountRecord.entity, SessionRecord.entity, SigningKeyRecord.entity, APIKeyRecord.entity,
        IdentityLinkRecord.entity, AdminTokenRecord.entity,
        AuditEntryRecord.entity, AuditHeadRecord.entity,
    ].map { CollectionDeclaration(adapter: adapter, entity: $0) }
}

extension Identity {
    /// `transport` in the names of those who are signed in at the portal. Calls throw `upstream.signInRequired` while there is
    /// no portal of that name.
    public func upstream(_ transport: any Upstream, behind portal: ProviderName) -> any Upstream {
        PortalUpstream(portal: portal, providers: providers, transport: transport)
    }

    /// Calls `ended` with an account's id whenever a sign-in, a key, a role, the password or the account itself may have
    /// ended: what is kept in the account's name is to be asked for anew. From any thread, for good.
    public func observeRevocations(_ ended: @escaping @Sendable (_ account: String) -> Void) {
        context.cache.revocations.observe { ended($0.text) }
    }

    /// A token that says who the caller is, for another system's token endpoint (RFC 8693, `subject_token`): signed like
    /// an access token, valid for a minute, of no use here. It has the roles of the call's credential that the account still
    /// has.
    ///
    /// Throws `auth.required` for who is no account that may sign in.
    public func subjectToken(about principal: Principal, audience: String) async throws -> Secret {
        guard let id = AccountID(principal.id), let account = try await context.accounts.account(id),
            account.state == .active
        else { throw PorticoError(.loginRequired, "This needs a new login.") }
        return try await context.tokens.issueSubject(
            account, roles: principal.roles.intersection(account.roles), audience: audience, with: keys.signing(),
            at: context.clock.now())
    }
}

extension Identity {
    /// Makes the ways to sign in anew that `changed` names; the others go on as they are.
    public func prepareProviders(_ setups: [ProviderSetup], changed: Set<ProviderName>) -> PreparedProviders {
        PreparedProviders(providers: Providers(setups, context, keeping: providers.value.without(changed)))
    }

    /// Sign-ins from now on are by these. What was verified is verified again when it is next used. Sessions go on. What a
    /// portal that was changed gave for calls in an account's name is forgotten: the account signs in again for them.
    public func use(_ prepared: PreparedProviders) {
        providers.replace(with: prepared.providers)
        context.cache.forgetAll()
    }

    /// Goes by another configuration from now on. Sessions and tokens that there are keep their ends, but for the time that a
    /// cookie may be unused, which holds for all of them. The cost of hashes, the number of threads, the lengths of queues and
    /// what signs tokens for whom stay those of the start.
    public func use(_ configuration: IdentityConfiguration) {
        context.use(configuration)
        proof.backoff.use(configuration.backoff, longestWait: configuration.passwords.longestWait)
        for portal in providers.value.portals { portal.use(longestWait: configuration.passwords.longestWait) }
    }
}
