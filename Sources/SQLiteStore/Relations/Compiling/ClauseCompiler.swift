import AdapterKit

/// What follows a statement's columns and sources.
struct ClauseCompiler {
    let relation: Relation
    let expressions: ExpressionCompiler
    /// What the relation is ordered by. Compiled once, because `ORDER BY` and ``Keyset`` both have it.
    let order: [CountedSQL]

    init(relation: Relation, expressions: ExpressionCompiler) throws(PorticoError) {
        self.relation = relation
        self.expressions = expressions
        var order: [CountedSQL] = []
        for criterion in relation.order {
            order.append(
                try expressions.counted { () throws(PorticoError) in try expressions.comparable(criterion.expression) })
        }
        self.order = order
    }

    func statement(columns: [SQLFragment], from: SQLFragment) throws(PorticoError) -> SQLFragment {
        guard let window = relation.window else {
            let head = relation.isDistinct ? "SELECT DISTINCT " : "SELECT "
            let rows = SQLFragment(head) + .list(columns) + from + (try restrictions())
            return rows + ordered() + limited()
        }
        return try windowed(window, columns, from)
    }

    func restrictions() throws(PorticoError) -> SQLFragment {
        var rows: [SQLFragment] = []
        var groups: [SQLFragment] = []
        if let condition = relation.condition { rows.append(try expressions.condition(condition)) }
        if let condition = relation.groupCondition { groups.append(try expressions.condition(condition)) }
        if case .after(let values) = relation.start {
            let condition = try keyset(after: values).condition
            if relation.groups == nil { rows.append(condition) } else { groups.append(condition) }
        }
        var result = SQLFragment()
        if !rows.isEmpty { result = result + .build(" WHERE $", [.balanced(rows, " AND ")]) }
        if let keys = relation.groups, !keys.isEmpty {
            result = result + .build(" GROUP BY $", [.list(try groupKeys(keys))])
        }
        if !groups.isEmpty { result = result + .build(" HAVING $", [.balanced(groups, " AND ")]) }
        return result
    }

    func keyset(after values: [WireValue]) throws(PorticoError) -> Keyset {
        guard values.count == order.count, !order.isEmpty else { throw PageForm.foreignCursor }
        var criteria: [KeysetCriterion] = []
        for (position, value) in values.enumerated() {
            let (criterion, compiled) = (relation.order[position], order[position])
            guard let bound = TypedSQL.literal(value, for: compiled.typed.kind)?.fragment.values.first else {
                throw PageForm.foreignCursor
            }
            criteria.append(
                KeysetCriterion(
                    expression: compiled.typed.fragment, value: bound, isDescending: criterion.isDescending,
                    isNeverNull: expressions.isNeverNull(criterion.expression)))
            try expressions.budget.charge(compiled, times: order.count - position + Keyset.ownUses)
        }
        return Keyset(criteria: criteria)
    }

    /// Rows of a group from which on they are found faster without the index that has them side by side.
    private static let rowsOfLargeGroup = 32.0

    /// SQLite goes through groups by an index that begins with their key, and looks each row up in the table: with many
    /// rows for each key, that reads every page of the table again and again. Reading the table through and sorting is
    /// faster, unless the index itself has all that is asked for. A unary plus keeps SQLite from the index
    /// (https://www.sqlite.org/optoverview.html, section 2).
    private func groupKeys(_ keys: [RowExpression]) throws(PorticoError) -> [SQLFragment] {
        let fragments = try expressions.all(keys).map(\.fragment)
        guard case .records(_, let name) = relation.source, relation.joins.isEmpty,
            case .field(name, let field)? = keys.first,
            let layout = try? expressions.relations.scope.layout(name), layout.isIndexed(field),
            layout.estimates.rows(equal: [field: 1], compared: [:], in: layout) >= Self.rowsOfLargeGroup
        else { return fragments }
        let read = relation.references.fields[name] ?? []
        let isCovered = layout.entity.indexes.contains { index in
            index.fields.first == field && read.isSubset(of: Set(index.fields + [layout.entity.key.field]))
        }
        return isCovered ? fragments : fragments.map { .build("+$", [$0]) }
    }

    func ordered() -> SQLFragment {
        if order.isEmpty { return SQLFragment() }
        return .build(" ORDER BY $", [Self.order(zip(relation.order, order.map(\.typed)))])
    }

