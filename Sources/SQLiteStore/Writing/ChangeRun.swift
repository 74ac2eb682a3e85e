import AdapterKit
import GRDB
import GRDBSQLite
import RecordStorage

/// The changes of one commit, numbered one after the other.
final class ChangeRun {
    let database: Database
    let catalogue: LayoutCatalogue
    /// The last operation id that was given.
    private(set) var revision: Int64
    let ids: any RecordIDSource
    /// One instant for the whole commit: whoever waits together is written together.
    let now: WireDate
    /// The last operation id of each adapter whose records changed.
    private(set) var touched: [AdapterName: Int64] = [:]
    /// Records that came.
    private(set) var created: [CollectionID: Int] = [:]

    init(
        database: Database, catalogue: LayoutCatalogue, revision: Int64, ids: any RecordIDSource, now: WireDate
    ) {
        self.database = database
        self.catalogue = catalogue
        self.revision = revision
        self.ids = ids
        self.now = now
    }

    /// All of the transaction's changes or none.
    func perform(_ transaction: WriteTransaction) throws -> WriteReceipt {
        try undoing {
            var records: [Record?] = []
            for step in transaction.steps { records.append(try perform(step, by: transaction.author)) }
            return WriteReceipt(position: Revision(revision), records: records)
        }
    }

    /// Undoes what the body did where it throws. May be nested.
    func undoing<Result>(_ body: () throws -> Result) throws -> Result {
        // Outside a transaction, which is where SQLite leaves us when the disk is full, each change would be final.
        guard isOpen else { throw Self.isOver }
        let before = (revision, touched, created)
        try database.run("SAVEPOINT change")
        do {
            let result = try body()
            guard isOpen else { throw Self.isOver }
            try database.run("RELEASE change")
            return result
        } catch {
            (revision, touched, created) = before
            // Fails only where SQLite has rolled back everything already, which the caller looks for.
            try? database.run("ROLLBACK TO change")
            try? database.run("RELEASE change")
            throw translated(error)
        }
    }

    /// Whether SQLite still has the transaction.
    var isOpen: Bool { sqlite3_get_autocommit(database.sqliteConnection) == 0 }

    private static let isOver = PorticoError(.storeUnavailable, "The transaction was broken off.")

    private func perform(_ step: WriteTransaction.Step, by author: String) throws -> Record? {
        let layout = try catalogue.layout(step.collection)
        let next = Revision(revision + 1)
        let change = StepChange(
            step: step, layout: layout, database: database, catalogue: catalogue, ids: ids,
            authorship: Authorship(author: author, time: now, position: next), revision: next)
        let effects = try change.perform()
        try note(effects)
        return effects.last?.after
    }

    private func note(_ effects: [StepChange.Effect]) throws {
        for effect in effects {
            revision += 1
            touched[effect.layout.id.adapter] = revision
            if effect.before == nil { created[effect.layout.id, default: 0] += 1 }
            try OperationLog.append(effect, at: revision, now, in: effect.layout, on: database)
        }
    }

    /// Goes on with deletions that were too large for one transaction. False where nothing is left of them.
    func continueRemovals() throws -> Bool {
        try undoing {
            let removal = CascadingRemoval(database: database, catalogue: catalogue, author: "")
            guard let effects = try removal.resume() else { return false }
            try note(effects)
            return true
        }
    }

    /// To be called once, last, within the commit.
    func finish() throws {
        for (adapter, position) in touched.sorted(by: { $0.key < $1.key }) {
            try StoredPositions.set(position, of: adapter, on: database)
        }
    }
}
