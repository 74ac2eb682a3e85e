import AdapterKit
import GRDB
import GRDBSQLite
import SyncEngine

/// Runs a compiled relation.
struct RelationReader {
    let database: Database
    let catalogue: LayoutCatalogue

    func rows(
        _ relation: Relation, _ visible: VisibleRows, _ receive: (any RowValues) throws -> Void
    ) throws {
        let compiled = try RelationCompiler.statement(relation, catalogue, visible)
        try catalogue.longReads.check(compiled.fragment, on: database)
        let statement = try prepare(compiled.fragment.sql)
        guard sqlite3_stmt_readonly(statement.sqliteStatement) != 0 else {
            throw PorticoError(.serverInternal, "The store made a mistake.", logDetail: "a relation would write")
        }
        let execution = try Execution(statement, compiled.fragment.values)
        let row = StatementRow(reader: execution.row, kinds: compiled.kinds)
        while try step(execution, of: compiled.fragment) { try receive(row) }
    }

    /// A sum of integers that is none any more is the question's fault, not the store's.
    private func step(_ execution: borrowing Execution, of question: SQLFragment) throws -> Bool {
        do {
            return try execution.step()
        } catch let failure as SQLiteFailure where failure.primary == SQLITE_INTERRUPT {
            catalogue.longReads.note(question, on: database)
            throw failure
        } catch let failure as SQLiteFailure where failure.message == "integer overflow" {
            throw PorticoError(.requestInvalid, "A sum is larger than an integer can be.")
        }
    }

    /// SQLite has limits of its own for how deep a statement goes, which depend on how it was built.
    private func prepare(_ sql: String) throws -> Statement {
        do {
            guard catalogue.admission.admits(sql) else { return try database.makeStatement(sql: sql) }
            let kept = try database.cachedStatement(sql: sql)
            // Whoever receives rows may ask the same again before they are at an end.
            return sqlite3_stmt_busy(kept.sqliteStatement) == 0 ? kept : try database.makeStatement(sql: sql)
        } catch let error as DatabaseError where Self.isTooLarge(error) {
            throw PorticoError(
                .requestLimitExceeded, "The query is nested too deeply.", logDetail: error.message ?? "")
        }
    }

    private static func isTooLarge(_ error: DatabaseError) -> Bool {
        tooLarge.contains { error.message?.contains($0) ?? false }
    }

    private static let tooLarge = [
        "parser stack overflow", "Expression tree is too large", "tables in a join", "too many",
    ]
}

/// The current row of a relation's statement.
struct StatementRow: RowValues {
    let reader: RowReader
    let kinds: [RowKind?]

    var count: Int { kinds.count }

    subscript(column: Int) -> WireValue {
        get throws {
            let position = Int32(truncatingIfNeeded: column)
            guard let kind = kinds[column], !reader.isNull(position) else { return .null }
            return try reader.value(of: kind, position)
        }
    }

    func withText<Result>(_ column: Int, _ body: (UnsafeBufferPointer<UInt8>) throws -> Result) rethrows -> Result? {
        guard kinds[column] == .text else { return nil }
        return try reader.withText(Int32(truncatingIfNeeded: column), body)
    }
}

extension RowReader {
    /// A decimal is a text where it is a field's, otherwise what it is compared by; an integer beyond 64 bits becomes a
    /// double in SQLite's arithmetic.
    fileprivate func value(of kind: RowKind, _ column: Int32) throws -> WireValue {
        switch kind {
        case .tree: return try EncodedValue.decode(blob(column))
        case .decimal where sqlite3_column_type(handle, column) == SQLITE_BLOB:
            return ExactDecimal(key: blob(column)).map { .decimal($0.wire) } ?? .null
        case .integer where sqlite3_column_type(handle, column) == SQLITE_FLOAT: return .double(real(column))
        default: return kind.scalar?.value(self, column) ?? .null
        }
    }

    fileprivate func withText<Result>(
        _ column: Int32, _ body: (UnsafeBufferPointer<UInt8>) throws -> Result
    ) rethrows -> Result? {
        guard let start = sqlite3_column_text(handle, column) else { return nil }
        return try body(UnsafeBufferPointer(start: start, count: Int(sqlite3_column_bytes(handle, column))))
    }
}
