import AdapterKit
import GRDB
import GRDBSQLite
import RecordStorage
import Synchronization

/// Makes several transactions durable with one commit: each in a savepoint of its own, so that one that is refused
/// takes nothing of the others with it.
final class GroupCommit: Sendable {
    typealias Outcome = Result<any Sendable, any Error>
    /// A caller's work: all of it is done, or nothing where it throws.
    typealias Work = @Sendable (CommitChanges) throws -> any Sendable

    private let catalogue: @Sendable () -> LayoutCatalogue
    private let positions: LogPositions
    private let health: StoreHealth
    private let clock: any WallClock
    private let ids: any RecordIDSource
    private let statistics: TableStatistics
    /// Set while it is open what is on the disk.
    private let outage = Mutex<Outage?>(nil)
    private let attemptedRecoveries = Atomic<Int>(0)

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

    /// Times that ``WriterRecovery`` was tried, which empties the write-ahead log.
    var recoveries: Int { attemptedRecoveries.load(ordering: .relaxed) }

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

    /// Refuses to acknowledge what was committed into a file that is not in its place: it is lost with this process.
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
        attemptedRecoveries.add(1, ordering: .relaxed)
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
