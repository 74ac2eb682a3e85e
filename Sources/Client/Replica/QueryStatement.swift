import Foundation
import GRDB
import ReplicaStorage
import SyncDevice

/// A query as SQL. Names of collections and fields stand in it as literals, because SQLite finds an index on an expression
/// only so; values are arguments.
struct QueryStatement {
    let sql: String
    let arguments: StatementArguments

    init(_ query: RecordQuery, selecting columns: String = "id, rev, waiting, fields, sealed") {
        var conditions = ["collection = \(query.collection.sqlText)"]
        var values: [any DatabaseValueConvertible] = []
        for condition in query.conditions { conditions.append(Self.sql(condition, &values)) }
        var sql = "SELECT \(columns) FROM records WHERE \(conditions.joined(separator: " AND "))"
        sql += " ORDER BY " + Self.order(query.order)
        if let limit = query.limit { sql += " LIMIT \(max(0, limit))" }
        self.sql = sql
        arguments = StatementArguments(values)
    }

    /// Ids go the way of the last field, so that an index on a field and the id gives both, forwards or backwards.
    private static func order(_ order: [RecordQuery.Order]) -> String {
        func term(_ sql: String, _ isDescending: Bool) -> String { sql + (isDescending ? " DESC" : "") }
        let terms = order.map { term(field($0.field), $0.isDescending) }
        return (terms + [term("id", order.last?.isDescending ?? false)]).joined(separator: ", ")
    }

    private static func field(_ name: String) -> String { "field(fields, \(name.sqlText))" }

    private static func sql(
        _ condition: RecordQuery.Condition, _ values: inout [any DatabaseValueConvertible]
    ) -> String {
        func compare(_ name: String, _ sign: String, _ value: WireValue) -> String {
            // Nothing compares with null, nor with a list.
            guard let value = value.comparable else { return "FALSE" }
            values.append(value)
            return "\(field(name)) \(sign) ?"
        }
        switch condition {
        case .id(let id):
            values.append(id)
            return "id = ?"
        case .equals(let name, let value): return compare(name, "=", value)
        case .differs(let name, let value): return compare(name, "<>", value)
        case .isLess(let name, let value): return compare(name, "<", value)
        case .isAtMost(let name, let value): return compare(name, "<=", value)
        case .isGreater(let name, let value): return compare(name, ">", value)
        case .isAtLeast(let name, let value): return compare(name, ">=", value)
        case .startsWith(let name, let text): return startsWith(field(name), text, &values)
        case .contains(let name, let text):
            values.append(text)
            return "instr(\(field(name)), ?) > 0"
        case .isNull(let name): return "\(field(name)) IS NULL"
        case .isWaiting: return "waiting"
        }
    }

    /// A range, which an index answers: from the text to the first that cannot start with it.
    private static func startsWith(
        _ field: String, _ text: String, _ values: inout [any DatabaseValueConvertible]
    ) -> String {
        values.append(text)
        // Above every text that starts so: U+10FFFF is the last scalar, and a text may hold several of it.
        values.append(text + "\u{10FFFF}\u{10FFFF}\u{10FFFF}\u{10FFFF}")
        return "\(field) >= ? AND \(field) <= ? AND typeof(\(field)) = 'text'"
    }
}
