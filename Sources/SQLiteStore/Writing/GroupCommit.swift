import AdapterKit
import GRDB
import GRDBSQLite
import SyncEngine
import Synchronization

/// Makes several transactions durable with one commit: each in a savepoint of its own, so that one that is refused
/// takes nothing of the others with it.
final class GroupCommit: Sendable {
    typealias Outcome = Result<any Sendable, any Error>
    /// What somebody wants to be done: all of it, or nothing where it throws.
    typealias Work = @Sendable (ChangeRun) throws -> any Sendable

    private let catalogue: @Sendable () -> LayoutCatalogue
    private let positions: LogPositions
    private let clock: any WallClock
    private let ids: any RecordIDSource
    /// Set once a commit failed in a way that leaves open what is on the disk.
    private let failure = Mutex<PorticoError?>(nil)

    init(
        positions: LogPositions, clock: any WallClock, ids: any RecordIDSource,
        catalogue: @escaping @Sendable () -> LayoutCatalogue
    ) {
        self.positions = positions
        self.clock = clock
        self.ids = ids
        self.catalogue = catalogue
    }

    /// One outcome for each, in order. A receipt is durable.
    func commit(_ transactions: [Work], on database: Database) -> [Outcome] {
        var outcomes = [Outcome?](repeating: nil, count: transactions.count)
        while true {
            if let failure = failure.withLock({ $0 }) { return outcomes.map { $0 ?? .failure(failure) } }
            let open = outcomes.indices.filter { outcomes[$0] == nil }
            if open.isEmpty { return outcomes.compactMap { $0 } }
            attempt(open, of: transactions, on: database, &outcomes)
        }
    }

    /// Settles all open transactions, or at least one where SQLite has rolled the others back with it.
    private func attempt(
        _ open: [Int], of transactions: [Work], on database: Database, _ outcomes: inout [Outcome?]
    ) {
        var attempted = outcomes
        do {
            try database.run("BEGIN IMMEDIATE")
            let changes = ChangeRun(
                database: database, catalogue: catalogue(), revision: positions.last, ids: ids, now: clock.now())
            for index in open {
                attempted[index] = Result { try transactions[index](changes) }
                guard changes.isOpen else {
                    outcomes[index] = attempted[index]
                    return
                }
            }
            try changes.finish()
            try database.run("COMMIT")
            positions.advance(to: changes.revision, adapters: changes.touched)
            outcomes = attempted
        } catch {
            abandon(open, because: error, on: database, attempted, &outcomes)
        }
    }

    /// The commit itself failed: nothing of it counts, and what was refused before stays refused.
    private func abandon(
        _ open: [Int], because error: any Error, on database: Database, _ attempted: [Outcome?],
        _ outcomes: inout [Outcome?]
    ) {
        if sqlite3_get_autocommit(database.sqliteConnection) == 0 { try? database.run("ROLLBACK") }
        let reason = PorticoError.wrapping(error)
        if (error as? SQLiteFailure)?.isFatal == true { failure.withLock { $0 = reason } }
        for index in open {
            if case .failure? = attempted[index] {
                outcomes[index] = attempted[index]
            } else {
                outcomes[index] = .failure(reason)
            }
        }
    }
}