    static func order(_ order: some Sequence<(RowOrder, TypedSQL)>) -> SQLFragment {
        .list(order.map { $0.isDescending ? .build("$ DESC", [$1.fragment]) : $1.fragment })
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

// At most so many rows of each group.
extension ClauseCompiler {
    /// Rows are numbered within their groups, then those numbers are asked for: groups one after the other, each in order.
    func windowed(
        _ window: RowWindow, _ columns: [SQLFragment], _ from: SQLFragment
    ) throws(PorticoError) -> SQLFragment {
        var groups: [SQLFragment] = []
        for group in window.groups {
            let compiled = try expressions.counted { () throws(PorticoError) in try expressions.value(group) }
            // What the rows are numbered by is among their columns too.
            try expressions.budget.charge(compiled, times: 1)
            groups.append(compiled.typed.fragment)
        }
        let partition = groups.isEmpty ? SQLFragment() : SQLFragment.build("PARTITION BY $", [.list(groups)])
        let number = SQLFragment.build("row_number() OVER ($$) AS n", [partition, ordered()])
        let named = groups.enumerated().map { SQLFragment.build("$ AS g\($0)", [$1]) }
        let inner = SQLFragment("SELECT ") + .list(columns + named + [number]) + from + (try restrictions())
        var condition = SQLFragment("n > ?", [.integer(Int64(window.skip))])
        if let limit = window.limit { condition.append(" AND n <= ?", [.integer(Int64(window.skip + limit))]) }
        let outputs = columns.indices.map { "c\($0)" }.joined(separator: ", ")
        let order = (named.indices.map { "g\($0)" } + ["n"]).joined(separator: ", ")
        return .build("SELECT \(outputs) FROM ($) WHERE $ ORDER BY \(order)", [inner, condition]) + limited()
    }

    /// The same where the groups are named and an index leads to them: a statement for one group, which is run for each,
    /// so that the others are not read. Nil where that cannot be.
    ///
    /// Numbering reads all rows of all groups: of 20 schools with 125 students each it takes ten times as long to find five
    /// of each.
    func sought(
        _ window: RowWindow, _ columns: [SQLFragment], _ from: SQLFragment
    ) throws(PorticoError) -> GroupSeek? {
        guard let limit = window.limit, isPlain, case .records(_, let source) = relation.source,
            window.groups.count == 1, case .field(source, let field) = window.groups[0],
            let (values, rest) = namedGroups(window.groups[0]),
            try expressions.relations.scope.layout(source).isIndexed(field),
            let keys = try expressions.keys(values, for: window.groups[0])
        else { return nil }
        var conditions = [SQLFragment.build("$ = ?", [try expressions.value(window.groups[0]).fragment])]
        let before = SQLFragment("SELECT ") + .list(columns) + from
        conditions[0].values.append(.null)
        for condition in rest { conditions.append(try expressions.condition(condition)) }
        let statement =
            before
            + .build(" WHERE $$ LIMIT ? OFFSET ?", [.balanced(conditions, " AND "), ordered()])
            + SQLFragment("", [.integer(Int64(limit)), .integer(Int64(window.skip))])
        return GroupSeek(
            statement: statement, keys: keys, parameter: before.values.count, limit: relation.limit ?? .max)
    }

    /// Whether there is nothing but a condition, an order and a limit.
    private var isPlain: Bool {
        relation.joins.isEmpty && relation.groups == nil && relation.groupCondition == nil && !relation.isDistinct
            && relation.start == .first
    }

    /// The values that `group` has one of, and what else is asked for.
    private func namedGroups(_ group: RowExpression) -> ([WireValue], [RowExpression])? {
        switch relation.condition {
        case .oneOf(group, let values): return (values, [])
        case .all(let parts):
            guard case .oneOf(group, let values)? = parts.first else { return nil }
            return (values, Array(parts.dropFirst()))
        default: return nil
        }
    }
}

/// The groups of a window that are sought one after the other.
struct GroupSeek {
    /// Finds the rows of one of them.
    let statement: SQLFragment
    /// What they are named by, each once and in order.
    let keys: [SQLValue]
    /// Which of the statement's values is the group's, from 0.
    let parameter: Int
    /// Rows of all of them together at most.
    let limit: Int
}

extension CollectionLayout {
    /// Whether an index, or the table itself, leads to the records that have a value in the field.
    func isIndexed(_ field: FieldName) -> Bool {
        field == entity.key.field || entity.indexes.contains { $0.fields.first == field }
    }
}
