import AdapterKit
import GRDB
import RecordStorage
import Synchronization

/// The one connection that writes, and the group commits on it.
///
/// GRDB's serial queue is the thread: while one commit waits for the disk, transactions gather in ``CommitQueue``, and
/// the next commit takes them all with one sync.
final class Writer: Sendable {
    private struct Job {
        let work: GroupCommit.Work
        let weight: Int
        let answer: CheckedContinuation<any Sendable, any Error>
    }

    private let connection: DatabaseQueue
    private let queue: Mutex<CommitQueue<Job>>
    private let commit: GroupCommit
    private let readers: ReaderPool

    init(_ connection: DatabaseQueue, limits: CommitQueueLimits, commit: GroupCommit, readers: ReaderPool) {
        self.connection = connection
        self.commit = commit
        self.readers = readers
        queue = Mutex(CommitQueue(limits: limits))
    }

    /// Returns when it is durable. Throws ``PorticoError``.
    func write<Result: Sendable>(
        weight: Int, _ work: @escaping @Sendable (ChangeRun) throws -> Result
    ) async throws -> Result {
        let result = try await withCheckedThrowingContinuation { answer in
            switch admit(Job(work: work, weight: weight, answer: answer)) {
            case .begin, .queued: break
            case .full: answer.resume(throwing: Self.overloaded)
            case .closed: answer.resume(throwing: PorticoError.closed)
            }
        }
        guard let result = result as? Result else { throw Self.mixedUp }
        return result
    }

    /// Draining is scheduled under the lock, so that it comes before whatever ``close()`` schedules.
    private func admit(_ job: Job) -> CommitQueue<Job>.Admission {
        queue.withLock { queue in
            let admission = queue.admit(job, steps: job.weight)
            if admission == .begin { connection.asyncWriteWithoutTransaction { self.drain($0) } }
            return admission
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
        queue.withLock { $0.close() }
        try? await connection.writeWithoutTransaction { database in
            let isBlocked = try database.row("PRAGMA wal_checkpoint(TRUNCATE)") { $0.integer(0) != 0 } ?? true
            if !isBlocked { emptied() }
        }
        try? connection.close()
    }

    private func drain(_ database: Database) {
        while true {
            let batch = queue.withLock { $0.next() }
            if batch.isEmpty { return }
            let outcomes = readers.whileWriting { commit.commit(batch.map(\.work), on: database) }
            for (job, outcome) in zip(batch, outcomes) { job.answer.resume(with: outcome) }
            readers.whileWriting { commit.refreshStatistics(on: database) }
        }
    }

    private static let mixedUp = PorticoError(.serverInternal, "A transaction has another's result.")
    private static let overloaded = PorticoError(
        .overloaded, "Too many changes are waiting to be written.", retryAfter: 1)
}

extension PorticoError {
    static let closed = PorticoError(.storeUnavailable, "The store is closed.")
}
