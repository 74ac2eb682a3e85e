import GRDB
import SyncDevice
import SyncMessages

/// Writes rows within a transaction.
struct RowWriting {
    private let database: Database
    private let coding: RowCoding
    private let statements: RowStatements

    init(_ database: Database, _ coding: RowCoding) throws {
        self.database = database
        self.coding = coding
        statements = try RowStatements(database, of: "records", coding)
    }

    /// What a pull brought. Records that the outbox has to do with are to be shown anew afterwards, all of them.
    func apply(_ staged: StagedRows, checksums rows: ReplicaRows, indexes: DeclaredIndexes) throws {
        try uncover()
        if staged.isStaged {
            let staging = try Staging(database, coding)
            try staging.add(staged.piece)
            try staging.move(clearing: staged.cleared, indexes: indexes)
        } else {
            for collection in staged.cleared { try run("DELETE FROM records WHERE collection = ?", [collection]) }
            try statements.write(staged.changes) { try statements.remove($0) }
        }
        for collection in staged.collections {
            let checksum = rows.checksum(of: collection)
            try run(
                "INSERT OR REPLACE INTO scopes VALUES (?, ?, ?)",
                [collection, checksum.count, Int64(bitPattern: checksum.sum)])
        }
    }

    /// `records` has what the server has, and nothing else.
    private func uncover() throws {
        try database.execute(
            sql: """
                DELETE FROM records WHERE (collection, id) IN (SELECT collection, id FROM beneath);
                INSERT INTO records SELECT collection, id, rev, 0, fields, sealed FROM beneath WHERE rev IS NOT NULL;
                DELETE FROM beneath
                """)
    }

    func show(_ shown: ShownRecord) throws {
        let (key, arguments) = (shown.key, StatementArguments([shown.key.collection, shown.key.id]))
        guard shown.isLaidOver else { return try uncover(key, arguments) }
        try cover(arguments)
        guard let record = shown.record else { return try statements.remove(key) }
        let columns = try coding.columns(record.content, of: key)
        try statements.put(key, record.rev, waiting: shown.isWaiting ? 1 : 0, columns)
    }

    /// Keeps what the server has, unless that was done before.
    private func cover(_ key: StatementArguments) throws {
        try run(
            """
            INSERT OR IGNORE INTO beneath
            SELECT collection, id, rev, fields, sealed FROM records WHERE collection = ? AND id = ?
            """, key)
        // Where there was no record, there is none beneath either.
        try run("INSERT OR IGNORE INTO beneath (collection, id) VALUES (?, ?)", key)
    }

    private func uncover(_ key: RecordKey, _ arguments: StatementArguments) throws {
        let isCovered = try Bool.fetchOne(
            database, sql: "SELECT EXISTS (SELECT * FROM beneath WHERE collection = ? AND id = ?)", arguments: arguments
        )
        guard isCovered == true else { return }
        try statements.remove(key)
        try run(
            """
            INSERT INTO records SELECT collection, id, rev, 0, fields, sealed FROM beneath
            WHERE collection = ? AND id = ? AND rev IS NOT NULL
            """, arguments)
        try run("DELETE FROM beneath WHERE collection = ? AND id = ?", arguments)
    }

    private func run(_ sql: String, _ arguments: StatementArguments) throws {
        try database.cachedStatement(sql: sql).execute(arguments: arguments)
    }
}
