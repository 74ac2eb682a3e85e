import AdapterKit

/// What follows a statement's columns and sources.
struct ClauseCompiler {
    let relation: Relation
    let expressions: ExpressionCompiler

    func statement(columns: [SQLFragment], from: SQLFragment) throws(PorticoError) -> SQLFragment {
        guard let window = relation.window else {
            let head = relation.isDistinct ? "SELECT DISTINCT " : "SELECT "
            let rows = SQLFragment(head) + .list(columns) + from + (try restrictions())
            return rows + (try ordered()) + limited()
        }
        return try windowed(window, columns, from)
    }

    func restrictions() throws(PorticoError) -> SQLFragment {
        var rows: [SQLFragment] = []
        var groups: [SQLFragment] = []
        if let condition = relation.condition { rows.append(try expressions.condition(condition)) }
        if let condition = relation.groupCondition { groups.append(try expressions.condition(condition)) }
        if case .after(let values) = relation.start {
            let condition = try RowKeyset(order: relation.order, expressions: expressions).condition(after: values)
            if relation.groups == nil { rows.append(condition) } else { groups.append(condition) }
        }
        var result = SQLFragment()
        if !rows.isEmpty { result = result + .build(" WHERE $", [.balanced(rows, " AND ")]) }
        if let keys = relation.groups, !keys.isEmpty {
            result = result + .build(" GROUP BY $", [.list(try expressions.all(keys).map(\.fragment))])
        }
        if !groups.isEmpty { result = result + .build(" HAVING $", [.balanced(groups, " AND ")]) }
        return result
    }

    func ordered() throws(PorticoError) -> SQLFragment {
        relation.order.isEmpty
            ? SQLFragment() : .build(" ORDER BY $", [try Self.order(relation.order, expressions)])
    }

    static func order(_ order: [RowOrder], _ expressions: ExpressionCompiler) throws(PorticoError) -> SQLFragment {
        var criteria: [SQLFragment] = []
        for criterion in order {
            let value = try expressions.comparable(criterion.expression)
            criteria.append(criterion.isDescending ? .build("$ DESC", [value.fragment]) : value.fragment)
        }
        return .list(criteria)
    }

    func limited() -> SQLFragment {
        var offset: Int64?
        if case .offset(let rows) = relation.start, rows > 0 { offset = Int64(rows) }
        guard relation.limit != nil || offset != nil else { return SQLFragment() }
        var result = SQLFragment(" LIMIT ?", [.integer(Int64(relation.limit ?? -1))])
        if let offset { result.append(" OFFSET ?", [.integer(offset)]) }
        return result
    }
}
