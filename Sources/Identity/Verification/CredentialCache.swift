import AdapterKit
import Crypto
import Synchronization

/// Executes ``VerifiedCredentials`` under a lock that is held for a look-up only, and wakes those who wait for an end.
final class CredentialCache: Sendable {
    private let state: Mutex<VerifiedCredentials>
    private let keyed: HMAC<SHA256>
    let revocations = Revocations()
    private let clock: any WallClock
    private let hits = Atomic<UInt64>(0)
    private let misses = Atomic<UInt64>(0)

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
        case .known(let authentication):
            hits.wrappingAdd(1, ordering: .relaxed)
            return authentication
        case .unknown(let ticket):
            misses.wrappingAdd(1, ordering: .relaxed)
            guard let (authentication, until) = try await verify() else { return nil }
            state.withLock { $0.admit(name, authentication, until: until, ticket: ticket, now: clock.now()) }
            return authentication
        }
    }

    /// Without waiting: what is remembered, otherwise nil.
    func lookUp(_ key: CredentialKey) -> Authentication? {
        guard case .known(let found) = state.withLock({ $0.find(key, now: clock.now()) }) else { return nil }
        hits.wrappingAdd(1, ordering: .relaxed)
        return found
    }

    var figures: CredentialFigures {
        CredentialFigures(
            hits: hits.load(ordering: .relaxed), misses: misses.load(ordering: .relaxed),
            entries: state.withLock { $0.count })
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

    func use(idle: Duration) {
        state.withLock { $0.use(idle: idle) }
    }

    func takeUsedSessions() -> [SessionID: WireDate] {
        state.withLock { $0.takeUsed() }
    }
}

/// Counts of how often a credential was known in memory since the start, and of how many are.
public struct CredentialFigures: Sendable, Equatable {
    public let hits: UInt64
    public let misses: UInt64
    public let entries: Int
}

/// The credentials that were verified lately, so that a call costs no database and no hash.
///
/// A state machine without effects. What a revocation ends is gone when its method returns. A verification that began
/// before a revocation may have read what was true before it, so its result is not admitted: it brings the ticket from
/// ``find(_:now:)``, and tickets of an earlier generation are void.
package struct VerifiedCredentials: Sendable {
    package struct Ticket: Sendable {
        fileprivate let generation: UInt64
    }

    package enum Answer {
        case known(Authentication)
        case unknown(Ticket)
    }

    private struct Entry {
        let authentication: Authentication
        let validUntil: WireDate
        var lastUsed: WireDate
    }

    let capacity: Int
    /// Applies to session cookies only.
    private(set) var idle: Duration
    private var entries: [CredentialKey: Entry] = [:]
    private var keysOfAccount: [AccountID: Set<CredentialKey>] = [:]
    private var generation: UInt64 = 0
    /// Sessions used since this was last taken.
    private var used: [SessionID: WireDate] = [:]

    package init(capacity: Int, idle: Duration) {
        self.capacity = capacity
        self.idle = idle
    }

    var count: Int { entries.count }

    package mutating func find(_ key: CredentialKey, now: WireDate) -> Answer {
        guard let entry = entries[key] else { return .unknown(Ticket(generation: generation)) }
        guard now < entry.validUntil, !isIdle(entry, now: now) else {
            remove(key)
            return .unknown(Ticket(generation: generation))
        }
        if entry.authentication.method == .sessionCookie {
            entries[key]?.lastUsed = now
            note(entry.authentication, now: now)
        }
        return .known(entry.authentication)
    }

    package mutating func admit(
        _ key: CredentialKey, _ authentication: Authentication, until validUntil: WireDate, ticket: Ticket,
        now: WireDate
    ) {
        guard ticket.generation == generation else { return }
        if entries.count >= capacity { makeRoom(now: now) }
        entries[key] = Entry(authentication: authentication, validUntil: validUntil, lastUsed: now)
        keysOfAccount[authentication.account, default: []].insert(key)
        if authentication.method == .sessionCookie { note(authentication, now: now) }
    }

    /// Every credential of the account for which `matches` holds.
    package mutating func revoke(_ account: AccountID, where matches: (Authentication) -> Bool = { _ in true }) {
        generation += 1
        for key in keysOfAccount[account] ?? [] where entries[key].map({ matches($0.authentication) }) ?? true {
            remove(key)
        }
    }

    package mutating func forgetAll() {
        generation += 1
        entries = [:]
        keysOfAccount = [:]
    }

    /// Holds for what is remembered already, too.
    mutating func use(idle: Duration) { self.idle = idle }

    mutating func takeUsed() -> [SessionID: WireDate] {
        defer { used = [:] }
        return used
    }
}

