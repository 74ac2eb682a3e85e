import AdapterKit
import Crypto
import Synchronization

/// Executes ``VerifiedCredentials`` under a lock that is held for a look-up only, and wakes those who wait for an end.
final class CredentialCache: Sendable {
    private let state: Mutex<VerifiedCredentials>
    private let keyed: HMAC<SHA256>
    let revocations = Revocations()
    private let clock: any WallClock

    init(_ configuration: IdentityConfiguration, clock: any WallClock, randomness: any Randomness) {
        state = Mutex(
            VerifiedCredentials(capacity: configuration.verifiedCredentials, idle: configuration.sessions.idle))
        keyed = HMAC(key: SymmetricKey(data: randomness.bytes(32)))
        self.clock = clock
    }

    /// The authentication that is remembered for the credential, otherwise what `verify` finds, which is remembered
    /// until the time it names. Nil, which is not remembered: no valid credential.
    func authentication(
        _ method: Authentication.Method, _ credential: [Secret],
        verify: () async throws -> (Authentication, until: WireDate)?
    ) async throws -> Authentication? {
        let name = key(method, credential)
        switch state.withLock({ $0.find(name, now: clock.now()) }) {
        case .known(let authentication): return authentication
        case .unknown(let ticket):
            guard let (authentication, until) = try await verify() else { return nil }
            state.withLock { $0.admit(name, authentication, until: until, ticket: ticket, now: clock.now()) }
            return authentication
        }
    }

    /// Without waiting: what is remembered, otherwise nil.
    func known(_ key: CredentialKey) -> Authentication? {
        guard case .known(let found) = state.withLock({ $0.find(key, now: clock.now()) }) else { return nil }
        return found
    }

    func key(_ method: Authentication.Method, _ credential: [Secret]) -> CredentialKey {
        CredentialKey(method, credential, keyed: keyed)
    }

    /// To be called after the change that ends the credentials is durable: what is read from then on is the new state.
    func revoke(_ account: AccountID, where matches: (Authentication) -> Bool = { _ in true }) {
        state.withLock { $0.revoke(account, where: matches) }
        revocations.revoke(account, where: matches)
    }

    /// Everything is verified again when it is next used.
    func forgetAll() {
        state.withLock { $0.forgetAll() }
    }

    func takeUsedSessions() -> [SessionID: WireDate] {
        state.withLock { $0.takeUsed() }
    }
}
