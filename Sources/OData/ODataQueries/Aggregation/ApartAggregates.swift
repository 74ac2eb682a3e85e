import AdapterKit
import ODataLanguage
import ODataModel
import ODataRecords

/// An aggregate that has rows of its own: the values of the groups, and behind them its value for the group.
struct ApartAggregate {
    let name: String
    let relation: Relation
    /// How many values tell the group.
    let keys: Int
    let type: TypeReference?
    /// A group for which there is no row has none of what is counted.
    let isCount: Bool

    func column(_ value: RowExpression) -> AppliedRows.Column {
        AppliedRows.Column(path: [name], meaning: TypedExpression(isCount ? value.orZero : value, type))
    }
}

extension RowExpression {
    var orZero: RowExpression { .choose([.init(when: .isNull(self), then: .value(.int64(0)))], otherwise: self) }
}

/// Finds aggregates that cannot be computed along with their group's rows: of entities that a path leads to, each of
/// which counts once however often it is reached, and of what was aggregated before (`from`).
///
/// OData Extension for Data Aggregation 4.0, sections 3.2.1.1 and 3.2.1.5.
struct ApartAggregates {
    let grouping: Grouping
    let keys: [MemberPath]

    private var reader: ExpressionReader { grouping.applier.reader }
    private var rows: AppliedRows { grouping.rows }

    func find(_ aggregate: AggregateExpression) throws(QueryProblem) -> ApartAggregate? {
        if let last = aggregate.from.last { return try aggregated(aggregate, from: last) }
        guard case .path(let path) = aggregate.value.form, aggregate.method != nil || path.isCount,
            let walk = try walk(path), !walk.joins.isEmpty
        else { return nil }
        return try aggregated(aggregate, walk)
    }

    // MARK: `from`

    private func aggregated(
        _ aggregate: AggregateExpression, from last: AggregateFrom
    ) throws(QueryProblem) -> ApartAggregate {
        guard let method = last.method else {
            throw QueryProblem("`from` needs a method, with `with`.", at: aggregate.range, kind: .notSupported)
        }
        let known = Set(keys.map(Grouping.names))
        let inner = AggregateExpression(
            aggregate.value, method: aggregate.method, from: aggregate.from.dropLast(), name: "#",
            range: aggregate.range)
        let groups = try grouping.grouped(
            keys + last.properties.filter { !known.contains(Grouping.names($0)) }, [inner])
        let outputs = groups.owner + groups.columns.prefix(keys.count).map(\.meaning.expression)
        guard let value = groups.columns.last?.meaning else {
            throw QueryProblem("There is nothing to aggregate.", at: aggregate.range)
        }
        return made(aggregate, groups, outputs, try reader.meaning(of: method, value, aggregate.range), isCount: false)
    }

    // MARK: Paths

    private struct Walk {
        var place: EntityPlace
        var joins: [Join] = []
        var condition: RowExpression?
        var rest: ArraySlice<PathSegment>
    }

    /// Along the navigation properties that the path begins with. Nil where there are no entities to begin from.
    private func walk(_ path: MemberPath) throws(QueryProblem) -> Walk? {
        guard path.start == .current, var walk = start(of: path) else { return nil }
        while let name = walk.rest.first?.name {
            if name.namespace != nil {
                let cast = reader.resolved(name)
                guard reader.model.type(cast, isA: walk.place.table.type.name) else { break }
                walk.place.type = cast
                walk.condition = reader.both(walk.condition, reader.isOf(cast, walk.place))
            } else if let navigation = reader.model.structured(walk.place.type)?.navigation(name.name) {
                let linked = try reader.linked(navigation, from: walk.place, path.range)
                walk.joins += linked.inner
                walk.place = linked.place
            } else {
                break
            }
            walk.rest = walk.rest.dropFirst()
        }
        return walk
    }

    private func start(of path: MemberPath) -> Walk? {
        if let joined = rows.joined.first(where: { $0.name == path.segments.first?.name?.description }) {
            guard case .entity(let reached) = joined.content else { return nil }
            // Its rows are there already; what is missing is only that each counts once.
            return Walk(place: reached, joins: rows.joins, rest: path.segments.dropFirst())
        }
        guard case .entities(let place) = rows.content else { return nil }
        return Walk(place: place, rest: path.segments[...])
    }

    private func aggregated(_ aggregate: AggregateExpression, _ walk: Walk) throws(QueryProblem) -> ApartAggregate? {
        let key = RowExpression.field(walk.place.source, walk.place.table.keyField)
        let isCount = aggregate.method == nil
        let value: TypedExpression
        if isCount, walk.rest.count == 1 {
            value = TypedExpression(.value(.int64(1)), .int64)
        } else {
            value = try reader.follow(
                walk.rest, from: .entity(walk.place), aggregate.range, on: ExpressionScope(.entity(walk.place)))
        }
        var reached = rows
        for join in walk.joins where !rows.joins.contains(join) { reached.joins.append(join) }
        reached.condition = reader.both(reader.both(rows.condition, walk.condition), .not(.isNull(key)))
        let groups = rows.owner + (try grouping.keys(keys).map(\.meaning.expression))
        var distinct = reached.relation(groups + [key, value.expression])
        distinct.isDistinct = true
        let name = reader.numbering.next()
        let source = AppliedRows(source: .rows(distinct, as: name), content: .columns([]))
        let outputs = groups.indices.map { RowExpression.output(name, $0) }
        let output = TypedExpression(.output(name, groups.count + 1), value.type)
        let total = try aggregate.method.map { method throws(QueryProblem) in
            try reader.meaning(of: method, output, aggregate.range)
        }
        let sum = TypedExpression(.aggregate(.sum, output.expression, isDistinct: false), .int64)
        return made(aggregate, source, outputs, total ?? sum, isCount: isCount)
    }

    private func made(
        _ aggregate: AggregateExpression, _ rows: AppliedRows, _ keys: [RowExpression], _ value: TypedExpression,
        isCount: Bool
    ) -> ApartAggregate {
        let method = aggregate.from.last?.method ?? aggregate.method
        return ApartAggregate(
            name: aggregate.name ?? "",
            relation: rows.relation(keys + [value.expression], groups: keys.isEmpty ? nil : keys),
            keys: keys.count, type: value.type, isCount: isCount || method?.name == "countdistinct")
    }
}

extension MemberPath {
    fileprivate var isCount: Bool {
        if case .count? = segments.last?.form { true } else { false }
    }
}

extension LinkedRows {
    /// As further sources of a relation that has the rows that they belong to.
    var inner: [Join] { [Join(.inner, source, on: condition)] + joins }
}
