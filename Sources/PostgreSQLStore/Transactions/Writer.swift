import AdapterKit
import Admission
import RecordStorage
import Synchronization

/// The one connection of this process that writes, and the group commits on it: while one waits, transactions gather in
/// ``CommitQueue``, and the next takes them all.
final class Writer: Sendable {
    typealias Outcome = Result<any Sendable, any Error>
    typealias Work = @Sendable (GroupTransaction) throws -> any Sendable

    struct Job: Sendable {
        let ticket: AdmissionTicket
        let request: CommitQueue.Request
        let reads: [StoreRead]
        let work: Work
        let answer: CheckedContinuation<any Sendable, any Error>
    }

    private let queue: Mutex<AdmissionMachine<CommitQueue, Job>>
    private let pool: ConnectionPool
    private let commit: GroupCommit

    init(limits: CommitQueueLimits, pool: ConnectionPool, commit: GroupCommit) {
        queue = Mutex(AdmissionMachine(CommitQueue(limits: limits), late: CancellationError()))
        self.pool = pool
        self.commit = commit
    }

    /// Returns when it is durable. Throws ``PorticoError``.
    func write<Result: Sendable>(
        weight: Int, expecting reads: [StoreRead], _ work: @escaping @Sendable (GroupTransaction) throws -> Result
    ) async throws -> Result {
        let caller = CallerIdentity.current
        let result = try await withCheckedThrowingContinuation { answer in
            let request = CommitQueue.Request(steps: weight, caller: caller)
            do throws(PorticoError) {
                try admit(request, reads, work, answer)
            } catch {
                answer.resume(throwing: error)
            }
        }
        guard let result = result as? Result else {
            throw PorticoError(.serverInternal, "A transaction has another's result.")
        }
        return result
    }

    /// Runs between two commits.
    func run<Result: Sendable>(_ body: @escaping @Sendable (ConnectionSlot) throws -> Result) async throws -> Result {
        try await withCheckedThrowingContinuation { answer in
            do throws(PorticoError) {
                try pool.submit { slot in answer.resume(with: Swift.Result { try body(slot) }) }
            } catch {
                answer.resume(throwing: error)
            }
        }
    }

    /// Refuses what comes from now on, and returns when everything before has been committed.
    func close() async {
        queue.withLock { $0.closeEntrance(.closed) }
        await pool.close()
    }

