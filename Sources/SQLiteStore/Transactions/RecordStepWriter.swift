import AdapterKit
import GRDB
import GRDBSQLite
import RecordStorage

/// One change of one record: what must hold, then the rows.
struct RecordStepWriter {
    let step: WriteTransaction.Step
    let layout: CollectionLayout
    let database: Database
    let catalogue: LayoutCatalogue
    let ids: any RecordIDSource
    let authorship: Authorship
    /// The revision that the record gets.
    let revision: Revision
    let statements: InsertionStatements

    /// The effect on a record.
    struct Effect {
        let layout: CollectionLayout
        let id: RecordID
        let before: Record?
        let after: Record?
    }

    /// In the order of the log. The last one is the step's own; a deletion's are preceded by those of
    /// the records that go with it.
    func perform() throws -> [Effect] {
        switch step.change.action {
        case .create(let id, let fields): [try create(id, fields)]
        case .update(let id, let fields):
            [try change(try existing(id)) { try layout.rules.update($0, fields, authorship) }]
        case .replace(let id, let fields, let orCreate): [try replace(id, fields, orCreate: orCreate)]
        case .delete(let id):
            try CascadingRemoval(
                database: database, catalogue: catalogue, author: step.isForCaller ? authorship.author : "", step: step
            ).remove(try existing(id), in: layout)
        }
    }

    private func create(_ id: RecordID?, _ fields: WireDictionary) throws -> Effect {
        var draft = try layout.rules.create(id, fields, authorship)
        if draft.id == nil { draft = draft.assigning(try freshID(), by: layout.rules) }
        guard let id = draft.id else { throw Self.noKey }
        try checkAbsent()
        if try isReserved(id) { throw taken(id) }
        let record = Record(id: id, revision: revision, fields: draft.fields)
        let row = try insert(record)
        try checkResult(row)
        return Effect(layout: layout, id: id, before: nil, after: record)
    }

    /// Whether the key is taken is asked where the insertion is refused: of thousands of new records none may be.
    private func insert(_ record: Record) throws -> Int64 {
        do {
            return try StoredRowWriter(layout: layout, database: database).insert(
                record, by: try statements.insertion(into: layout))
        } catch let error as PorticoError where error.code == .recordExists {
            throw try isStored(record.id) ? taken(record.id) : error
        }
    }

    private func taken(_ id: RecordID) -> PorticoError {
        if case .absent = step.change.condition { return Self.unmet }
        return PorticoError(.recordExists, "There is a record `\(id)` already.", target: layout.key.field.name.text)
    }

    private func replace(_ id: RecordID, _ fields: WireDictionary, orCreate: Bool) throws -> Effect {
        let canCreate = orCreate && layout.entity.key.chooser != .server
        if canCreate, try stored(id).map({ try !holds(step.visible, for: $0.row) }) ?? true {
            return try create(id, fields)
        }
        return try change(try existing(id)) { try layout.rules.replace($0, fields, authorship) }
    }

    private func change(_ found: StoredRow, _ draft: (Record) throws -> RecordDraft) throws -> Effect {
        let record = Record(id: found.record.id, revision: revision, fields: try draft(found.record).fields)
        try StoredRowWriter(layout: layout, database: database).update(found, to: record)
        try checkResult(found.row)
        return Effect(layout: layout, id: record.id, before: found.record, after: record)
    }

}

extension RecordStepWriter {
    private func stored(_ id: RecordID) throws -> StoredRow? {
        guard let key = layout.keyCondition(id) else { return nil }
        return try database.rows(
            SQLFragment("\(layout.selection) WHERE \(key.sql)", key.values), layout.storedRow
        ).first
    }

    private func isStored(_ id: RecordID) throws -> Bool {
        guard let key = layout.keyCondition(id) else { return false }
        return try database.hasRow(SQLFragment("SELECT 1 FROM \(layout.table) WHERE \(key.sql)", key.values))
    }

    /// The record to change: there, visible, writable, and as the change expects it, asked in this order.
    private func existing(_ id: RecordID) throws -> StoredRow {
        guard let found = try stored(id), try holds(step.visible, for: found.row) else {
            throw PorticoError(.recordNotFound, "There is no such record.")
        }
        guard try holds(step.writableBefore, for: found.row) else { throw Self.denied }
        switch step.change.condition {
        case .none, .exists: return found
        case .revision(let expected) where expected == found.record.revision: return found
        case .revision, .absent: throw Self.unmet
        }
    }

    /// Whether the id is refused as taken although no record has it: it was another's before, or records
    /// refer to it still, which would become readable through the new one.
    private func isReserved(_ id: RecordID) throws -> Bool {
        guard step.isForCaller else { return false }
        let retired = try RetiredIDs(database: database).author(of: id, in: layout)
        if let retired, retired.isEmpty || !retired.hasSameBytes(as: authorship.author) { return true }
        return try catalogue.references(to: layout.id).contains { try $0.isMade(to: id, of: layout, on: database) }
    }

    private func checkAbsent() throws {
        switch step.change.condition {
        case .none, .absent: return
        case .exists, .revision: throw Self.unmet
        }
    }

