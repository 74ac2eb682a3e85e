import AdapterKit
import ODataLanguage
import ODataModel

// Aggregates over rows, and as values within expressions. OData Extension for Data Aggregation 4.0, sections 3.2.1 and 3.5.
extension ExpressionReader {
    /// Over the rows of a group, which `scope` is one of.
    func typedAggregate(_ aggregate: AggregateExpression, on scope: ExpressionScope) throws(QueryProblem)
        -> TypedExpression
    {
        var isCount = false
        if case .path(let path) = aggregate.value.form, case .count? = path.segments.last?.form {
            if path.segments.count == 1 { return TypedExpression(.aggregate(.count, nil, isDistinct: false), .int64) }
            isCount = aggregate.method == nil
        }
        let value = try read(aggregate.value, on: scope)
        if isCount { return TypedExpression(.aggregate(.sum, value.expression, isDistinct: false), .int64) }
        guard let method = aggregate.method else {
            throw QueryProblem("An aggregate needs a method, with `with`.", at: aggregate.range)
        }
        return try typedAggregate(method, value, aggregate.range)
    }

    func typedAggregate(_ method: WrittenName, _ value: TypedExpression, _ range: SourceRange) throws(QueryProblem)
        -> TypedExpression
    {
        let type = value.type ?? .decimal
        let kind = model.kind(of: type)
        func aggregate(_ aggregate: RowExpression.Aggregate, _ type: TypeReference) -> TypedExpression {
            TypedExpression(.aggregate(aggregate, value.expression, isDistinct: false), type)
        }
        let isNumber = [.number, .duration].contains(model.family(of: type))
        switch method.description {
        case "sum" where isNumber: return aggregate(.sum, kind == .integer ? .int64 : type)
        case "average" where isNumber: return aggregate(.average, kind == .integer ? .double : type)
        case "min" where kind != .tree: return aggregate(.minimum, type)
        case "max" where kind != .tree: return aggregate(.maximum, type)
        case "countdistinct":
            return TypedExpression(.aggregate(.count, value.expression, isDistinct: true), .int64)
        case "sum", "average", "min", "max":
            throw QueryProblem("Values of the type \(type) have no \(method).", at: range)
        default:
            // Methods of their own have a namespace.
            throw QueryProblem(
                "There is no aggregation method \(method).", at: range,
                kind: method.namespace == nil ? .invalid : .notSupported)
        }
    }

    /// `Sales/aggregate(Amount with sum)`: of what a path leads to.
    func aggregated(
        _ aggregate: AggregateExpression, among rows: LinkedRows, _ condition: RowExpression?,
        on scope: ExpressionScope
    ) throws(QueryProblem) -> TypedExpression {
        try checkPlain(aggregate)
        let value = try typedAggregate(aggregate, on: ExpressionScope(.entity(rows.entity), it: scope.it))
        return TypedExpression(.first(rows.relation(where: condition, columns: [value.expression])), value.type)
    }

    /// `$these/aggregate(Amount with average)`: of the collection that the expression is evaluated on, each owner's its own.
    func these(_ path: MemberPath, on scope: ExpressionScope) throws(QueryProblem) -> TypedExpression {
        guard let rows = scope.these, path.segments.count == 1,
            case .aggregate(let aggregate)? = path.segments.first?.form
        else { throw QueryProblem("Of $these only aggregates can be used here.", at: path.range, kind: .notSupported) }
        try checkPlain(aggregate)
        numbering.theseReads += 1
        var all = rows.again(self)
        let value = try typedAggregate(aggregate, on: all.scope)
        let own = zip(rows.owner, all.owner).map { RowExpression.same($0, $1) }
        if !own.isEmpty { all.condition = both(.all(own), all.condition) }
        all.belonging = nil
        return TypedExpression(.first(all.relation([value.expression])), value.type)
    }

    private func checkPlain(_ aggregate: AggregateExpression) throws(QueryProblem) {
        guard aggregate.from.isEmpty else {
            throw QueryProblem("`from` is not there within expressions.", at: aggregate.range, kind: .notSupported)
        }
    }
}

/// An aggregate with a relation of its own: the grouping values, then the aggregate of the group.
struct SeparateAggregate {
    let name: String
    let relation: Relation
    /// The number of grouping values.
    let keys: Int
    let type: TypeReference?
    /// A group for which there is no row has none of what is counted.
    let isCount: Bool

    func column(_ value: RowExpression) -> AppliedRows.Column {
        AppliedRows.Column(path: [name], typed: TypedExpression(isCount ? value.orZero : value, type))
    }
}

