import AdapterKit
import Admission
import GRDB
import GRDBSQLite
import RecordStorage
import Synchronization
import Telemetry

/// The one connection that writes, and the group commits on it.
///
/// GRDB's serial queue is the thread: while one commit waits for the disk, transactions gather in ``CommitQueue``, and
/// the next commit takes them all with one sync.
final class Writer: Sendable {
    private struct Job: Sendable {
        let ticket: AdmissionTicket
        let request: CommitQueue.Request
        let work: GroupCommit.Work
        let answer: CheckedContinuation<any Sendable, any Error>
    }

    private let connection: DatabaseQueue
    private let queue: Mutex<AdmissionMachine<CommitQueue, Job>>
    let commit: GroupCommit
    private let readers: ReaderPool
    private let counters: StoreCounters

    init(
        _ connection: DatabaseQueue, limits: CommitQueueLimits, commit: GroupCommit, readers: ReaderPool,
        counters: StoreCounters
    ) {
        self.counters = counters
        self.connection = connection
        self.commit = commit
        self.readers = readers
        queue = Mutex(AdmissionMachine(CommitQueue(limits: limits), late: CancellationError()))
    }

    /// Returns when it is durable. Throws ``PorticoError``.
    func write<Result: Sendable>(
        weight: Int, _ work: @escaping @Sendable (CommitChanges) throws -> Result
    ) async throws -> Result {
        let caller = CallerIdentity.current
        let result = try await RequestTimeline.measure(.write, "store write") {
            try await withCheckedThrowingContinuation { answer in
                let request = CommitQueue.Request(steps: weight, caller: caller)
                do throws(PorticoError) {
                    try admit(request, work, answer)
                } catch {
                    answer.resume(throwing: error)
                }
            }
        }
        guard let result = result as? Result else { throw Self.mixedUp }
        return result
    }

    /// Transactions that wait for the next commit.
    var queued: Int { queue.withLock { $0.policy.counts.waiting } }

    /// Draining is scheduled under the lock, so that it comes before whatever ``close()`` schedules.
    private func admit(
        _ request: CommitQueue.Request, _ work: @escaping GroupCommit.Work,
        _ answer: CheckedContinuation<any Sendable, any Error>
    ) throws(PorticoError) {
        try queue.withLock { queue throws(PorticoError) in
            let now = ContinuousClock.now
            let ticket = try queue.arrive(request, at: now).ticket
            // No outcome is known before a batch is made.
            _ = queue.wait(
                for: ticket, Job(ticket: ticket, request: request, work: work, answer: answer), until: nil, at: now)
            if queue.policy.begins() { connection.asyncWriteWithoutTransaction { self.drain($0) } }
        }
    }

    /// The transactions of the next commit; none: committing has ended.
    private func nextBatch(after last: [Job]) -> [Job] {
        queue.withLock { queue in
            let now = ContinuousClock.now
            for job in last { queue.leave(job.request, as: job.ticket, (), at: now) }
            queue.policy.beginBatch()
            queue.decide(at: now)
            queue.policy.endBatch()
            return queue.takeWakeUps().map(\.waiter)
        }
    }

    /// Runs between two commits.
    func run<Result: Sendable>(_ body: @escaping @Sendable (Database) throws -> Result) async throws -> Result {
        do {
            return try await connection.writeWithoutTransaction { [self] database in
                try readers.whileWriting { try perform(body, on: database) }
            }
        } catch {
            throw translated(error)
        }
    }

    private func perform<Result>(_ body: (Database) throws -> Result, on database: Database) throws -> Result {
        if let error = commit.stillFailing(on: database) { throw error }
        do {
            let result = try body(database)
            if let error = commit.stillFailing(on: database) { throw error }
            return result
        } catch {
            commit.note(error, .wrapping(error))
            throw error
        }
    }

