import AdapterKit
import Synchronization

/// Good answers of another system that are used again, in memory.
///
/// Answers in a caller's name are that sign-in's alone.
final class CalledAnswers: Sendable {
    struct Key: Hashable, Sendable {
        let address: UpstreamAddress
        let mediaType: String?
        /// Nil: the same for all callers.
        let owner: String?
    }

    struct Answer: Sendable {
        let response: UpstreamResponse
        let fetched: WireDate

        /// When the first system had it.
        var asOf: WireDate {
            WireDate(
                secondsSinceReferenceDate: fetched.secondsSinceReferenceDate
                    - Double(response.age.components.seconds))
        }

        fileprivate var bytes: Int { response.body.count + response.address.description.utf8.count + 1_024 }
    }

    private struct Kept {
        let answer: Answer
        /// The account that had it fetched.
        let account: CallerIdentity
        var used: UInt64
    }

    private struct State {
        var answers: [Key: Kept] = [:]
        var bytes = 0
        var uses: UInt64 = 0
        /// Counts what was removed as a whole, so that an answer that was asked for before is not kept behind it.
        var removals: UInt64 = 0
    }

    private let mostAnswers: Int
    private let mostBytes: Int
    private let state = Mutex(State())

    init(mostAnswers: Int = 10_000, mostBytes: Int = 16 << 20) {
        (self.mostAnswers, self.mostBytes) = (mostAnswers, mostBytes)
    }

    /// To be asked before the other system is, for ``keep(_:as:since:)``.
    var removals: UInt64 { state.withLock { $0.removals } }

    func answer(_ key: Key) -> Answer? {
        state.withLock { state in
            guard state.answers[key] != nil else { return nil }
            state.uses += 1
            state.answers[key]?.used = state.uses
            return state.answers[key]?.answer
        }
    }

    /// An answer of more than an eighth of the bytes is not kept, nor one from before the last removal.
    func keep(_ answer: Answer, as key: Key, of account: CallerIdentity = .current, since removals: UInt64) {
        state.withLock { state in
            Self.remove(key, &state)
            guard state.removals == removals, answer.bytes <= mostBytes / 8 else { return }
            state.uses += 1
            state.answers[key] = Kept(answer: answer, account: account, used: state.uses)
            state.bytes += answer.bytes
            if state.answers.count > mostAnswers || state.bytes > mostBytes { makeRoom(&state) }
        }
    }

    func remove(_ key: Key) { state.withLock { Self.remove(key, &$0) } }

    func removeAll() {
        state.withLock { $0 = State(uses: $0.uses, removals: $0.removals + 1) }
    }

    /// The sign-in has ended, or the other system takes it no longer.
    func forget(_ owner: String) {
        state.withLock { state in
            state.removals += 1
            for key in state.answers.keys where key.owner == owner { Self.remove(key, &state) }
        }
    }

    var count: Int { state.withLock { $0.answers.count } }

    private static func remove(_ key: Key, _ state: inout State) {
        if let gone = state.answers.removeValue(forKey: key) { state.bytes -= gone.answer.bytes }
    }

    /// Removes an eighth at a time, so that one look at all of them serves many answers. Those of the account with the most
    /// bytes go first, of them those that were used longest ago.
    private func makeRoom(_ state: inout State) {
        var bytes: [CallerIdentity: Int] = [:]
        for kept in state.answers.values { bytes[kept.account, default: 0] += kept.answer.bytes }
        let oldest = state.answers.sorted { $0.value.used < $1.value.used }
        for account in bytes.keys.sorted(by: { bytes[$0, default: 0] > bytes[$1, default: 0] }) {
            for (key, kept) in oldest where kept.account == account {
                guard state.answers.count > mostAnswers / 8 * 7 || state.bytes > mostBytes / 8 * 7 else { return }
                Self.remove(key, &state)
            }
        }
    }
}