    private func checkResult(_ row: Int64) throws {
        guard try holds(step.writableAfter, for: row) else { throw Self.denied }
    }

    private func holds(_ filter: Filter?, for row: Int64) throws -> Bool {
        guard let filter else { return true }
        let condition = try RecordCompiler(layout, catalogue).condition(filter)
        return try database.hasRow(
            SQLFragment(
                "SELECT 1 FROM \(RecordCompiler.source(layout)) WHERE \(layout.rowColumn) = ? AND \(condition.sql)",
                [.integer(row)] + condition.values))
    }

    /// Integer keys go on from the largest that was ever there, so that none is given twice.
    private func freshID() throws -> RecordID {
        guard layout.hasIntegerKey else { return ids.next() }
        let last = try database.row(
            "SELECT seq FROM sqlite_sequence WHERE name = ?", [.text(layout.names.main)]
        ) { $0.integer(0) }
        let (next, overflow) = (last ?? 0).addingReportingOverflow(1)
        guard !overflow, layout.rules.keyValue(of: RecordID(unchecked: String(next))) != nil else {
            throw Self.noKey
        }
        return RecordID(unchecked: String(next))
    }

    private static let denied = PorticoError(.accessDenied, "You may not change this record so.")
    private static let unmet = PorticoError(.preconditionFailed, "The record is not as the change expects it.")
    private static let noKey = PorticoError(.serverInternal, "There is no key left for a new record.")
}

/// The statements that a commit runs for every new record. Finding a prepared statement by its text costs about as much
/// as running it. For one commit: the schema does not change within it.
final class InsertionStatements {
    private let database: Database
    private var latest: (layout: CollectionLayout, statement: Statement)?
    private var log: Statement?

    init(_ database: Database) {
        self.database = database
    }

    func insertion(into layout: CollectionLayout) throws -> Statement {
        if let latest, latest.layout === layout { return latest.statement }
        let statement = try database.cachedStatement(sql: layout.insertion)
        latest = (layout, statement)
        return statement
    }

    func logEntry() throws -> Statement {
        if let log { return log }
        let statement = try database.cachedStatement(sql: OperationLog.insertion)
        log = statement
        return statement
    }
}

/// The changes of one commit, numbered one after the other.
final class CommitChanges {
    let database: Database
    let catalogue: LayoutCatalogue
    /// The last operation id that was given.
    private(set) var revision: Int64
    let ids: any RecordIDSource
    /// One instant for the whole commit: the caller that waits together is written together.
    let now: WireDate
    /// The last operation id of each adapter whose records changed.
    private(set) var touched: [AdapterName: Int64] = [:]
    /// Records that came.
    private(set) var created: [CollectionID: Int] = [:]
    /// The control of the transaction's reads.
    private(set) var control: any ReadControl = UncontrolledRead()
    private let statements: InsertionStatements

    init(
        database: Database, catalogue: LayoutCatalogue, revision: Int64, ids: any RecordIDSource, now: WireDate
    ) {
        self.database = database
        self.catalogue = catalogue
        self.revision = revision
        self.ids = ids
        self.now = now
        statements = InsertionStatements(database)
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

    /// Runs `body`, whose reads are broken off as soon as `control` says so.
    func reading<Result>(under control: any ReadControl, _ body: () throws -> Result) throws -> Result {
        let before = self.control
        self.control = control
        defer { self.control = before }
        let watch = StatementWatch(control)
        watch.begin(on: database)
        defer { watch.end(on: database) }
        do {
            return try body()
        } catch let failure as SQLiteFailure where failure.primary == SQLITE_INTERRUPT {
            try control.check()
            throw failure
        }
    }

    /// Whether SQLite still has the transaction.
    var isOpen: Bool { sqlite3_get_autocommit(database.sqliteConnection) == 0 }

    private static let isOver = PorticoError(.storeUnavailable, "The transaction was broken off.")

    private func perform(_ step: WriteTransaction.Step, by author: String) throws -> Record? {
        let layout = try catalogue.layout(step.collection)
        let next = Revision(revision + 1)
        let change = RecordStepWriter(
            step: step, layout: layout, database: database, catalogue: catalogue, ids: ids,
            authorship: Authorship(author: author, time: now, position: next), revision: next, statements: statements)
        let effects = try change.perform()
        try note(effects)
        return effects.last?.after
    }

    /// All records of a collection were replaced; so many are there now.
    func noteReplacement(of layout: CollectionLayout, created count: Int) throws {
        revision += 1
        touched[layout.id.adapter] = revision
        created[layout.id, default: 0] += count
        try OperationLog.appendReplacement(at: revision, now, of: layout, on: database)
    }

    /// Numbers what became of records, and logs it.
    func note(_ effects: [RecordStepWriter.Effect]) throws {
        for effect in effects {
            revision += 1
            touched[effect.layout.id.adapter] = revision
            if effect.before == nil { created[effect.layout.id, default: 0] += 1 }
            try OperationLog.append(
                effect, at: revision, now, in: effect.layout, on: database, by: try statements.logEntry())
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
