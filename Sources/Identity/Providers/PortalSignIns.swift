import AdapterKit
import Synchronization

/// The sign-ins at one portal that are kept for calls: in memory only, and with the password for as long, since a
/// portal's cookie ends before the person's work does. docs/decisions/0091.
final class PortalSignIns: Sendable {
    struct Kept: Sendable {
        let username: String
        let password: Secret
        var pair: PortalCredentials
        /// One renewal at a time.
        let turn = AsyncMutex(limit: 100)
        var usedAt: WireDate
        /// Orders what was used at one time.
        var lastUsed: UInt64
    }

    private struct State: Sendable {
        var kept: [AccountID: Kept] = [:]
        var time: UInt64 = 0
        var generation = 0

        mutating func nextGeneration() -> Int {
            generation += 1
            return generation
        }
    }

    private let limit: Int
    private let clock: any WallClock
    private let state = Mutex(State())

    init(limit: Int, clock: any WallClock) {
        self.limit = limit
        self.clock = clock
    }

    func keep(_ pair: PortalCredentials, for account: AccountID, username: String, password: Secret) {
        state.withLock { state in
            state.time += 1
            var pair = pair
            pair.generation = state.nextGeneration()
            state.kept[account] = Kept(
                username: username, password: password, pair: pair, usedAt: clock.now(), lastUsed: state.time)
            guard state.kept.count > limit else { return }
            let oldest = state.kept.min { $0.value.lastUsed < $1.value.lastUsed }
            if let oldest { state.kept[oldest.key] = nil }
        }
    }

    /// What is kept for the account, used now.
    func keptSignIn(for account: AccountID) -> Kept? {
        state.withLock { state in
            state.time += 1
            state.kept[account]?.lastUsed = state.time
            state.kept[account]?.usedAt = clock.now()
            return state.kept[account]
        }
    }

    /// Changes the pair, unless another sign-in has replaced it since it was read.
    func update(_ account: AccountID, generation: Int, _ change: (inout PortalCredentials) -> Void) {
        state.withLock { state in
            guard state.kept[account]?.pair.generation == generation else { return }
            state.kept[account].map { kept in
                var pair = kept.pair
                change(&pair)
                state.kept[account]?.pair = pair
            }
        }
    }

    /// The pair of a renewed sign-in in place of the old one; nil where the account was signed out meanwhile.
    func renew(_ account: AccountID, from generation: Int, with cookies: CookieJar) -> PortalCredentials? {
        state.withLock { state in
            guard state.kept[account]?.pair.generation == generation else { return state.kept[account]?.pair }
            var pair = PortalCredentials(cookies: cookies)
            pair.generation = state.nextGeneration()
            state.kept[account]?.pair = pair
            return pair
        }
    }

    func forget(_ account: AccountID) {
        state.withLock { $0.kept[account] = nil }
    }
}

extension PortalSignIns {
    /// Accounts whose sign-in has not been used since.
    func unusedAccounts(since time: WireDate) -> [AccountID] {
        state.withLock { $0.kept.filter { $0.value.usedAt <= time }.map(\.key) }
    }
}

/// The portal credentials of an account: the cookies and the CSRF token that belongs to them. One value, replaced as a
/// whole, so that a token is never sent with the cookies of another sign-in.
struct PortalCredentials: Sendable {
    var cookies: CookieJar
    var token: Secret?
    /// Tells one sign-in from the next.
    var generation = 0

    init(cookies: CookieJar) {
        self.cookies = cookies
    }
}
