import AdapterKit

/// Decides how long a sign-in attempt must wait after failed ones.
///
/// A state machine without effects: ``begin(name:from:now:)`` before a password is checked, ``end(_:_:now:)`` after.
/// Three counters apply to an attempt (``Limits``). An attempt in progress counts like a failure until its outcome is
/// known: at most as many run concurrently as are free of delay, further ones wait for them. Above that number of
/// failures, one attempt at a time may run. It knows only the typed names, no accounts, so its decision cannot reveal
/// whether an account exists. An attempt that has to wait is not counted: the wait always ends.
public struct LoginBackoff: Sendable {
    enum Key: Hashable {
        case pair(String, ClientAddress)
        case account(String)
        case address(ClientAddress)
    }

    struct Counter {
        var failures = 0
        var inFlight = 0
        var blockedUntil: WireDate
        var lastFailure: WireDate
    }

    /// An attempt under way. Exactly one ``end(_:_:now:)`` belongs to it.
    package struct Attempt: Sendable {
        package let priority: PasswordPriority
        fileprivate let keys: [Key]
        fileprivate let name: String
        fileprivate let address: ClientAddress
    }

    package enum Verdict {
        case proceed(Attempt)
        /// In whole seconds, at least one.
        case wait(Int)
        /// Attempts under way use up what is free: to be asked again when one of them has ended.
        case queue
    }

    package enum Outcome {
        case accepted
        case refused
        /// One provider refused, another could not be asked. A guess all the same, but it delays a minute at most: an
        /// outage must not keep people out for long after it.
        case undecided
        /// Nothing was learnt: overload, cancellation, a provider out of reach.
        case unknown
    }

    private var limits: Limits
    private var counters: [Key: Counter] = [:]
    private var known = RecentSignInAddresses()

    package init(_ limits: Limits) {
        self.limits = limits
    }

    /// Waits that failed attempts have caused already stay as they are.
    mutating func use(_ limits: Limits) { self.limits = limits }

    /// Accounts, addresses and pairs that are remembered.
    package var remembered: Int { counters.count }

    /// `hasWaited`: whether the verdict was ``Verdict/queue`` before.
    package mutating func begin(
        name typed: String, from address: ClientAddress, now: WireDate, hasWaited: Bool = false
    ) -> Verdict {
        let name = Self.bounded(typed)
        let keys = keys(name, address)
        let longest = keys.map { wait($0, now: now) }.max() ?? .zero
        if longest > .zero { return .wait(longest.wholeSecondsUp) }
        if hasWaited, keys.contains(where: { isUsedUp($0, now: now) }) { return .wait(1) }
        if keys.contains(where: { isFull($0, now: now) }) { return .queue }
        let priority = priority(name, address, now: now)
        for key in keys {
            counters[key, default: Counter(blockedUntil: now, lastFailure: now)].inFlight += 1
        }
        return .proceed(Attempt(priority: priority, keys: keys, name: name, address: address))
    }

    package mutating func end(_ attempt: Attempt, _ outcome: Outcome, now: WireDate) {
        for key in attempt.keys {
            guard var counter = counters[key] else { continue }
            counter.inFlight -= 1
            count(outcome, in: &counter, for: key, now: now)
            counters[key] = counter.failures == 0 && counter.inFlight == 0 ? nil : counter
        }
        if outcome == .accepted { known.insert(attempt.address, for: attempt.name) }
        if counters.count > limits.entries { forget(now: now) }
    }

    /// Drops what is forgotten anyway, then the oldest failures, until a tenth of the room is free.
    mutating func forget(now: WireDate) {
        counters = counters.filter { $0.value.inFlight > 0 || !isForgotten($0.value, now: now) }
        guard counters.count > limits.entries else { return }
        let idle = counters.filter { $0.value.inFlight == 0 }.sorted { $0.value.lastFailure < $1.value.lastFailure }
        for (key, _) in idle.prefix(counters.count - limits.entries * 9 / 10) { counters[key] = nil }
    }

    private func keys(_ name: String, _ address: ClientAddress) -> [Key] {
        let own: [Key] = [.pair(name, address), .address(address)]
        return known.contains(address, for: name) ? own : own + [.account(name)]
    }
}

extension LoginBackoff {
    /// Low for an address with as many failed and unfinished attempts as are free for one name, except for a name that
    /// has signed in from there lately: so many guesses of an address stand before others' sign-ins, and no more.
    private func priority(_ name: String, _ address: ClientAddress, now: WireDate) -> PasswordPriority {
        guard !known.contains(address, for: name), let counter = counters[.address(address)] else { return .normal }
        let failures = isForgotten(counter, now: now) ? 0 : counter.failures
        return failures + counter.inFlight < limits.pair.free ? .normal : .low
    }

    private func wait(_ key: Key, now: WireDate) -> Duration {
        guard let counter = counters[key], !isForgotten(counter, now: now) else { return .zero }
        if now < counter.blockedUntil { return counter.blockedUntil - now }
        return counter.failures > curve(key).free && counter.inFlight > 0 ? .seconds(1) : .zero
    }

