import AdapterKit
import GRDB
import GRDBSQLite
import RecordStorage
import Synchronization

/// Which transactions wait, which go together, and which are refused because the queue is full: the state machine behind group
/// commit. It does nothing itself; ``Writer`` holds it under a lock and does what it says.
///
/// Callers whose transactions wait take turns; those of one caller keep their order. One caller's take half of the queue at
/// most.
package struct CommitQueue<Job> {
    package enum Admission: Equatable {
        /// No caller is committing: begin.
        case begin
        /// The caller that is committing goes on with it.
        case queued
        case full
        case closed
    }

    /// Transactions of one caller that wait.
    private struct Waiting {
        private var jobs: [(job: Job, steps: Int)] = []
        private var taken = 0
        private(set) var steps = 0

        var count: Int { jobs.count - taken }
        var next: (job: Job, steps: Int)? { taken < jobs.count ? jobs[taken] : nil }

        mutating func append(_ job: Job, steps: Int) {
            jobs.append((job, steps))
            self.steps += steps
        }

        mutating func removeNext() {
            guard let next else { return }
            steps -= next.steps
            taken += 1
            guard taken == jobs.count || taken > 64 else { return }
            // Cannot trap: no more than there are were taken.
            jobs.removeFirst(taken)
            taken = 0
        }
    }

    private let limits: CommitQueueLimits
    private var waiting: [CallerIdentity: Waiting] = [:]
    /// The callers with waiting transactions, in the order of their turns.
    private var turns: [CallerIdentity] = []
    private var waitingSteps = 0
    private var isCommitting = false
    private var isClosed = false

    /// Transactions that wait.
    package private(set) var count = 0

    package init(limits: CommitQueueLimits) {
        self.limits = limits
    }

    package mutating func admit(_ job: Job, steps: Int, for caller: CallerIdentity) -> Admission {
        if isClosed { return .closed }
        guard count == 0 || (count < limits.transactions && waitingSteps + steps <= limits.steps) else { return .full }
        if let own = waiting[caller],
            own.count >= limits.transactions / 2 || own.steps + steps > limits.steps / 2
        {
            return .full
        }
        if waiting[caller] == nil { turns.append(caller) }
        waiting[caller, default: Waiting()].append(job, steps: steps)
        waitingSteps += steps
        count += 1
        if isCommitting { return .queued }
        isCommitting = true
        return .begin
    }

    /// The transactions of the next commit, in the order of their callers' turns; none: committing has ended.
    package mutating func next() -> [Job] {
        var batch: [Job] = []
        var steps = 0
        var turn = 0
        while turn < turns.count, let next = waiting[turns[turn]]?.next,
            batch.isEmpty || steps + next.steps <= limits.stepsPerCommit
        {
            let caller = turns[turn]
            batch.append(next.job)
            steps += next.steps
            waiting[caller]?.removeNext()
            if waiting[caller]?.next == nil { waiting[caller] = nil } else { turns.append(caller) }
            turn += 1
        }
        // Cannot trap: counted in the queue.
        turns.removeFirst(turn)
        waitingSteps -= steps
        count -= batch.count
        isCommitting = !batch.isEmpty
        return batch
    }

    /// Takes nothing more. What waits is still committed.
    package mutating func close() {
        isClosed = true
    }
}

/// How much may wait to be written.
public struct CommitQueueLimits: Sendable, Equatable {
    /// Transactions that wait at most; half of them of one caller.
    public var transactions: Int
    /// Changes that all waiting transactions have at most, half of them of one caller. A larger one is taken where nothing
    /// else waits, and within that limit where nothing of its caller waits.
    public var steps: Int
    /// Changes that one commit takes together, so that the first to come does not wait for all the others.
    public var stepsPerCommit: Int

    public init(transactions: Int = 4096, steps: Int = 200_000, stepsPerCommit: Int = 4096) {
        self.transactions = transactions
        self.steps = steps
        self.stepsPerCommit = stepsPerCommit
    }
}

/// Makes several transactions durable with one commit: each in a savepoint of its own, so that one that is refused
/// takes nothing of the others with it.
final class GroupCommit: Sendable {
    typealias Outcome = Result<any Sendable, any Error>
    /// What a caller wants to be done: all of it, or nothing where it throws.
    typealias Work = @Sendable (CommitChanges) throws -> any Sendable

