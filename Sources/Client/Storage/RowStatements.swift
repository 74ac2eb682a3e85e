import GRDB
import GRDBSQLite
import SyncDevice
import SyncMessages

/// What is done to every row of `records`, or of `incoming`, prepared once for a transaction.
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

    /// What the server has of them; `gone` is what to do with those that it does not have.
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
