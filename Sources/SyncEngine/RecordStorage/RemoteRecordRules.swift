import AdapterKit
import Synchronization

/// Record rules that another process answers. No transaction waits for that process.
///
/// Within a transaction only answers count that were given before, and only where everything that they were made of is
/// still the same. A transaction that needs another answer is undone, the process is asked, and the transaction runs again:
/// ``RuleAnswers/settling(_:)``.
public protocol RemoteRecordRules: RecordRules {
    /// The same rules, asked of this adapter.
    func asking(_ adapter: @escaping @Sendable () -> any Adapter) -> any RemoteRecordRules

    /// The rules' answers at the beginning of a write: none.
    func answers() -> any RemoteRuleAnswers
}

extension RemoteRecordRules {
    /// Throws `adapter.unavailable`: a transaction does not ask another process.
    public func prepare(
        _ change: RecordChange, of record: Record?, in writing: RecordRuleContext
    ) throws -> PreparedChange {
        throw Self.unasked
    }

    /// Throws `adapter.unavailable`: a transaction does not ask another process.
    public func verify(_ record: Record, of entity: EntityName, in writing: RecordRuleContext) throws {
        throw Self.unasked
    }

    private static var unasked: PorticoError {
        PorticoError(
            .adapterUnavailable, "The adapter is not available.",
            logDetail: "its rules are in another process, which cannot be asked within a transaction")
    }
}

/// The answers of ``RemoteRecordRules`` that one write knows. Used by one thread at a time.
public protocol RemoteRuleAnswers: AnyObject, Sendable {
    /// The changes that the rules are asked about from now on begin at this position of the store.
    func begin(at position: Revision)

    /// As ``RecordRules/prepare(_:of:in:)``; nil: there is no answer, and the question is noted.
    func prepare(_ change: RecordChange, of record: Record?, in writing: RecordRuleContext) throws -> PreparedChange?

    /// As ``RecordRules/verify(_:of:in:)``; without an answer it returns, and the question is noted.
    func verify(_ record: Record, of entity: EntityName, in writing: RecordRuleContext) throws

    /// The store has chosen this id for a new record. It chooses another one when the transaction runs again.
    func noteCreated(_ id: RecordID)

    /// Whether every question since ``begin(at:)`` had its answer.
    var isComplete: Bool { get }

    /// Asks the other process the questions that were noted last. Throws where it cannot be asked; what the rules themselves
    /// throw is an answer.
    func ask() async throws
}

/// Thrown within a transaction where ``RemoteRecordRules`` have to be asked first. Everything is undone with it.
struct UnansweredRules: Error {}

/// The answers of rules in other processes for one write, from its first transaction to the one that is kept.
public final class RuleAnswers: Sendable {
    /// Times that the transaction of one change is begun. A change that its rules alter and look at then needs four where
    /// nothing else moves: the change, what became of it, what was read of that, and the write. Each further change of the
    /// same transaction may add one, where it depends on what becomes of the one before.
    public static let maximumAttempts = 10

    private static let mostChanges = 10_000

    private let answers = Mutex<[AdapterName: any RemoteRuleAnswers]>([:])
    private let budgets = Mutex<[AdapterName: RuleReadBudget]>([:])
    private let isCancelled = Atomic(false)

    private init() {}

    /// Runs the write of so many changes, which passes the answers on to every ``AuthorizedWrite``, until its rules are answered.
    ///
    /// Throws what the write throws, `server.overloaded` where what the rules read changes each time before they are asked
    /// again, and `adapter.unavailable` where their process cannot be asked. A cancelled task's transaction under rules ends
    /// with `CancellationError` before its next change or within what is read for them, and nothing of it is made.
    public static func settling<Result: Sendable>(
        _ changes: Int = 1, _ write: (RuleAnswers) async throws -> Result
    ) async throws -> Result {
        let answers = RuleAnswers()
        return try await withTaskCancellationHandler {
            for _ in 1..<(maximumAttempts + max(1, min(changes, mostChanges)) - 1) {
                do { return try await write(answers) } catch is UnansweredRules { try await answers.ask() }
                try answers.checkCancellation()
            }
            do { return try await write(answers) } catch is UnansweredRules {
                throw PorticoError(
                    .overloaded, "The records that the adapter's rules look at change too often at the moment.",
                    retryAfter: 1)
            }
        } onCancel: {
            answers.isCancelled.store(true, ordering: .relaxed)
        }
    }

    /// Throws where no caller waits for the write any more. The store's thread that runs it knows no task.
    func checkCancellation() throws(CancellationError) {
        if isCancelled.load(ordering: .relaxed) { throw CancellationError() }
    }

    /// Whether an error of a transaction says that rules have to be asked before it.
    public static func areMissing(_ error: any Error) -> Bool { error is UnansweredRules }

    func answers(of adapter: AdapterName, _ rules: any RemoteRecordRules) -> any RemoteRuleAnswers {
        answers.withLock { known in
            if let answers = known[adapter] { return answers }
            let answers = rules.answers()
            known[adapter] = answers
            return answers
        }
    }

    /// The budget of the reads of the adapter's rules in all transactions of the write.
    func readBudget(of adapter: AdapterName) -> RuleReadBudget {
        budgets.withLock { known in
            if let budget = known[adapter] { return budget }
            let budget = RuleReadBudget { [weak self] in try self?.checkCancellation() }
            known[adapter] = budget
            return budget
        }
    }

    private func ask() async throws {
        for answers in answers.withLock({ Array($0.values) }) where !answers.isComplete { try await answers.ask() }
    }
}

extension AdapterDeclaration {
    /// The same with other rules.
    public func holding(to rules: (any RecordRules)?) -> AdapterDeclaration {
        AdapterDeclaration(
            name: name, title: title, summary: summary, version: version, access: access, entities: entities,
            operations: operations, mounts: mounts, liveFeeds: liveFeeds, mirrors: mirrors, rules: rules,
            soapServices: soapServices)
    }

    /// The same, with rules that are asked of this adapter where they are in another process.
    public func askingRules(of adapter: @escaping @Sendable () -> any Adapter) -> AdapterDeclaration {
        guard let rules = rules as? any RemoteRecordRules else { return self }
        return holding(to: rules.asking(adapter))
    }
}
