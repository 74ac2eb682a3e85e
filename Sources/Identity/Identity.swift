import AdapterKit
import RecordStorage

/// One sign-in for every adapter: from a credential to whom it speaks for. Knows nothing of HTTP.
///
/// Every method is safe to call from any task, throws ``PorticoError`` (or `CancellationError`, where the task is
/// cancelled), and takes effect before it returns: what was signed out, revoked or disabled is refused by the next call.
/// A credential that is not valid gives nil where it is verified and `auth.invalid` where it is exchanged, without a
/// reason.
public final class Identity: Sendable {
    let context: IdentityContext
    let sessions: Sessions
    let keys: SigningKeys
    let proof: PasswordProof
    let providers: Providers
    let pendingSignIns: PendingSignIns
    let tokenBindings: CSRFTokenBindings
    let departures: PortalSessionCleanup
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
        sessions = Sessions(context: context)
        providers = Providers(setups, context)
        pendingSignIns = PendingSignIns(randomness)
        tokenBindings = CSRFTokenBindings(randomness)
        departures = PortalSessionCleanup(sessions: sessions, portals: providers.portals)
        proof = PasswordProof(
            context: context, providers: providers.takingPasswords,
            backoff: BackoffGate(
                configuration.backoff, clock: clock, waiting: configuration.passwords.waitingHashes,
                longestWait: configuration.passwords.longestWait))
        let tokens = AccessTokens(settings: configuration.tokens, randomness: randomness)
        signIns = SignIns(context: context, sessions: sessions, tokens: tokens, keys: keys)
        tokenRefresh = TokenRefresh(context: context, sessions: sessions, tokens: tokens, keys: keys)
        verifier = CredentialVerifier(
            context: context, sessions: sessions, tokens: tokens, keys: keys, proof: proof, providers: providers)
        passwords = PasswordChange(context: context, sessions: sessions)
        maintenance = Maintenance(context: context, keys: keys, backoff: proof.backoff)
        accounts = ListedAccounts(context: context)
        administration = Administration(context: context, sessions: sessions, passwords: passwords, keys: keys)
    }
}

extension Identity {
    /// The way to the systems behind a portal; nil for a provider that is none.
    public func portalCalls(_ name: ProviderName) -> PortalCalls? {
        providers.portals.first { $0.name == name }.map { PortalCalls(provider: $0) }
    }

    /// One of the ways to sign in, for its conformance suite.
    package func provider(_ name: ProviderName) -> (any SignInProvider)? {
        providers.all.first { $0.name == name }
    }

    /// Writes an entry for something that another room did; returns when it is durable.
    public func record(_ event: AuditEvent) async throws {
        try await context.writes.record(event)
    }

    /// Writes down when sessions were used, removes those that ended, rotates a key whose time has come. To be called
    /// every minute or so; errors are worth a line in the log, no more.
    public func maintain() async throws {
        try await maintenance.run()
        try await departures.sweep(now: context.clock.now())
    }
}
