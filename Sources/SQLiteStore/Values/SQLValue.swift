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
