import GRDB
import GRDBSQLite
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

    /// Applies what a pull brought. Records that the outbox has to do with are to be shown anew afterwards, all of them.
    func apply(_ staged: StagedRows, checksums rows: ReplicaRows, indexes: DeclaredIndexes) throws {
        try uncover()
        if staged.isStaged {
            let staging = try PullStaging(database, coding)
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

/// Statements for every row of `records`, or of `incoming`, prepared once for a transaction.
///
/// Values are bound where they lie: as arguments of GRDB's each would be wrapped and copied, which took longer than
/// SQLite takes for the row.
struct RowStatements {
    private let insertion: Statement
    private let removal: Statement
    private let coding: RowCoding

    init(_ database: Database, of table: String, _ coding: RowCoding) throws {
        self.coding = coding
        insertion = try database.cachedStatement(sql: "INSERT OR REPLACE INTO \(table) VALUES (?, ?, ?, ?, ?, ?)")
        removal = try database.cachedStatement(sql: "DELETE FROM \(table) WHERE collection = ? AND id = ?")
    }

    func put(_ key: RecordKey, _ revision: Int64, waiting: Int, _ columns: RowCoding.Columns) throws {
        let statement = insertion.sqliteStatement
        try statement.run(key) {
            sqlite3_bind_int64(statement, 3, revision)
            sqlite3_bind_int64(statement, 4, Int64(waiting))
            return columns.fields.withUnsafeBytes { fields in
                statement.bind(fields, at: 5)
                guard let sealed = columns.sealed else {
                    sqlite3_bind_null(statement, 6)
                    return sqlite3_step(statement)
                }
                return sealed.withUnsafeBytes { sealed in
                    statement.bind(sealed, at: 6)
                    return sqlite3_step(statement)
                }
            }
        }
    }

    func remove(_ key: RecordKey) throws {
        let statement = removal.sqliteStatement
        try statement.run(key) { sqlite3_step(statement) }
    }

    /// Writes what the server has of them; `gone` is what to do with those that it does not have.
    func write(_ changes: RecordChanges, gone: (RecordKey) throws -> Void) throws {
        // In the order of the keys the tree grows at its end, which is twice as fast.
        let changes = changes.sorted
        for start in stride(from: 0, to: changes.count, by: EncodedRows.atOnce) {
            let part = changes[start..<min(start + EncodedRows.atOnce, changes.count)]
            for (change, columns) in zip(part, try EncodedRows(coding).columns(part)) {
                if let copy = change.copy, let columns {
                    try put(change.key, copy.rev, waiting: 0, columns)
                } else {
                    try gone(change.key)
                }
            }
        }
    }
}

extension SQLiteStatement {
    /// Runs the statement, whose first two values are the key; the others are bound, and it is stepped, by `body`. What was
    /// bound is let go of before its memory is.
    fileprivate func run(_ key: RecordKey, _ body: () -> CInt) throws {
        var (collection, id) = (key.collection, key.id)
        let code = collection.withUTF8 { collection in
            id.withUTF8 { id in
                bind(text: collection, at: 1)
                bind(text: id, at: 2)
                defer {
                    sqlite3_reset(self)
                    sqlite3_clear_bindings(self)
                }
                return body()
            }
        }
        guard code == SQLITE_DONE else {
            throw DatabaseError(
                resultCode: ResultCode(rawValue: code),
                message: String(cString: sqlite3_errmsg(sqlite3_db_handle(self)))
            )
        }
    }

    private func bind(text: UnsafeBufferPointer<UInt8>, at place: CInt) {
        guard let start = text.baseAddress else { return bindEmptyText(at: place) }
        start.withMemoryRebound(to: CChar.self, capacity: text.count) {
            _ = sqlite3_bind_text(self, place, $0, CInt(text.count), nil)
        }
    }

    /// Copied, because the literal is gone when this returns.
    private func bindEmptyText(at place: CInt) {
        sqlite3_bind_text(self, place, "", 0, unsafeBitCast(-1, to: sqlite3_destructor_type.self))
    }

    /// No bytes are a blob all the same, not null.
    fileprivate func bind(_ bytes: UnsafeRawBufferPointer, at place: CInt) {
        guard let start = bytes.baseAddress, !bytes.isEmpty else { return bindEmptyBlob(at: place) }
        sqlite3_bind_blob(self, place, start, CInt(bytes.count), nil)
    }

    private func bindEmptyBlob(at place: CInt) { sqlite3_bind_zeroblob(self, place, 0) }
}
