import AdapterKit
import GRDB
import RecordStorage

/// The transaction in which a snapshot takes effect.
struct ReplacementChange {
    private let tables: StagingTables
    private let changes: CommitChanges
    private let options: ReplacementOptions
    private let start: Revision
    /// Records that stay as they are: others have changed them since, or their change is still to be delivered.
    private let protected: Set<RecordID>
    private let difference: ReplacementDifference

    private var database: Database { changes.database }
    private var layout: CollectionLayout { tables.layout }

    init(
        _ tables: StagingTables, _ changes: CommitChanges, _ options: ReplacementOptions, since start: Revision,
        _ difference: ReplacementDifference
    ) throws {
        self.tables = tables
        self.changes = changes
        self.options = options
        self.start = start
        var difference = difference
        if !options.deletesMissing { difference.deleted = options.removing.count }
        self.difference = difference
        guard try LogFloor.read(changes.database) <= start else {
            throw PorticoError(.storeUnavailable, "The snapshot has taken longer than the log reaches back.")
        }
        let others = try changes.database.rows(
            SQLFragment(
                "SELECT record FROM portico_log WHERE position > ? AND collection = ?",
                [.integer(start.number), .integer(tables.layout.number)])
        ) { RecordID(unchecked: $0.text(0)) }
        let snapshot = try DatabaseTransaction(changes)
        protected = Set(others).union(try options.protecting(snapshot))
    }

    /// Every record by itself, with its log entry.
    func oneByOne() throws -> ReplacementResult {
        var done = ReplacementDifference()
        (done.known, done.repeated) = (difference.known, difference.repeated)
        var doomed = options.removing.sorted { $0.text < $1.text }
        if options.deletesMissing {
            doomed += try database.rows(
                tables.missing(since: start, select: "CAST(\(layout.key.name) AS TEXT)")
            ) { RecordID(unchecked: $0.text(0)) }
        }
        for id in doomed where !protected.contains(id) {
            guard let row = try tables.record(id, in: layout, on: database) else { continue }
            let removal = CascadingRemoval(database: database, catalogue: changes.catalogue, author: "")
            try changes.note(try removal.remove(row, in: layout))
            done.deleted += 1
        }
        let writer = StoredRowWriter(layout: layout, database: database)
        for row in try stagedRows() where !protected.contains(row.id) && !options.removing.contains(row.id) {
            let record = Record(id: row.id, revision: Revision(changes.revision + 1), fields: row.fields)
            let before = try tables.record(row.id, in: layout, on: database)
            if let before { try writer.update(before, to: record) } else { _ = try writer.insert(record) }
            if before == nil { done.created += 1 } else { done.updated += 1 }
            let effect = RecordStepWriter.Effect(
                layout: layout, id: row.id, before: before?.record, after: record)
            try changes.note([effect])
        }
        return try finish(done, isWhole: false)
    }

    /// By exchanging the tables, with one log entry. The rows that stay have been copied.
    func asAWhole() throws -> ReplacementResult {
        let writer = StoredRowWriter(layout: tables.staged, database: database)
        for id in protected.union(options.removing) {
            if let row = try tables.record(id, in: tables.staged, on: database) { try writer.delete(row) }
            guard protected.contains(id) else { continue }
            if let row = try tables.record(id, in: layout, on: database) { _ = try writer.insert(row.record) }
        }
        if options.deletesMissing { try rememberOwners() }
        try SchemaRegistry(database: database).forgetHidden(of: layout)
        try tables.exchange(on: database)
        try changes.noteReplacement(of: layout, created: difference.known + difference.created)
        return try finish(difference, isWhole: true)
    }

    /// Remembers records that go: what belongs to them is removed later, as after every large deletion.
    private func rememberOwners() throws {
        guard changes.catalogue.references(to: layout.id).contains(where: \.isOwned) else { return }
        let missing = tables.missing(
            since: start, select: "\(layout.number), CAST(\(layout.key.name) AS TEXT)")
        try database.run(
            "INSERT OR IGNORE INTO portico_unfinished_removal (collection, record) \(missing.sql)", missing.values)
    }

    private func stagedRows() throws -> [Record] {
        try database.rows(SQLFragment(tables.staged.selection), tables.staged.record)
    }

    private func finish(_ done: ReplacementDifference, isWhole: Bool) throws -> ReplacementResult {
        if let state = options.state {
            try MirrorStates(database: database).set(state, of: layout.id)
        }
        return ReplacementResult(position: Revision(changes.revision), difference: done, isWhole: isWhole)
    }
}
