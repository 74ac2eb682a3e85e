import GRDB
import SyncDevice
import SyncMessages

/// What a pull that is not complete has brought: rows in a table of their own, `incoming`, which no reader asks. It counts
/// for the device that staged it alone: one that is made anew begins its pull again, and drops the table.
struct Staging {
    /// What `waiting` is of a record that is to go.
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