    /// Whether those under way could fail as often as is free.
    private func isFull(_ key: Key, now: WireDate) -> Bool {
        guard let counter = counters[key], counter.inFlight > 0 else { return false }
        let failures = isForgotten(counter, now: now) ? 0 : counter.failures
        return counter.inFlight >= curve(key).free - failures
    }

    /// Whether as many failed as is free.
    private func isUsedUp(_ key: Key, now: WireDate) -> Bool {
        guard let counter = counters[key], !isForgotten(counter, now: now) else { return false }
        return counter.failures > 0 && counter.failures >= curve(key).free
    }

    /// A success clears what was counted for the account, not for the address: the owner of one account could otherwise
    /// clear the way for guessing others.
    private func count(_ outcome: Outcome, in counter: inout Counter, for key: Key, now: WireDate) {
        if isForgotten(counter, now: now) { counter.failures = 0 }
        switch (outcome, key) {
        case (.accepted, .pair), (.accepted, .account):
            counter.failures = 0
            counter.blockedUntil = now
        case (.refused, _):
            counter.failures += 1
            counter.lastFailure = now
            counter.blockedUntil = now + curve(key).delay(after: counter.failures)
        case (.undecided, _):
            counter.failures += 1
            counter.lastFailure = now
            let delay = min(curve(key).delay(after: counter.failures), Self.longestDelayUndecided)
            counter.blockedUntil = max(counter.blockedUntil, now + delay)
        case (.accepted, .address), (.unknown, _): break
        }
    }

    private static let longestDelayUndecided = Duration.seconds(60)

    private func isForgotten(_ counter: Counter, now: WireDate) -> Bool {
        now - counter.lastFailure >= limits.forgottenAfter
    }

    private func curve(_ key: Key) -> Curve {
        switch key {
        case .pair: limits.pair
        case .account: limits.account
        case .address: limits.address
        }
    }

    /// The beginning of a typed name, which may be anything; no account's name is longer.
    static func bounded(_ typed: String) -> String {
        AccountName.fold(String(decoding: typed.utf8.prefix(AccountName.maximumLength + 1), as: UTF8.self))
    }
}

extension LoginBackoff {
    /// `identity.login.backoff`: how failed sign-ins slow down further ones.
    public struct Limits: Sendable, Equatable {
        /// For one account from one address.
        public var pair = Curve(free: 5, first: .seconds(1), cap: .seconds(15 * 60))
        /// For one account from wherever it has not signed in lately. The cap is low: another client's guessing must not
        /// keep a person out.
        public var account = Curve(free: 20, first: .seconds(1), cap: .seconds(60))
        /// For one address, whatever the account. Many people may share one.
        public var address = Curve(free: 50, first: .seconds(1), cap: .seconds(5 * 60))
        /// After how long without a failure everything is forgotten.
        public var forgottenAfter = Duration.seconds(3600)
        /// Accounts, addresses and pairs that are remembered at most; beyond, the ones that failed longest ago go.
        public var entries = 100_000

        public init() {}
    }

    /// `free` failures cost nothing; the next waits for `first`, and each one after that twice as long, up to `cap`.
    public struct Curve: Sendable, Equatable {
        public var free: Int
        public var first: Duration
        public var cap: Duration

        public init(free: Int, first: Duration, cap: Duration) {
            self.free = free
            self.first = first
            self.cap = cap
        }

        func delay(after failures: Int) -> Duration {
            guard failures > free else { return .zero }
            var delay = first
            for _ in 0..<min(failures - free - 1, 60) where delay < cap { delay *= 2 }
            return min(delay, cap)
        }
    }
}

/// Which threads check a password: those of one priority never wait for the others.
public enum PasswordPriority: Sendable, Hashable, CaseIterable {
    case normal
    /// For addresses with several failed or unfinished attempts.
    case low
}

/// From where accounts signed in lately: there, other people's failures elsewhere don't count.
///
/// Bounded in both directions; what was used longest ago goes first.
struct RecentSignInAddresses: Sendable {
    static let perAccount = 4
    static let accounts = 10_000

    private var addresses: [String: [ClientAddress]] = [:]
    private var order: [String] = []

    func contains(_ address: ClientAddress, for name: String) -> Bool {
        addresses[name]?.contains(address) ?? false
    }

    mutating func insert(_ address: ClientAddress, for name: String) {
        if addresses[name] == nil { makeRoom(for: name) }
        let others = (addresses[name] ?? []).filter { $0 != address }
        addresses[name] = Array(([address] + others).prefix(Self.perAccount))
    }

    /// A tenth at once, so that the array is not shifted at every insertion.
    private mutating func makeRoom(for name: String) {
        order.append(name)
        guard order.count > Self.accounts else { return }
        for old in order.prefix(Self.accounts / 10) { addresses[old] = nil }
        // Cannot trap: there are more accounts than that.
        order.removeFirst(Self.accounts / 10)
    }
}
