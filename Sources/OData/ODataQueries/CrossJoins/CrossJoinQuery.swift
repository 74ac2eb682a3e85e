import AdapterKit
import ODataLanguage
import ODataModel
import ODataRecords

/// `$crossjoin(Products,Categories)`: every combination of the sets' entities (URL Conventions 4.01, section 4.15).
public struct CrossJoinQuery: Sendable {
    public var sources: [String]
    public var options: [QueryOption]
    /// The most rows that a page has; `$top` may ask for fewer.
    public var pageSize: Int
    /// What `now()` is.
    public var now: WireDate

    public init(_ sources: [String], options: [QueryOption], pageSize: Int, now: WireDate) {
        self.sources = sources
        self.options = options
        self.pageSize = pageSize
        self.now = now
    }

    /// Checks the query, which has no `$apply` (``applied(in:limits:)``), against the model and says how it is answered.
    public func plan(in tables: ServiceTables, limits: QueryLimits = .standard) throws(QueryProblem) -> CrossJoinPlan {
        let options = try CollectedOptions(self.options, limits: limits)
        guard options.select == nil, options.compute.isEmpty, options.apply == nil, options.search == nil else {
            throw QueryProblem(
                "A cross join without $apply takes $filter, $orderby, $expand and paging.", kind: .notSupported)
        }
        let builder = try CrossJoinBuilder(self, options, tables, limits)
        return try builder.plan(pageSize: pageSize)
    }
}

private struct CrossJoinBuilder {
    private let reader: ExpressionReader
    private let options: CollectedOptions
    private let places: [EntityPlace]
    private let parts: [CrossJoinPart]
    private let ground: ExpressionScope
    private let limits: QueryLimits

    init(
        _ query: CrossJoinQuery, _ options: CollectedOptions, _ tables: ServiceTables, _ limits: QueryLimits
    ) throws(QueryProblem) {
        self.options = options
        self.limits = limits
        reader = ExpressionReader(
            tables: tables, numbering: SourceNumbering(), aliases: options.aliases, now: query.now)
        var ground = ExpressionScope(.outputs([:]))
        var places: [EntityPlace] = []
        var parts: [CrossJoinPart] = []
        let expanded = try Self.expanded(options.expand, query.sources)
        for source in query.sources {
            guard let table = tables[source], !table.isSingleton else {
                throw QueryProblem("There is no entity set \(source).")
            }
            guard ground.variables[source] == nil else { throw QueryProblem("\(source) is joined twice.") }
            let place = EntityPlace(source: reader.numbering.next(), table: table, type: table.type.name)
            var own = try CollectedOptions(expanded[source] ?? [], limits: limits)
            if expanded[source] == nil { own.select = [] }
            var builder = try LevelBuilder(reader, own, place, limits: limits, depth: 1)
            let level = try builder.level(.records(table.entity, as: place.source), where: nil)
            let (column, expansion) = (parts.last?.columns.upperBound ?? 0, parts.last?.expanded.upperBound ?? 0)
            parts.append(
                CrossJoinPart(
                    source: source, isExpanded: expanded[source] != nil, level: level,
                    columns: column..<(column + level.relation.columns.count),
                    expanded: expansion..<(expansion + level.expansions.count)))
            places.append(place)
            ground.variables[source] = .entity(place)
        }
        (self.ground, self.places, self.parts) = (ground, places, parts)
    }

    private static func expanded(
        _ items: [ExpandItem], _ sources: [String]
    ) throws(QueryProblem) -> [String: [QueryOption]] {
        var expanded: [String: [QueryOption]] = [:]
        for item in items {
            if item.path.segments.count == 1, case .star? = item.path.segments.first?.form {
                for source in sources { expanded[source] = [] }
                continue
            }
            guard item.path.segments.count == 1, let name = item.path.segments.first?.name?.name,
                sources.contains(name)
            else { throw QueryProblem("A cross join expands its own sets.", at: item.path.range) }
            for option in item.options {
                switch option.form {
                case .select, .expand, .compute: continue
                default: throw QueryProblem("This option has no meaning here.", at: option.range)
                }
            }
            expanded[name] = item.options
        }
        return expanded
    }

    func plan(pageSize: Int) throws(QueryProblem) -> CrossJoinPlan {
        var relation = try joined()
        var order: [RowOrder] = []
        for item in options.order {
            let meaning = try reader.read(item.expression, on: ground)
            if let type = meaning.type, reader.model.kind(of: type) == .tree {
                throw QueryProblem("Values of the type \(type) have no order.", at: item.expression.range)
            }
            order.append(RowOrder(meaning.expression, descending: item.descending))
        }
        relation.order = order + places.map { RowOrder(.field($0.source, $0.table.keyField)) }
        var count: Relation?
        if options.count {
            count = Relation(
                relation.source, joins: relation.joins, where: relation.condition,
                columns: [.aggregate(.count, nil, isDistinct: false)])
        }
        relation.columns = parts.flatMap(\.level.relation.columns) + relation.order.map(\.expression)
        var remaining = options.top
        if let token = options.skipToken {
            guard let read = PageToken(token.text), read.values.count == relation.order.count else {
                throw QueryProblem("The $skiptoken belongs to another query.", at: token.range)
            }
            relation.start = .after(read.values)
            remaining = read.remaining
        } else if options.skip > 0 {
            relation.start = .offset(options.skip)
        }
        return CrossJoinPlan(
            parts: parts, relation: relation, count: count, limits: limits,
            pageLimit: min(pageSize, remaining ?? pageSize), remaining: remaining)
    }

    private func joined() throws(QueryProblem) -> Relation {
        guard let first = places.first else { throw QueryProblem("A cross join is of entity sets.") }
        let joins = places.dropFirst().map { place in
            Join(.inner, .records(place.table.entity, as: place.source), on: .value(true))
        }
        var condition: RowExpression?
        if let filter = options.filter { condition = try reader.condition(filter, on: ground) }
        return Relation(
            .records(first.table.entity, as: first.source), joins: Array(joins), where: condition, columns: [])
    }
}
