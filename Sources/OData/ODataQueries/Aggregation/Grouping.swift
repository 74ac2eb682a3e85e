import AdapterKit
import ODataLanguage
import ODataModel
import ODataRecords

/// `aggregate` and `groupby`.
struct Grouping {
    let applier: Applier
    let rows: AppliedRows

    private var reader: ExpressionReader { applier.reader }

    /// One row for each combination of the properties' values; without any, one row.
    func grouped(
        _ properties: [MemberPath], _ aggregates: [AggregateExpression]
    ) throws(QueryProblem) -> AppliedRows {
        let keys = try keys(properties)
        let names = keys.map(\.path) + aggregates.compactMap { $0.name.map { [$0] } }
        guard Set(names).count == names.count else {
            throw QueryProblem("Two values of a group have one name.", at: aggregates.first?.range)
        }
        var (own, apart): ([AppliedRows.Column], [ApartAggregate]) = ([], [])
        for aggregate in aggregates {
            guard aggregate.name != nil else {
                throw QueryProblem("An aggregate needs a name, with `as`.", at: aggregate.range)
            }
            if let found = try ApartAggregates(grouping: self, keys: properties).find(aggregate) {
                apart.append(found)
            } else {
                own.append(
                    AppliedRows.Column(
                        path: [aggregate.name ?? ""], meaning: try reader.meaning(of: aggregate, on: rows.ground)))
            }
        }
        let groups = rows.owner + keys.map(\.meaning.expression)
        let needsGroups = !groups.isEmpty || own.isEmpty
        let grouped = applier.nested(made(keys + own), groups: needsGroups ? groups : nil)
        let whole = apart.isEmpty ? grouped : beside(grouped, apart, in: names)
        return properties.isEmpty
            ? ofEveryOwner(whole, counts: Set(aggregates.filter(\.isCount).compactMap(\.name))) : whole
    }

    /// An aggregate of nothing is a row too (section 3.2.1), so an owner that nothing is left of has one.
    private func ofEveryOwner(_ grouped: AppliedRows, counts: Set<String>) -> AppliedRows {
        guard let owners = grouped.belonging?.owners else { return grouped }
        let (owner, group, width) = (reader.numbering.next(), reader.numbering.next(), grouped.owner.count)
        let relation = grouped.relation(grouped.owner + grouped.columns.map(\.meaning.expression))
        let same = (0..<width).map { RowExpression.same(.output(owner, $0), .output(group, $0)) }
        let columns = grouped.columns.enumerated().map { position, column in
            let value = RowExpression.output(group, width + position)
            let isCount = counts.contains(column.path.joined(separator: "/"))
            return AppliedRows.Column(
                path: column.path, meaning: TypedExpression(isCount ? value.orZero : value, column.meaning.type))
        }
        var result = AppliedRows(
            source: .rows(owners, as: owner),
            joins: [Join(.left, .rows(relation, as: group), on: .all(same))], content: .columns(columns))
        result.belonging = grouped.belonging?.moved(to: owner)
        return result
    }

    func keys(_ properties: [MemberPath]) throws(QueryProblem) -> [AppliedRows.Column] {
        var columns: [AppliedRows.Column] = []
        for path in properties {
            let meaning = try reader.read(Expression(.path(path), path.range), on: rows.ground)
            columns.append(AppliedRows.Column(path: Self.names(path), meaning: meaning))
        }
        return columns
    }

    private func made(_ columns: [AppliedRows.Column]) -> AppliedRows {
        var made = rows
        made.content = .columns(columns)
        made.computed = []
        made.joined = []
        made.order = []
        made.nested = []
        return made
    }

    /// Each group with what was aggregated apart for the same group, in the order in which all was asked for.
    private func beside(_ grouped: AppliedRows, _ apart: [ApartAggregate], in order: [[String]]) -> AppliedRows {
        var result = grouped
        let keys = grouped.owner + grouped.columns.prefix(order.count).map(\.meaning.expression)
        var columns = grouped.columns
        for aggregate in apart {
            let name = reader.numbering.next()
            let same = (0..<aggregate.keys).map { RowExpression.same(keys[$0], .output(name, $0)) }
            result.joins.append(
                Join(.left, .rows(aggregate.relation, as: name), on: same.isEmpty ? .value(true) : .all(same)))
            columns.append(aggregate.column(.output(name, aggregate.keys)))
        }
        let places = Dictionary(order.enumerated().map { ($1, $0) }, uniquingKeysWith: { first, _ in first })
        result.content = .columns(columns.sorted { (places[$0.path] ?? 0) < (places[$1.path] ?? 0) })
        return result
    }

    static func names(_ path: MemberPath) -> [String] {
        path.segments.compactMap { $0.name }.filter { $0.namespace == nil }.map(\.name)
    }
}

extension AggregateExpression {
    /// Whether it is 0 where there is nothing.
    var isCount: Bool {
        let method = from.last?.method ?? method
        return method == nil || method?.name == "countdistinct"
    }
}