    private func admit(
        _ request: CommitQueue.Request, _ reads: [StoreRead], _ work: @escaping Work,
        _ answer: CheckedContinuation<any Sendable, any Error>
    ) throws(PorticoError) {
        try queue.withLock { queue throws(PorticoError) in
            let now = ContinuousClock.now
            let ticket = try queue.arrive(request, at: now).ticket
            let job = Job(ticket: ticket, request: request, reads: reads, work: work, answer: answer)
            // No outcome is known before a batch is made.
            _ = queue.wait(for: ticket, job, until: nil, at: now)
            if queue.policy.begins() { try pool.submit { self.drain($0) } }
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

    private func drain(_ slot: ConnectionSlot) {
        var batch: [Job] = []
        while true {
            batch = nextBatch(after: batch)
            if batch.isEmpty { return }
            let outcomes = commit.commit(batch, on: slot)
            for (job, outcome) in zip(batch, outcomes) { job.answer.resume(with: outcome) }
        }
    }
}

/// Makes several transactions durable with one commit and two round trips: the order with all declared reads, then all
/// changes with COMMIT. A read that was not declared costs one more.
final class GroupCommit: Sendable {
    private let state: StoreState
    private let clock: any WallClock
    private let ids: any RecordIDSource
    /// Time that the server has for one answer.
    private let deadline: Duration
    /// Attempts at a group that the server broke off.
    private static let repetitions = 4

    init(_ state: StoreState, clock: any WallClock, ids: any RecordIDSource, deadline: Duration) {
        self.state = state
        self.clock = clock
        self.ids = ids
        self.deadline = deadline
    }

    /// The result of one attempt.
    private enum Attempt {
        case settled([Int: Writer.Outcome])
        /// The server broke the group off, because of one transaction or of none.
        case broken(any Error, by: Int?)
    }

    /// One outcome for each, in order. A success is durable.
    func commit(_ jobs: [Writer.Job], on slot: ConnectionSlot) -> [Writer.Outcome] {
        var outcomes = [Writer.Outcome?](repeating: nil, count: jobs.count)
        var failures = 0
        var isSingly = false
        while true {
            let open = jobs.indices.filter { outcomes[$0] == nil }
            if open.isEmpty { return outcomes.compactMap { $0 } }
            let attempted = isSingly ? Array(open.prefix(1)) : open
            switch attempt(attempted, of: jobs, on: slot) {
            case .settled(let found): for (index, outcome) in found { outcomes[index] = outcome }
            case .broken(let error, let index?): outcomes[index] = .failure(translated(error))
            case .broken(let error, nil):
                let failure = error as? PostgreSQLFailure
                if failure?.isOfChanges == true, attempted.count > 1 {
                    isSingly = true
                } else if failure?.mayBeRepeated == true, failures < Self.repetitions {
                    failures += 1
                } else {
                    for index in attempted { outcomes[index] = .failure(PorticoError.wrapping(error)) }
                }
            }
        }
    }

    private func attempt(_ open: [Int], of jobs: [Writer.Job], on slot: ConnectionSlot) -> Attempt {
        do {
            let connection = try slot.connection()
            let transaction = try begin(open.flatMap { jobs[$0].reads }, on: connection)
            var outcomes: [Int: Writer.Outcome] = [:]
            for index in open {
                outcomes[index] = Result { try transaction.undoing { try jobs[index].work(transaction) } }
                if let failure = transaction.failure {
                    slot.note(failure)
                    rollBack(connection)
                    return .broken(failure, by: failure.endsConnection || failure.mayBeRepeated ? nil : index)
                }
            }
            state.note(undeclared: transaction.undeclared)
            if transaction.journal.isEmpty {
                rollBack(connection)
            } else {
                try finish(transaction, on: slot)
            }
            return .settled(outcomes.mapValues { $0.mapError(translated) })
        } catch {
            slot.note(error)
            return .broken(error, by: nil)
        }
    }

    /// Takes the order, and what was declared with it. `changesTables`: whether the caller reads the tables' registry under
    /// the order, so that it need not know them.
    func begin(
        _ reads: [StoreRead], on connection: Connection, changesTables: Bool = false
    ) throws -> GroupTransaction {
        let catalogue = try state.openCatalogue()
        let fetch = try Fetch(reads, catalogue, changesRecords: true)
        let numbersKeys = catalogue.layouts.values.contains(where: \.hasIntegerKey)
        do {
            try connection.send("BEGIN")
            try connection.send(Sequence.lock)
            if numbersKeys { try connection.send(GroupTransaction.lastKeysSelection) }
            try fetch.send(on: connection)
            let rows = try connection.synchronize(limitsOfReads)
            let sequence = try Sequence(rows[1])
            try state.check(sequence, changesTables ? nil : catalogue)
            let transaction = GroupTransaction(
                connection, catalogue, limitsOfReads, sequence, now: clock.now(), ids: ids)
            if numbersKeys { transaction.note(lastKeys: rows[2]) }
            try fetch.receive(rows.suffix(fetch.count), into: transaction)
            return transaction
        } catch {
            rollBack(connection)
            throw error
        }
    }

    private var limitsOfReads: Connection.WaitLimits { Connection.WaitLimits(deadline: .now + deadline) }

    /// Writes, commits, and settles a commit that has no answer.
    func finish(_ transaction: GroupTransaction, on slot: ConnectionSlot) throws {
        let connection = transaction.connection
        var token: [UInt8] = []
        for _ in 0..<2 { token.append(bigEndian: UInt64.random(in: .min ... .max)) }
        let sequence: Sequence
        do {
            sequence = try transaction.finish(token: token)
        } catch {
            rollBack(connection)
            throw error
        }
        let warnings = connection.warningCount
        do {
            try connection.send("COMMIT")
            try connection.synchronize(Connection.WaitLimits(deadline: .now + deadline, mayCancel: false))
        } catch let failure as PostgreSQLFailure where !connection.isBroken {
            // The server answered: nothing of it counts.
            rollBack(connection)
            throw failure
        } catch {
            try settle(sequence, because: error, on: slot)
        }
        state.advance(to: sequence)
        // A wait for a standby that was broken off succeeds with a warning.
        if !connection.isBroken, connection.warningCount > warnings {
            throw PorticoError(.storeUnavailable, "It is not known whether the change outlives the server.")
        }
    }

    /// Finds out what became of a commit without an answer: the caller that gets the order after it sees its mark, or knows that it
    /// never will be there. Throws where it was not made, or where that cannot be found out.
    private func settle(_ sequence: Sequence, because error: any Error, on slot: ConnectionSlot) throws {
        let end = ContinuousClock.now + deadline
        while true {
            slot.drop()
            do {
                if try isMade(sequence, on: slot.connection()) { return }
            } catch is PostgreSQLFailure where ContinuousClock.now < end {
                // The server is away or busy, which says nothing of the commit.
                continue
            } catch {
                throw PorticoError(
                    .storeUnavailable, "It is not known whether the change was made.", logDetail: "\(error)")
            }
            throw error
        }
    }

    private func isMade(_ sequence: Sequence, on connection: Connection) throws -> Bool {
        defer { rollBack(connection) }
        try connection.send("BEGIN")
        try connection.send(Sequence.lock)
        try connection.send("SELECT token FROM portico_commit WHERE number = ?", [.integer(sequence.commits)])
        let rows = try connection.synchronize(limitsOfReads)
        guard try Sequence(rows[1]).epoch == sequence.epoch else { throw PorticoError.anotherHistory }
        return rows[2].count == 1 && rows[2][0].bytes(0) == sequence.token
    }

    func rollBack(_ connection: Connection) {
        guard !connection.isBroken else { return }
        try? connection.send("ROLLBACK")
        try? connection.synchronizeLater()
    }
}

extension PostgreSQLFailure {
    /// Made of what transactions wrote: it breaks off the one that did, and the others are made without it.
    fileprivate var isOfChanges: Bool {
        guard let state else { return false }
        return ["22", "23", "54"].contains(state.prefix(2))
    }

    /// A group that the server broke off, or whose connection ended before its COMMIT.
    fileprivate var mayBeRepeated: Bool { isRepeatable || endsConnection || isReadOnlyServer }
}
