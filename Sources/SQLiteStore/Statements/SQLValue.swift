import AdapterKit
import GRDBSQLite
import RecordStorage
import WireFormats

/// A value as SQLite stores and compares it. Values reach SQL in no other way than bound.
enum SQLValue: Sendable, Hashable {
    case null
    case integer(Int64)
    case real(Double)
    case text(String)
    /// A text given as bytes that need not be UTF-8: the end of an index range.
    case textBytes([UInt8])
    case blob([UInt8])
}

/// A piece of SQL and the values of its parameters, in order.
struct SQLFragment: Sendable, Hashable {
    var sql: String
    var values: [SQLValue]

    init(_ sql: String = "", _ values: [SQLValue] = []) {
        self.sql = sql
        self.values = values
    }

    mutating func append(_ text: String, _ more: [SQLValue] = []) {
        sql += text
        values += more
    }

    static func + (left: SQLFragment, right: SQLFragment) -> SQLFragment {
        SQLFragment(left.sql + right.sql, left.values + right.values)
    }
}

extension String {
    /// The name as an SQL identifier.
    var quotedIdentifier: String {
        "\"" + split(separator: "\"", omittingEmptySubsequences: false).joined(separator: "\"\"") + "\""
    }
}

extension ScalarKind {
    /// The type of the column that values are compared and ordered by.
    var sqlType: String {
        switch self {
        case .bool, .integer: "INTEGER"
        case .double: "REAL"
        case .text: "TEXT"
        case .data, .decimal, .date: "BLOB"
        }
    }

    /// The value as it is compared with that column; nil where it is of another kind. Numbers of either kind compare
    /// with integer and double columns: SQLite compares the two exactly.
    func comparable(_ value: WireValue) -> SQLValue? {
        switch (self, value) {
        case (.bool, .bool(let flag)): .integer(flag ? 1 : 0)
        case (.integer, _), (.double, _): number(value)
        case (.text, .string(let text)): .text(text)
        case (.date, .date(let instant)): .blob(InstantKey.bytes(of: instant))
        case (.data, .data(let bytes)): .blob(bytes)
        case (.decimal, _): value.decimalValue.map { .blob(DecimalSortKey.bytes(of: $0)) }
        default: nil
        }
    }

    private func number(_ value: WireValue) -> SQLValue? {
        if let number = value.int64Value { return .integer(number) }
        return value.doubleValue.flatMap { $0.isNaN ? nil : .real($0) }
    }

    /// The value of a column of this kind.
    func value(_ row: RowReader, _ column: Int32) -> WireValue {
        switch self {
        case .bool: .bool(row.integer(column) != 0)
        case .integer: .int64(row.integer(column))
        case .double: .double(row.real(column))
        case .text: .string(row.text(column))
        case .date: row.instant(column).map { .date($0) } ?? .null
        case .data: .data(row.blob(column))
        case .decimal: WireDecimal(row.text(column)).map { .decimal($0) } ?? .null
        }
    }
}

/// Values that are no single ones, in one BLOB column: CBOR, because of the wire formats it alone carries every case of
/// the value tree.
enum EncodedValue {
    static func encode(_ value: WireValue) throws -> [UInt8] {
        do {
            return try CBORFormat().write(value)
        } catch {
            throw PorticoError(.requestInvalid, "A value cannot be stored: \(error).")
        }
    }

    /// What is read was written here, so nothing but the file's damage makes it unreadable.
    static func decode(_ bytes: [UInt8]) throws -> WireValue {
        do {
            return try CBORFormat().read(bytes, limits: limits)
        } catch {
            throw PorticoError(.storeUnavailable, "A stored value cannot be read.", logDetail: "\(error)")
        }
    }

    private static let limits = ReadingLimits(depth: 1024, values: 1 << 24)
}

extension RowReader {
    /// The instant of a key.
    func instant(_ column: Int32) -> WireDate? {
        let start = sqlite3_column_blob(handle, column)
        return InstantKey.instant(
            UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(handle, column))))
    }
}