extension VerifiedCredentials {
    private func isIdle(_ entry: Entry, now: WireDate) -> Bool {
        entry.authentication.method == .sessionCookie && now - entry.lastUsed >= idle
    }

    private mutating func note(_ authentication: Authentication, now: WireDate) {
        guard let session = authentication.session else { return }
        if used.count < capacity || used[session] != nil { used[session] = now }
    }

    private mutating func remove(_ key: CredentialKey) {
        guard let entry = entries.removeValue(forKey: key) else { return }
        let account = entry.authentication.account
        keysOfAccount[account]?.remove(key)
        if keysOfAccount[account]?.isEmpty == true { keysOfAccount[account] = nil }
    }

    /// Removes what has ended; if that is less than a tenth, any tenth: it is verified again when it is used.
    private mutating func makeRoom(now: WireDate) {
        for (key, entry) in entries where now >= entry.validUntil { remove(key) }
        guard entries.count > capacity * 9 / 10 else { return }
        for key in Array(entries.keys.prefix(max(1, capacity / 10))) { remove(key) }
    }
}

/// Notifies live streams when their credential is revoked, and who keeps things in accounts' names.
final class Revocations: Sendable {
    private struct Watcher {
        let authentication: Authentication
        let revoked: @Sendable () -> Void
    }

    private struct State {
        var watchers: [AccountID: [UInt64: Watcher]] = [:]
        var lastNumber: UInt64 = 0
        var observers: [@Sendable (AccountID) -> Void] = []
    }

    private let state = Mutex(State())

    /// `revoked` is called whenever a credential of an account may be, for good.
    func observe(_ revoked: @escaping @Sendable (AccountID) -> Void) {
        state.withLock { $0.observers.append(revoked) }
    }

    /// Returns when the credential is revoked, when the task is cancelled, or at once where `holds` says that it has
    /// been already: it is asked after the watch has begun, so nothing slips in between.
    func wait(for authentication: Authentication, holds: () async throws -> Bool) async throws {
        let (stream, signal) = AsyncStream.makeStream(of: Never.self)
        let watch = watch(authentication) { signal.finish() }
        defer { watch.end() }
        guard try await holds() else { return }
        for await _ in stream {}
    }

    /// `revoked` is called when the credential is, from any thread, until the watch ends.
    func watch(_ authentication: Authentication, revoked: @escaping @Sendable () -> Void) -> RevocationWatch {
        let number = add(Watcher(authentication: authentication, revoked: revoked))
        return RevocationWatch(account: authentication.account, number: number, revocations: self)
    }

    /// Forgets credentials. Waiters are woken after the lock is gone.
    func revoke(_ account: AccountID, where matches: (Authentication) -> Bool) {
        let (affected, observers) = state.withLock { state in
            ((state.watchers[account] ?? [:]).values.filter { matches($0.authentication) }, state.observers)
        }
        for observer in observers { observer(account) }
        for watcher in affected { watcher.revoked() }
    }

    private func add(_ watcher: Watcher) -> UInt64 {
        state.withLock { state in
            state.lastNumber += 1
            state.watchers[watcher.authentication.account, default: [:]][state.lastNumber] = watcher
            return state.lastNumber
        }
    }

    fileprivate func remove(_ number: UInt64, of account: AccountID) {
        state.withLock { state in
            state.watchers[account]?[number] = nil
            if state.watchers[account]?.isEmpty == true { state.watchers[account] = nil }
        }
    }

    /// The number of waiters.
    var count: Int { state.withLock { $0.watchers.values.reduce(0) { $0 + $1.count } } }
}

/// One watched credential. The owner of the watch must end it.
public struct RevocationWatch: Sendable {
    fileprivate let account: AccountID
    fileprivate let number: UInt64
    fileprivate let revocations: Revocations

    /// The second time nothing happens.
    public func end() { revocations.remove(number, of: account) }
}
