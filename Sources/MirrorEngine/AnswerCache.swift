import AdapterKit
import Admission

/// The last good answers of another system by what was asked, and who waits for which: a state machine that does nothing
/// itself.
///
/// One call at a time is under way for one key; all who ask the same meanwhile wait for its end. A call counts for the account
/// that began it until it has ended, whether callers still wait for it or not. Where there are too many answers or too large
/// ones, those of the account that has most go first, in the order in which they were used last.
public struct AnswerCache<Answer: Sendable>: Sendable {
    /// A call and the caller whose answer it has: the identity of a kept answer.
    public struct Key: Hashable, Sendable {
        /// The operation.
        public let operation: OperationName
        /// Equal for equal inputs.
        public let input: [UInt8]
        /// The sign-in whose answer it is; nil: it is the same for all callers.
        public let owner: String?

        /// Creates a key with these values.
        public init(_ operation: OperationName, input: [UInt8], owner: String?) {
            self.operation = operation
            self.input = input
            self.owner = owner
        }
    }

    /// The next step of a caller that asks.
    public enum Asked: Sendable {
        /// This is the answer.
        case answer(Answer, MirrorAge)
        /// To wait for the call that is under way; `begins`: to begin it.
        case wait(begins: Bool)
        /// Too many calls are under way for another one, and no last good answer may be served.
        case overloaded
    }

    /// The end of a call.
    public enum Outcome: Sendable {
        /// With an answer of so many bytes, which was so old when it came.
        case answered(Answer, bytes: Int, age: Duration = .zero)
        /// The other system could not be asked, and why: one token.
        case failed(detail: String)
        /// The other system refuses the caller: what is kept for this key is not the caller's any more.
        case denied
        /// With an error that is the other system's answer. It is not kept; what is kept stays.
        case refused
    }

    /// The answer of a call that ended, for those who waited for it.
    public struct Ended: Sendable {
        /// The callers that waited.
        public let waiters: Set<UInt64>
        /// Their answer; nil: the call's error.
        public let answer: (Answer, MirrorAge)?
    }

    private struct Entry {
        let answer: Answer
        /// When it was asked for, from which freshness counts.
        let fetched: WireDate
        /// When the first system had it.
        let asOf: WireDate
        let bytes: Int
        /// The account that had it fetched.
        let account: CallerIdentity
        var lastUse: UInt64
    }

    private struct UpstreamCall {
        let began: WireDate
        let account: CallerIdentity
        var waiters: Set<UInt64> = []
        /// Whether the sign-in ended meanwhile: the answer is not kept.
        var isOwnerGone = false
    }

    /// Calls under way at once, whether callers still wait for them or not; half of them of one account.
    public static var mostCalls: Int { 1_000 }

    private let settings: CallThrough
    private var entries: [Key: Entry] = [:]
    private var calls: [Key: UpstreamCall] = [:]
    private var callsOfAccounts: [CallerIdentity: Int] = [:]
    private var lastUse: UInt64 = 0
    /// Entries and calls of each sign-in.
    private var held: [String: Int] = [:]
    /// Bytes of all kept answers and their keys.
    public private(set) var bytes = 0

    /// A cache without answers.
    public init(_ settings: CallThrough) {
        self.settings = settings
    }

    /// Answers that are kept.
    public var count: Int { entries.count }

    /// Whether something is kept or called for this sign-in.
    public func holds(_ owner: String) -> Bool { held[owner] != nil }

    /// The answer that is kept for this key, where it is fresh.
    public mutating func fresh(_ key: Key, at now: WireDate) -> (Answer, MirrorAge)? {
        guard let entry = servable(key, now), now.seconds(since: entry.fetched) <= settings.freshFor / .seconds(1)
        else {
            return nil
        }
        touch(key)
        return (entry.answer, MirrorAge(asOf: entry.asOf, now: now, cache: .hit))
    }

    /// A caller of this account asks. `waiter` is a number of its own, for where there is something to wait for.
    public mutating func ask(
        _ key: Key, _ waiter: UInt64, for account: CallerIdentity = .system, at now: WireDate
    ) -> Asked {
        if let (answer, age) = fresh(key, at: now) { return .answer(answer, age) }
        let begins = calls[key] == nil
        let own = callsOfAccounts[account, default: 0]
        guard !begins || AccountShare.hasRoom(own: own, taken: calls.count, of: Self.mostCalls) else {
            guard let entry = servable(key, now) else { return .overloaded }
            touch(key)
            return .answer(
                entry.answer, MirrorAge(asOf: entry.asOf, now: now, cache: .stale(detail: "upstream-overloaded")))
        }
        if begins {
            hold(key.owner, 1)
            callsOfAccounts[account] = own + 1
        }
        calls[key, default: UpstreamCall(began: now, account: account)].waiters.insert(waiter)
        return .wait(begins: begins)
    }

