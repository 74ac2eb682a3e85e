import AdapterKit
import GRDB
import GRDBSQLite
import RecordStorage

/// Runs a compiled relation.
struct RelationReader {
    let database: Database
    let catalogue: LayoutCatalogue
    let control: any ReadControl

    func rows(
        _ relation: Relation, _ visible: VisibleRows, _ receive: (any RowValues) throws -> Void
    ) throws {
        try control.check()
        let compiled = try RelationCompiler.statement(relation, catalogue, visible)
        try catalogue.longReads.check(compiled.query, on: database)
        let statement = try prepare(compiled.fragment.sql)
        guard sqlite3_stmt_readonly(statement.sqliteStatement) != 0 else {
            throw PorticoError(.serverInternal, "The store made a mistake.", logDetail: "a relation would write")
        }
        let execution = try Execution(statement, compiled.fragment.values)
        let row = StatementRow(reader: execution.row, kinds: compiled.kinds)
        if let groups = compiled.groups {
            return try rows(of: groups, execution, compiled) { try receive(row) }
        }
        var count = 0
        while try step(execution, of: compiled) {
            count += 1
            if count.isMultiple(of: Self.rowsBetweenChecks) { try control.check() }
            try receive(row)
        }
    }

    private static let rowsBetweenChecks = 64

    private func rows(
        of groups: GroupSeek, _ execution: borrowing Execution, _ compiled: RelationCompiler.Compiled,
        _ receive: () throws -> Void
    ) throws {
        var left = groups.limit
        for key in groups.keys where left > 0 {
            try control.check()
            try execution.restart(groups.parameter, key)
            while left > 0, try step(execution, of: compiled) {
                try receive()
                left -= 1
            }
        }
    }

    /// A sum of integers that is none any more is the question's fault, not the store's.
    private func step(_ execution: borrowing Execution, of compiled: RelationCompiler.Compiled) throws -> Bool {
        do {
            return try execution.step()
        } catch let failure as SQLiteFailure where failure.primary == SQLITE_INTERRUPT {
            catalogue.longReads.note(compiled.query, on: database)
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
            // The caller that receives rows may ask the same again before they are at an end.
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

extension RelationCompiler.Compiled {
    /// The statement with all of its values.
    fileprivate var query: SQLFragment {
        groups.map { SQLFragment(fragment.sql, fragment.values + $0.keys) } ?? fragment
    }
}

/// The current row of a relation's statement. A class, because it is asked for each value through a protocol.
final class StatementRow: RowValues {
    let reader: RowReader
    private let kinds: [RowValueType?]
    /// Beside the kinds, because finding one by the other for each value costs more than reading it.
    private let scalars: [ScalarKind?]

    init(reader: RowReader, kinds: [RowValueType?]) {
        self.reader = reader
        self.kinds = kinds
        scalars = kinds.map { $0?.scalar }
    }

    var count: Int { kinds.count }

    subscript(column: Int) -> WireValue {
        get throws {
            let position = Int32(truncatingIfNeeded: column)
            guard let kind = kinds[column] else { return .null }
            return try reader.value(of: kind, scalars[column], position)
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
    fileprivate func value(of kind: RowValueType, _ scalar: ScalarKind?, _ column: Int32) throws -> WireValue {
        let stored = sqlite3_column_type(handle, column)
        switch kind {
        case _ where stored == SQLITE_NULL: return .null
        case .tree: return try EncodedValue.decode(blob(column))
        case .decimal where stored == SQLITE_BLOB:
            return ExactDecimal(key: blob(column)).map { .decimal($0.wire) } ?? .null
        case .integer where stored == SQLITE_FLOAT: return .double(real(column))
        default: return scalar?.value(self, column) ?? .null
        }
    }

    fileprivate func withText<Result>(
        _ column: Int32, _ body: (UnsafeBufferPointer<UInt8>) throws -> Result
    ) rethrows -> Result? {
        guard let start = sqlite3_column_text(handle, column) else { return nil }
        return try body(UnsafeBufferPointer(start: start, count: Int(sqlite3_column_bytes(handle, column))))
    }
}
