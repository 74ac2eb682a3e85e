import AdapterKit
import Synchronization

/// The time of a store's writer that the reads of rules in another process may take within the transactions of one write.
///
/// What such rules read to answer is read again in the transaction, to see whether it is still the same
/// (``RemoteRecordRules``). What is over at once outside may never end inside: a relation can look at the very record that
/// the transaction makes. Every write of every adapter waits for that one thread.
public final class RuleReadBudget: Sendable {
    /// Processor time, so that a busy machine refuses nothing that an idle one does not.
    public static let time = Duration.milliseconds(100)
    /// Further time for each question of the rules, so that many changes may be made at once.
    public static let timeForQuestion = Duration.milliseconds(1)

    private struct State {
        var granted = RuleReadBudget.time
        var spent = Duration.zero
    }

    private let state = Mutex(State())
    private let checkCancellation: @Sendable () throws -> Void

    init(checkCancellation: @escaping @Sendable () throws -> Void) {
        self.checkCancellation = checkCancellation
    }

    func grantQuestion() { state.withLock { $0.granted += Self.timeForQuestion } }

    /// Counts time that a store has read for the rules. Throws what the reads have to end with, as it is, where it was too
    /// much or where no caller waits any more.
    public func spend(_ time: Duration) throws {
        try checkCancellation()
        let isWithin = state.withLock { state in
            state.spent += time
            return state.spent <= state.granted
        }
        guard isWithin else { throw RuleReadsExceeded() }
    }
}

/// Ends a transaction, whatever else is open in it. No ``PorticoError``: that would be one of the reads' results.
struct RuleReadsExceeded: Error {
    var asError: PorticoError {
        PorticoError(
            .requestLimitExceeded, "The adapter's rules read too much for one change.",
            logDetail: "what its worker read to answer takes too long within a transaction")
    }
}