    private let catalogue: @Sendable () -> LayoutCatalogue
    private let positions: LogPositions
    private let health: StoreHealth
    private let clock: any WallClock
    private let ids: any RecordIDSource
    private let statistics: TableStatistics
    /// Set while it is open what is on the disk.
    private let outage = Mutex<Outage?>(nil)

    private struct Outage {
        let error: PorticoError
        let isForGood: Bool
    }

    init(
        positions: LogPositions, health: StoreHealth, clock: any WallClock, ids: any RecordIDSource,
        statistics: TableStatistics,
        catalogue: @escaping @Sendable () -> LayoutCatalogue
    ) {
        self.positions = positions
        self.health = health
        self.clock = clock
        self.ids = ids
        self.statistics = statistics
        self.catalogue = catalogue
    }

    /// One outcome for each, in order. A receipt is durable.
    func commit(_ transactions: [Work], on database: Database) -> [Outcome] {
        var outcomes = [Outcome?](repeating: nil, count: transactions.count)
        while true {
            if let error = stillFailing(on: database) { return outcomes.map { $0 ?? .failure(error) } }
            let open = outcomes.indices.filter { outcomes[$0] == nil }
            if open.isEmpty { return outcomes.compactMap { $0 } }
            attempt(open, of: transactions, on: database, &outcomes)
        }
    }

    /// After a commit. What goes wrong costs a good plan and no write, so it is reported to the store's health and not to a caller.
    func refreshStatistics(on database: Database) {
        do { try statistics.refresh(on: database) } catch { health.note(error) }
    }

    /// Settles all open transactions, or at least one where SQLite has rolled the others back with it.
    private func attempt(
        _ open: [Int], of transactions: [Work], on database: Database, _ outcomes: inout [Outcome?]
    ) {
        var attempted = outcomes
        do {
            try database.run("BEGIN IMMEDIATE")
            let changes = CommitChanges(
                database: database, catalogue: catalogue(), revision: positions.last, ids: ids, now: clock.now())
            for index in open {
                attempted[index] = Result { try transactions[index](changes) }
                if case .failure(let error)? = attempted[index] { health.note(error) }
                guard changes.isOpen else {
                    outcomes[index] = attempted[index]
                    return
                }
            }
            try changes.finish()
            try database.run("COMMIT")
            positions.advance(to: changes.revision, adapters: changes.touched)
            statistics.note(created: changes.created)
            outcomes = attempted
            refuseAcknowledging(open, &outcomes)
        } catch {
            abandon(open, because: error, on: database, attempted, &outcomes)
        }
    }

    /// What was committed into a file that is not in its place is lost with this process.
    private func refuseAcknowledging(_ open: [Int], _ outcomes: inout [Outcome?]) {
        do throws(PorticoError) {
            try health.checkPlaces()
        } catch {
            for index in open {
                if case .success? = outcomes[index] { outcomes[index] = .failure(error) }
            }
        }
    }

    /// The commit itself failed: nothing of it counts, and what was refused before stays refused.
    private func abandon(
        _ open: [Int], because error: any Error, on database: Database, _ attempted: [Outcome?],
        _ outcomes: inout [Outcome?]
    ) {
        if sqlite3_get_autocommit(database.sqliteConnection) == 0 { try? database.run("ROLLBACK") }
        let reason = PorticoError.wrapping(error)
        note(error, reason)
        for index in open {
            if case .failure? = attempted[index] {
                outcomes[index] = attempted[index]
            } else {
                outcomes[index] = .failure(reason)
            }
        }
    }

    /// Looks whether the files are in their places, and tries to get over a failure before anything else is written.
    func stillFailing(on database: Database) -> PorticoError? {
        do throws(PorticoError) {
            try health.checkPlaces()
        } catch {
            return error
        }
        guard let known = outage.withLock({ $0 }) else { return nil }
        if known.isForGood { return known.error }
        do {
            try WriterRecovery(database: database, positions: positions).run()
            outage.withLock { $0 = nil }
            return nil
        } catch {
            note(error, .wrapping(error))
            return known.error
        }
    }

    func note(_ error: any Error, _ reason: PorticoError) {
        health.note(error)
        guard let failure = error as? SQLiteFailure, failure.isOfTheDisk || failure.isOfTheFile else { return }
        outage.withLock { $0 = Outage(error: reason, isForGood: failure.isOfTheFile) }
    }
}
