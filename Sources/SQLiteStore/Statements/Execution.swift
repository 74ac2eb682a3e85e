import GRDB
import GRDBSQLite

/// A cached statement that runs once: bound at the start, reset at the end, whatever happens in between.
///
/// Below GRDB's rows, because decoding straight from the statement is several times faster than through them. One SQL
/// text must not run within itself on one connection.
struct Execution: ~Copyable {
    private let statement: Statement
    private let handle: OpaquePointer

    init(_ database: Database, _ fragment: SQLFragment) throws {
        try self.init(try database.cachedStatement(sql: fragment.sql), fragment.values)
    }

    init(_ statement: Statement, _ values: [SQLValue]) throws {
        // Whatever fails here leaves bindings behind, which the next run of the statement replaces.
        try Self.bind(values, to: statement.sqliteStatement)
        self.statement = statement
        handle = statement.sqliteStatement
        // SQLite counts a statement's steps over all its runs, and breaks off whichever run reaches a multiple of the
        // steps that are allowed to one, however short it is itself.
        sqlite3_stmt_status(handle, SQLITE_STMTSTATUS_VM_STEP, 1)
    }

    deinit {
        sqlite3_reset(handle)
        sqlite3_clear_bindings(handle)
    }

    /// Begins again with another value for one of the parameters, from 0. The steps go on counting: it is one question.
    func restart(_ parameter: Int, _ value: SQLValue) throws {
        sqlite3_reset(handle)
        // Cannot trap: a statement has at most 32,766 parameters.
        let code = Self.bind(value, to: handle, at: Int32(parameter + 1))
        guard code == SQLITE_OK else { throw SQLiteFailure(handle: handle, code: code) }
    }

    /// Whether there is a next row.
    func step() throws -> Bool {
        switch sqlite3_step(handle) {
        case SQLITE_ROW: return true
        case SQLITE_DONE: return false
        case let code: throw SQLiteFailure(handle: handle, code: code)
        }
    }

    /// The current row, until the next step.
    var row: RowReader { RowReader(handle: handle) }

    /// SQLite copies what it is given with this in place of a destructor.
    private static let transient = unsafeBitCast(-1, to: sqlite3_destructor_type.self)

    private static func bind(_ values: [SQLValue], to handle: OpaquePointer) throws {
        for (position, value) in values.enumerated() {
            // Cannot trap: a statement has at most 32,766 parameters.
            let code = bind(value, to: handle, at: Int32(position + 1))
            guard code == SQLITE_OK else { throw SQLiteFailure(handle: handle, code: code) }
        }
    }

    private static func bind(_ value: SQLValue, to handle: OpaquePointer, at position: Int32) -> Int32 {
        switch value {
        case .null: sqlite3_bind_null(handle, position)
        case .integer(let number): sqlite3_bind_int64(handle, position, number)
        case .real(let number): sqlite3_bind_double(handle, position, number)
        case .text(var text): text.withUTF8 { bind(text: $0, to: handle, at: position) }
        case .textBytes(let bytes): bytes.withUnsafeBufferPointer { bind(text: $0, to: handle, at: position) }
        case .blob(let bytes):
            bytes.isEmpty
                ? sqlite3_bind_zeroblob(handle, position, 0)
                : sqlite3_bind_blob64(handle, position, bytes, UInt64(bytes.count), transient)
        }
    }

    /// A null pointer would bind NULL, so an empty text gets one that is not.
    private static func bind(text: UnsafeBufferPointer<UInt8>, to handle: OpaquePointer, at position: Int32) -> Int32 {
        guard let start = text.baseAddress, !text.isEmpty else {
            return sqlite3_bind_text(handle, position, "", 0, transient)
        }
        return start.withMemoryRebound(to: CChar.self, capacity: text.count) {
            sqlite3_bind_text64(handle, position, $0, UInt64(text.count), transient, UInt8(SQLITE_UTF8))
        }
    }
}

extension Database {
    /// Runs a statement whose rows no caller wants.
    func run(_ sql: String, _ values: [SQLValue] = []) throws {
        let execution = try Execution(self, SQLFragment(sql, values))
        while try execution.step() {}
    }

    /// The same of a statement that the caller keeps.
    func run(_ statement: Statement, _ values: [SQLValue]) throws {
        let execution = try Execution(statement, values)
        while try execution.step() {}
    }

    /// What `read` makes of each row.
    func rows<Element>(
        _ fragment: SQLFragment, _ read: (RowReader) throws -> Element
    ) throws -> [Element] {
        let execution = try Execution(self, fragment)
        var elements: [Element] = []
        while try execution.step() { elements.append(try read(execution.row)) }
        return elements
    }

    func row<Element>(
        _ sql: String, _ values: [SQLValue] = [], _ read: (RowReader) throws -> Element
    ) throws -> Element? {
        let execution = try Execution(self, SQLFragment(sql, values))
        return try execution.step() ? try read(execution.row) : nil
    }

    /// Whether there is any row.
    func hasRow(_ fragment: SQLFragment) throws -> Bool {
        let execution = try Execution(self, fragment)
        return try execution.step()
    }
}

/// The columns of a statement's current row. Valid until the statement is stepped.
struct RowReader {
    let handle: OpaquePointer

    func isNull(_ column: Int32) -> Bool { sqlite3_column_type(handle, column) == SQLITE_NULL }
    func integer(_ column: Int32) -> Int64 { sqlite3_column_int64(handle, column) }
    func real(_ column: Int32) -> Double { sqlite3_column_double(handle, column) }

    func text(_ column: Int32) -> String {
        guard let start = sqlite3_column_text(handle, column) else { return "" }
        let count = Int(sqlite3_column_bytes(handle, column))
        return String(decoding: UnsafeBufferPointer(start: start, count: count), as: UTF8.self)
    }

    func blob(_ column: Int32) -> [UInt8] {
        guard let start = sqlite3_column_blob(handle, column) else { return [] }
        let count = Int(sqlite3_column_bytes(handle, column))
        return Array(UnsafeRawBufferPointer(start: start, count: count))
    }
}
