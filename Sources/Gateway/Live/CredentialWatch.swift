import AdapterKit
import Identity
import ValueTree

/// Ends what goes on after its request once the credential that opened it does not hold any more.
struct CredentialWatch: Sendable {
    let identity: Identity
    let clock: any WallClock

    /// While a credential is watched.
    struct Hold: Sendable {
        fileprivate let revocation: RevocationWatch?
        fileprivate let expires: WireDate?
        fileprivate let clock: any WallClock

        /// Whether the credential has ended by itself.
        var isExpired: Bool { expires.map { clock.now() >= $0 } ?? false }

        func end() { revocation?.end() }
    }

    /// `revoked` is called once, from any thread, perhaps before this returns.
    func watch(
        _ authentication: Authentication?, revoked: @escaping @Sendable () -> Void
    ) async throws -> Hold {
        let revocation =
            if let authentication { try await identity.watch(authentication, revoked: revoked) } else {
                RevocationWatch?.none
            }
        return Hold(revocation: revocation, expires: authentication?.expires, clock: clock)
    }
}
