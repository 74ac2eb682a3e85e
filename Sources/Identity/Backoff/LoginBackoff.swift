import AdapterKit

/// Who must wait before the next attempt to sign in.
///
/// A state machine without effects: ``begin(name:from:now:)`` before a password is looked at, ``end(_:_:now:)`` after.
/// Three counters apply to an attempt (``Limits``). An attempt under way counts like a failure, until it is known how it
/// ended: at most as many run side by side as are free, further ones wait for them. While there are more failures than
/// are free, one attempt at a time may try. It knows nothing of accounts, only of what was typed, so its answer
/// cannot tell whether an account exists. An attempt that has to wait is not counted: the wait always ends.
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
        fileprivate let keys: [Key]
        fileprivate let name: String
        fileprivate let address: ClientAddress
    }

    package enum Verdict {
        case proceed(Attempt)
        /// In whole seconds, at least one.
        case wait(Int)
        /// Those under way use up what is free: to be asked again when one of them has ended.
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

    private let limits: Limits
    private var counters: [Key: Counter] = [:]
    private var known = RecentSignInAddresses()

    package init(_ limits: Limits) {
        self.limits = limits
    }

    /// How many accounts, addresses and pairs there are to remember.
    package var remembered: Int { counters.count }

    /// `hasWaited`: whether the verdict was ``Verdict/queue`` before.
    package mutating func begin(
        name typed: String, from address: ClientAddress, now: WireDate, hasWaited: Bool = false
    ) -> Verdict {
        let name = Self.bounded(typed)
        let keys = keys(name, address)
        let longest = keys.map { wait($0, now: now) }.max() ?? 0
        if longest > 0 { return .wait(Int(longest.rounded(.up))) }
        if hasWaited, keys.contains(where: { isUsedUp($0, now: now) }) { return .wait(1) }
        if keys.contains(where: { isFull($0, now: now) }) { return .queue }
        for key in keys {
            counters[key, default: Counter(blockedUntil: now, lastFailure: now)].inFlight += 1
        }
        return .proceed(Attempt(keys: keys, name: name, address: address))
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
    private func wait(_ key: Key, now: WireDate) -> Double {
        guard let counter = counters[key], !isForgotten(counter, now: now) else { return 0 }
        if counter.blockedUntil > now { return counter.blockedUntil - now }
        return counter.failures > curve(key).free && counter.inFlight > 0 ? 1 : 0
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

    /// A success clears what was counted for the account, not for the address: whoever has one account could otherwise
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
            counter.blockedUntil = now + .seconds(curve(key).delay(after: counter.failures))
        case (.undecided, _):
            counter.failures += 1
            counter.lastFailure = now
            let delay = min(curve(key).delay(after: counter.failures), Self.longestDelayUndecided)
            counter.blockedUntil = max(counter.blockedUntil, now + .seconds(delay))
        case (.accepted, .address), (.unknown, _): break
        }
    }

    private static let longestDelayUndecided = 60.0

    private func isForgotten(_ counter: Counter, now: WireDate) -> Bool {
        now - counter.lastFailure > limits.forgottenAfter.inSeconds
    }

    private func curve(_ key: Key) -> Curve {
        switch key {
        case .pair: limits.pair
        case .account: limits.account
        case .address: limits.address
        }
    }

    /// What was typed may be anything; no account's name is longer.
    static func bounded(_ typed: String) -> String {
        AccountName.fold(String(decoding: typed.utf8.prefix(AccountName.maximumLength + 1), as: UTF8.self))
    }
}
