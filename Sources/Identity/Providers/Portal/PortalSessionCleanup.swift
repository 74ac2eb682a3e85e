import AdapterKit

/// Forgets what portals gave an account once nobody is signed in with it any more.
struct PortalSessionCleanup: Sendable {
    let sessions: Sessions
    let portals: [PortalProvider]

    /// To be called after a sign-in of the account has ended.
    func check(_ account: AccountID) async throws {
        guard !portals.isEmpty, try await sessions.sessions(of: account).isEmpty else { return }
        for portal in portals { portal.signIns.forget(account) }
    }

    /// Whatever ended them: those who have not called for a while. HTTP Basic has no sign-in and lives by its calls.
    func sweep(now: WireDate) async throws {
        let time = WireDate(secondsSince1970: now.secondsSince1970 - Self.grace)
        for portal in portals {
            for account in portal.signIns.unused(since: time)
            where try await sessions.sessions(of: account).isEmpty {
                portal.signIns.forget(account)
            }
        }
    }

    /// Seconds; longer than a verified pair of Basic is remembered.
    private static let grace = 600.0
}