extension RowExpression {
    var orZero: RowExpression { .choose([.init(when: .isNull(self), then: .value(.int64(0)))], otherwise: self) }
}

/// Finds aggregates that cannot be computed with their group's rows: those of related entities, each of which counts
/// once, and those of earlier aggregates (`from`).
///
/// OData Extension for Data Aggregation 4.0, sections 3.2.1.1 and 3.2.1.5.
struct SeparateAggregates {
    let grouping: Grouping
    let keys: [MemberPath]

    private var reader: ExpressionReader { grouping.applier.reader }
    private var rows: AppliedRows { grouping.rows }

    func find(_ aggregate: AggregateExpression) throws(QueryProblem) -> SeparateAggregate? {
        if let last = aggregate.from.last { return try aggregated(aggregate, from: last) }
        guard case .path(let path) = aggregate.value.form, aggregate.method != nil || path.isCount,
            let walk = try walk(path), !walk.joins.isEmpty
        else { return nil }
        return try aggregated(aggregate, walk)
    }

    // MARK: `from`

    private func aggregated(
        _ aggregate: AggregateExpression, from last: AggregateFrom
    ) throws(QueryProblem) -> SeparateAggregate {
        guard let method = last.method else {
            throw QueryProblem("`from` needs a method, with `with`.", at: aggregate.range, kind: .notSupported)
        }
        let known = Set(keys.map(Grouping.names))
        let inner = AggregateExpression(
            aggregate.value, method: aggregate.method, from: aggregate.from.dropLast(), name: "#",
            range: aggregate.range)
        let groups = try grouping.grouped(
            keys + last.properties.filter { !known.contains(Grouping.names($0)) }, [inner])
        let outputs = groups.owner + groups.columns.prefix(keys.count).map(\.typed.expression)
        guard let value = groups.columns.last?.typed else {
            throw QueryProblem("There is nothing to aggregate.", at: aggregate.range)
        }
        return made(
            aggregate, groups, outputs, try reader.typedAggregate(method, value, aggregate.range), isCount: false)
    }

    // MARK: Paths

    private struct Walk {
        var entity: EntitySource
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
                guard reader.model.type(cast, isA: walk.entity.table.type.name) else { break }
                walk.entity.type = cast
                walk.condition = reader.both(walk.condition, reader.isOf(cast, walk.entity))
            } else if let navigation = reader.model.structured(walk.entity.type)?.navigation(name.name) {
                let linked = try reader.linked(navigation, from: walk.entity, path.range)
                walk.joins += linked.inner
                walk.entity = linked.entity
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
            return Walk(entity: reached, joins: rows.joins, rest: path.segments.dropFirst())
        }
        guard case .entities(let entity) = rows.content else { return nil }
        return Walk(entity: entity, rest: path.segments[...])
    }

    private func aggregated(_ aggregate: AggregateExpression, _ walk: Walk) throws(QueryProblem) -> SeparateAggregate? {
        let key = RowExpression.field(walk.entity.source, walk.entity.table.keyField)
        let isCount = aggregate.method == nil
        let value: TypedExpression
        if isCount, walk.rest.count == 1 {
            value = TypedExpression(.value(.int64(1)), .int64)
        } else {
            value = try reader.follow(
                walk.rest, from: .entity(walk.entity), aggregate.range, on: ExpressionScope(.entity(walk.entity)))
        }
        var reached = rows
        for join in walk.joins where !rows.joins.contains(join) { reached.joins.append(join) }
        reached.condition = reader.both(reader.both(rows.condition, walk.condition), .not(.isNull(key)))
        let groups = rows.owner + (try grouping.keys(keys).map(\.typed.expression))
        var distinct = reached.relation(groups + [key, value.expression])
        distinct.isDistinct = true
        let name = reader.numbering.next()
        let source = AppliedRows(source: .rows(distinct, as: name), content: .columns([]))
        let outputs = groups.indices.map { RowExpression.output(name, $0) }
        let output = TypedExpression(.output(name, groups.count + 1), value.type)
        let total = try aggregate.method.map { method throws(QueryProblem) in
            try reader.typedAggregate(method, output, aggregate.range)
        }
        let sum = TypedExpression(.aggregate(.sum, output.expression, isDistinct: false), .int64)
        return made(aggregate, source, outputs, total ?? sum, isCount: isCount)
    }

    private func made(
        _ aggregate: AggregateExpression, _ rows: AppliedRows, _ keys: [RowExpression], _ value: TypedExpression,
        isCount: Bool
    ) -> SeparateAggregate {
        let method = aggregate.from.last?.method ?? aggregate.method
        return SeparateAggregate(
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