    /// Refuses what comes from now on and returns when everything before has been committed.
    ///
    /// `emptied` is called where everything is in the database file, and nothing in the log file any more.
    func close(emptied: @escaping @Sendable () -> Void) async {
        queue.withLock { $0.closeEntrance(.closed) }
        try? await connection.writeWithoutTransaction { database in
            let isBlocked = try database.row("PRAGMA wal_checkpoint(TRUNCATE)") { $0.integer(0) != 0 } ?? true
            if !isBlocked { emptied() }
        }
        try? connection.close()
    }

    private func drain(_ database: Database) {
        var batch: [Job] = []
        while true {
            batch = nextBatch(after: batch)
            if batch.isEmpty { return }
            let begin = ContinuousClock.now
            let outcomes = readers.whileWriting { commit.commit(batch.map(\.work), on: database) }
            let refused = outcomes.count { if case .failure = $0 { true } else { false } }
            counters.noteCommit(of: batch.count, refused: refused, after: ContinuousClock.now - begin)
            for (job, outcome) in zip(batch, outcomes) { job.answer.resume(with: outcome) }
            readers.whileWriting { commit.refreshStatistics(on: database) }
        }
    }

    private static let mixedUp = PorticoError(.serverInternal, "A transaction has another's result.")
}

extension PorticoError {
    static let closed = PorticoError(.storeUnavailable, "The store is closed.")
}

/// Makes the file good again after the disk failed and works once more.
///
/// What was acknowledged is on the disk, in the log file beside the database; what failed is there in part, or not at
/// all, and is overwritten by what comes next. A checkpoint that empties the log file copies every acknowledged page
/// into the database and syncs it: once it has succeeded nothing depends on what the kernel made of the failed write.
struct WriterRecovery {
    let database: Database
    let positions: LogPositions

    /// Throws where the disk still fails.
    func run() throws {
        if sqlite3_get_autocommit(database.sqliteConnection) == 0 { try database.run("ROLLBACK") }
        let isBlocked = try database.row("PRAGMA wal_checkpoint(TRUNCATE)") { $0.integer(0) != 0 } ?? true
        guard !isBlocked else {
            throw SQLiteFailure(code: SQLITE_BUSY, message: "a reader holds up the checkpoint after a failure")
        }
        // A commit whose answer was lost may have been made all the same.
        let found = try StoredPositions.all(on: database)
        guard found.last > positions.last else { return }
        positions.advance(to: found.last, adapters: found.allAdapters)
    }
}

/// A caller's work within a commit: reads see it, a throw undoes it.
struct DatabaseTransaction: DatabaseReads, StoreTransaction {
    private let run: CommitChanges
    let floor: Revision

    init(_ run: CommitChanges) throws {
        self.run = run
        floor = try LogFloor.read(run.database)
    }

    var database: Database { run.database }
    var catalogue: LayoutCatalogue { run.catalogue }
    var control: any ReadControl { run.control }
    var position: Revision { Revision(run.revision) }

    var now: WireDate { run.now }

    func apply(_ transaction: WriteTransaction) throws -> WriteReceipt { try run.perform(transaction) }

    func undoing<Result>(_ body: () throws -> Result) throws -> Result { try run.undoing(body) }

    func reading<Result>(within budget: RuleReadBudget, _ body: () throws -> Result) throws -> Result {
        let control = BudgetedRead(budget)
        let result = try run.reading(under: control, body)
        // What took its time after the last look.
        try control.check()
        return result
    }

    func remember(
        _ content: WireDictionary, of sequence: Int64, from client: ClientID, of identity: String
    ) throws {
        try run.undoing {
            try StoredClients(database: database).remember(
                content, of: sequence, from: client, of: identity, at: position, run.now)
        }
    }

    func forgetClients(of identity: String) throws -> Int {
        try run.undoing { try StoredClients(database: database).forget(of: identity) }
    }

    func setMirrorState(_ state: WireDictionary, of collection: CollectionID) throws {
        try run.undoing { try MirrorStates(database: database).set(state, of: collection) }
    }

    func keep(_ copy: LosingCopy) throws {
        try run.undoing { try StoredCopies(database: database).keep(copy, at: position, run.now) }
    }
}
