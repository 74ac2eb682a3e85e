import GRDB
import SyncDevice
import SyncMessages

/// Rows that a pull which is not complete has brought: in a table of their own, `incoming`, which no reader asks. It counts
/// for the device that staged it alone: one that is made anew begins its pull again, and drops the table.
struct PullStaging {
    /// The value of `waiting` for a record that is to go.
    static let goes = -1

    private let database: Database
    private let coding: RowCoding
    /// Collections that have records. Of others nothing can go.
    private let standing: Set<String>

    init(_ database: Database, _ coding: RowCoding) throws {
        self.database = database
        self.coding = coding
        standing = try Set(String.fetchAll(database, sql: "SELECT collection FROM scopes WHERE count > 0"))
    }

    func add(_ piece: StagedPiece) throws {
        if piece.isFirst {
            try database.execute(
                sql: "DROP TABLE IF EXISTS incoming; " + ReplicaSchema.createRecords(as: "incoming"))
        }
        for collection in piece.unstaged {
            try database.execute(sql: "DELETE FROM incoming WHERE collection = ?", arguments: [collection])
        }
        let rows = try RowStatements(database, of: "incoming", coding)
        try rows.write(piece.changes) { key in
            guard standing.subtracting(piece.cleared).contains(key.collection) else { return try rows.remove(key) }
            try rows.put(key, 0, waiting: Self.goes, RowCoding.Columns(fields: []))
        }
    }

    /// Makes it what `records` has. Where nothing stays of those, as after a first pull, the table takes their place, and
    /// each index is made at once from all rows instead of growing row by row.
    func move(clearing cleared: Set<String>, indexes: DeclaredIndexes) throws {
        guard standing.isSubset(of: cleared) else { return try merge(clearing: cleared) }
        try database.execute(sql: "DROP TABLE records; ALTER TABLE incoming RENAME TO records")
        try indexes.install(database)
    }

    private func merge(clearing cleared: Set<String>) throws {
        for collection in cleared {
            try database.execute(sql: "DELETE FROM records WHERE collection = ?", arguments: [collection])
        }
        try database.execute(
            sql: """
                DELETE FROM records
                WHERE (collection, id) IN (SELECT collection, id FROM incoming WHERE waiting = \(Self.goes));
                INSERT OR REPLACE INTO records SELECT * FROM incoming WHERE waiting <> \(Self.goes);
                DROP TABLE incoming
                """)
    }
}

extension ReplicaDatabase {
    /// Puts a piece of a pull apart from the rows. Lost with the power, or with the process: the pull begins again then,
    /// and what is staged is dropped when its first piece is.
    public func stage(_ piece: StagedPiece) throws {
        if let failure = takeFailure() { throw failure }
        try pool.writeWithoutTransaction { database in
            // No wait for the disk. The commit of the whole pull waits, and with its own frames of the log for these
            // before it; the file is never damaged (https://sqlite.org/pragma.html#pragma_synchronous).
            try durability.relax(database)
            defer { durability.restore(database) }
            try database.inTransaction(.immediate) {
                try PullStaging(database, coding).add(piece)
                return .commit
            }
        }
    }

    /// The record as the pull under way brought it; nil inside: its removal.
    public func staged(_ key: RecordKey) -> RecordCopy?? {
        reading(nil) { database in
            guard let row = try Self.stagedRow(key, database) else { return nil }
            return try copy(row, key)
        }
    }

    /// The revision that the pull under way brought; nil inside: the record's removal.
    public func stagedRevision(_ key: RecordKey) -> Int64?? {
        reading(nil) { database in
            guard let row = try Self.stagedRow(key, database) else { return nil }
            return .some(row["waiting"] == PullStaging.goes ? nil : row["rev"])
        }
    }

    /// The records of the collection that the pull under way brought.
    public func staged(of collection: String) -> [RecordKey: RecordCopy?] {
        reading([:]) { database in
            let rows = try Row.fetchCursor(
                database, sql: "SELECT id, rev, waiting, fields, sealed FROM incoming WHERE collection = ?",
                arguments: [collection])
            var found: [RecordKey: RecordCopy?] = [:]
            while let row = try rows.next() {
                let key = RecordKey(collection, row["id"])
                found[key] = .some(try copy(row, key))
            }
            return found
        }
    }

    private static func stagedRow(_ key: RecordKey, _ database: Database) throws -> Row? {
        let statement = try database.cachedStatement(
            sql: "SELECT rev, waiting, fields, sealed FROM incoming WHERE collection = ? AND id = ?")
        return try Row.fetchOne(statement, arguments: [key.collection, key.id])
    }

    private func copy(_ row: Row, _ key: RecordKey) throws -> RecordCopy? {
        guard row["waiting"] != PullStaging.goes else { return nil }
        let columns = RowCoding.Columns(row)
        return RecordCopy(id: key.id, rev: row["rev"], fields: try coding.fields(columns, of: key))
    }
}