    /// A caller has waited long enough: the last good answer, where one may be served, or nil where there is none and the
    /// caller waits on.
    public mutating func overdue(_ waiter: UInt64, of key: Key, at now: WireDate) -> (Answer, MirrorAge)? {
        guard calls[key]?.waiters.contains(waiter) ?? false, let entry = servable(key, now) else { return nil }
        calls[key]?.waiters.remove(waiter)
        touch(key)
        return (entry.answer, MirrorAge(asOf: entry.asOf, now: now, cache: .stale(detail: "upstream-timeout")))
    }

    /// A caller waits no longer. The call goes on.
    public mutating func leave(_ waiter: UInt64, of key: Key) { calls[key]?.waiters.remove(waiter) }

    /// The call for this key has ended.
    public mutating func end(_ key: Key, _ outcome: Outcome, at now: WireDate) -> Ended {
        guard let call = calls.removeValue(forKey: key) else { return Ended(waiters: [], answer: nil) }
        defer { hold(key.owner, -1) }
        let own = callsOfAccounts[call.account, default: 0]
        callsOfAccounts[call.account] = own > 1 ? own - 1 : nil
        var answer: (Answer, MirrorAge)?
        switch outcome {
        case .answered(let fetched, let bytes, let age):
            let isFirst = entries[key] == nil
            let asOf = call.began.adding(-(age / .seconds(1)))
            // One that was too old when it came is not served, and takes the place of none that may be.
            guard now.seconds(since: asOf) <= settings.staleFor / .seconds(1) else {
                if let entry = servable(key, now) {
                    touch(key)
                    answer = (
                        entry.answer, MirrorAge(asOf: entry.asOf, now: now, cache: .stale(detail: "upstream-stale"))
                    )
                }
                break
            }
            if !call.isOwnerGone { keep(fetched, bytes, key, call, asOf: asOf, at: now) }
            answer = (fetched, MirrorAge(asOf: asOf, now: now, cache: .refreshed(isFirst: isFirst)))
        case .failed(let detail):
            if let entry = servable(key, now) {
                touch(key)
                answer = (entry.answer, MirrorAge(asOf: entry.asOf, now: now, cache: .stale(detail: detail)))
            }
        case .denied: remove(key)
        case .refused: break
        }
        return Ended(waiters: call.waiters, answer: answer)
    }

    /// The sign-in has ended: nothing of it is kept.
    public mutating func forget(_ owner: String) {
        for key in entries.keys where key.owner == owner { remove(key) }
        for key in calls.keys where key.owner == owner { calls[key]?.isOwnerGone = true }
    }
}

extension AnswerCache {
    private func servable(_ key: Key, _ now: WireDate) -> Entry? {
        guard let entry = entries[key], now.seconds(since: entry.asOf) <= settings.staleFor / .seconds(1) else {
            return nil
        }
        return entry
    }

    private mutating func touch(_ key: Key) {
        lastUse += 1
        entries[key]?.lastUse = lastUse
    }

    private mutating func hold(_ owner: String?, _ change: Int) {
        guard let owner else { return }
        let count = held[owner, default: 0] + change
        held[owner] = count > 0 ? count : nil
    }

    private mutating func keep(
        _ answer: Answer, _ size: Int, _ key: Key, _ call: UpstreamCall, asOf: WireDate, at now: WireDate
    ) {
        remove(key)
        let size = size + key.input.count
        guard size <= settings.keptBytes / 8 else { return }
        lastUse += 1
        entries[key] = Entry(
            answer: answer, fetched: call.began, asOf: asOf, bytes: size, account: call.account, lastUse: lastUse)
        hold(key.owner, 1)
        bytes += size
        if entries.count > settings.keptAnswers || bytes > settings.keptBytes { shrink(at: now) }
    }

    private mutating func remove(_ key: Key) {
        guard let entry = entries.removeValue(forKey: key) else { return }
        hold(key.owner, -1)
        bytes -= entry.bytes
    }

    /// Removes what is too old, then down to three quarters, so that the sort is paid for by many later answers.
    private mutating func shrink(at now: WireDate) {
        for key in Array(entries.keys) where servable(key, now) == nil { remove(key) }
        let most = max(1, settings.keptAnswers / 4 * 3)
        // How many answers the same account has used since.
        var later: [CallerIdentity: Int] = [:]
        let ranked = entries.sorted { $0.value.lastUse > $1.value.lastUse }.map { key, entry in
            later[entry.account, default: 0] += 1
            return (key: key, later: later[entry.account, default: 0], lastUse: entry.lastUse)
        }
        for entry in ranked.sorted(by: { $0.later != $1.later ? $0.later > $1.later : $0.lastUse < $1.lastUse }) {
            guard entries.count > most || bytes > settings.keptBytes / 4 * 3 else { return }
            remove(entry.key)
        }
    }
}
