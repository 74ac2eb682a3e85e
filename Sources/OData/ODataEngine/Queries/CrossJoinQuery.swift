import AdapterKit
import ODataLanguage
import ODataModel

/// `$crossjoin(Products,Categories)`: every combination of the sets' entities (URL Conventions 4.01, section 4.15).
public struct CrossJoinQuery: Sendable {
    public var sources: [String]
    public var options: [QueryOption]
    /// The most rows that a page has; `$top` may ask for fewer.
    public var pageSize: Int
    /// The value of `now()`.
    public var now: WireDate

    public init(_ sources: [String], options: [QueryOption], pageSize: Int, now: WireDate) {
        self.sources = sources
        self.options = options
        self.pageSize = pageSize
        self.now = now
    }

    /// Checks the query, which has no `$apply` (``applied(in:limits:)``), against the model and plans it.
    public func plan(in tables: ServiceTables, limits: QueryLimits = .standard) throws(QueryProblem) -> CrossJoinPlan {
        let options = try LevelOptions(self.options, limits: limits)
        guard options.select == nil, options.compute.isEmpty, options.apply == nil, options.search == nil else {
            throw QueryProblem(
                "A cross join without $apply takes $filter, $orderby, $expand and paging.", kind: .notSupported)
        }
        let builder = try CrossJoinBuilder(self, options, tables, limits)
        try checkRestrictions(options, builder.reader)
        return try builder.plan(pageSize: pageSize)
    }
}

private struct CrossJoinBuilder {
    let reader: ExpressionReader
    private let options: LevelOptions
    private let entities: [EntitySource]
    private let parts: [CrossJoinPart]
    private let scope: ExpressionScope
    private let limits: QueryLimits

    init(
        _ query: CrossJoinQuery, _ options: LevelOptions, _ tables: ServiceTables, _ limits: QueryLimits
    ) throws(QueryProblem) {
        self.options = options
        self.limits = limits
        reader = ExpressionReader(
            tables: tables, numbering: SourceNumbering(), aliases: options.aliases, now: query.now)
        var scope = ExpressionScope(.outputs([:]))
        var entities: [EntitySource] = []
        var parts: [CrossJoinPart] = []
        let expanded = try Self.expanded(options.expand, query.sources)
        for source in query.sources {
            guard let table = tables[source], !table.isSingleton else {
                throw QueryProblem("There is no entity set \(source).")
            }
            guard scope.variables[source] == nil else { throw QueryProblem("\(source) is joined twice.") }
            let entity = EntitySource(source: reader.numbering.next(), table: table, type: table.type.name)
            var own = try LevelOptions(expanded[source] ?? [], limits: limits)
            if expanded[source] == nil { own.select = [] }
            var builder = try LevelBuilder(reader, own, entity, limits: limits, depth: 1)
            let level = try builder.level(.records(table.entity, as: entity.source), where: nil)
            let (column, expansion) = (parts.last?.columns.upperBound ?? 0, parts.last?.expanded.upperBound ?? 0)
            parts.append(
                CrossJoinPart(
                    source: source, isExpanded: expanded[source] != nil, level: level,
                    columns: column..<(column + level.relation.columns.count),
                    expanded: expansion..<(expansion + level.expansions.count)))
            entities.append(entity)
            scope.variables[source] = .entity(entity)
        }
        (self.scope, self.entities, self.parts) = (scope, entities, parts)
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
        let order = try reader.order(options.order, on: scope)
        relation.order = order + entities.map { RowOrder(.field($0.source, $0.table.keyField)) }
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
        guard let first = entities.first else { throw QueryProblem("A cross join is of entity sets.") }
        let joins = entities.dropFirst().map { entity in
            Join(.inner, .records(entity.table.entity, as: entity.source), on: .value(true))
        }
        var condition: RowExpression?
        if let filter = options.filter { condition = try reader.condition(filter, on: scope) }
        return Relation(
            .records(first.table.entity, as: first.source), joins: Array(joins), where: condition, columns: [])
    }
}

// `$apply` of a cross join: each row has one entity of every set, under the set's name (OData Extension for Data Aggregation
// 4.0, section 4).
extension CrossJoinQuery {
    public var isApplied: Bool {
        options.contains { if case .apply = $0.form { true } else { false } }
    }

    /// The rows that the transformations make. Throws where the query does not fit the model.
    public func applied(in tables: ServiceTables, limits: QueryLimits = .standard) throws(QueryProblem) -> QueryPlan {
        let options = try LevelOptions(self.options, limits: limits)
        guard options.search == nil else {
            throw QueryProblem("A cross join is not searched.", kind: .notSupported)
        }
        let reader = ExpressionReader(
            tables: tables, numbering: SourceNumbering(), aliases: options.aliases, now: now)
        try checkRestrictions(options, reader)
        let applier = ApplyPlanner(
            reader: reader, limits: limits, depth: 0, set: "Collection(Edm.ComplexType)", sources: [:])
        let applied = AppliedLevel(applier: applier, options: options)
        let level = try applied.level(try applied.rows(options.apply ?? [], of: try rows(tables, reader)))
        let prepared = PreparedQuery(
            level: level, limits: limits, top: options.top, skip: options.skip,
            readsClock: reader.numbering.readsClock)
        let query = EntityQuery(sources.first ?? "", options: self.options, pageSize: pageSize, now: now)
        return try prepared.page(of: pageSize, of: query)
    }

    /// Each set's own, of paths that begin with its name.
    private func checkRestrictions(_ options: LevelOptions, _ reader: ExpressionReader) throws(QueryProblem) {
        for source in sources {
            var restrictions = RestrictionCheck(of: source, reader, inCrossJoin: true)
            if let apply = options.apply {
                try restrictions.check(applying: apply, options)
                try restrictions.requireFilter(apply)
            } else {
                try restrictions.check(options)
                try restrictions.requireFilter(options)
            }
        }
    }

    private func rows(_ tables: ServiceTables, _ reader: ExpressionReader) throws(QueryProblem) -> AppliedRows {
        var rows: AppliedRows?
        for source in sources {
            guard let table = tables[source], !table.isSingleton else {
                throw QueryProblem("There is no entity set \(source).")
            }
            guard rows?.joined.contains(where: { $0.name == source }) != true else {
                throw QueryProblem("\(source) is joined twice.")
            }
            let entity = EntitySource(source: reader.numbering.next(), table: table, type: table.type.name)
            let records = RelationSource.records(table.entity, as: entity.source)
            let joined = JoinedRows(
                name: source, content: .entity(entity), presence: .field(entity.source, table.keyField))
            if rows == nil {
                rows = AppliedRows(source: records, content: .columns([]))
            } else {
                rows?.joins.append(Join(.inner, records, on: .value(true)))
            }
            rows?.joined.append(joined)
        }
        guard let rows else { throw QueryProblem("A cross join is of entity sets.") }
        return rows
    }
}

/// A checked cross join, ready to be executed.
public struct CrossJoinPlan: Sendable {
    public let parts: [CrossJoinPart]
    /// Its columns are the parts' ones, then what the order compares.
    let relation: Relation
    let count: Relation?
    let limits: QueryLimits
    let pageLimit: Int
    /// Rows that `$top` allows from this page on; nil: all.
    let remaining: Int?

    /// With `$count=true`: how many rows there are in all.
    public func total(at snapshot: any RecordSnapshot) throws -> Int? {
        guard let count else { return nil }
        var number = 0
        try snapshot.rows(count) { number = Int(try $0[0].int64Value ?? 0) }
        return number
    }

    /// Gives the page's rows in their order, some at a time, with what was expanded of them (``CrossJoinPart/row(of:)``): no
    /// more than those are in memory. Returns the `$skiptoken` of the next page; nil on the last. Throws ``PorticoError``.
    public func rows(at snapshot: any RecordSnapshot, _ receive: ([ResultRow]) throws -> Void) throws -> String? {
        guard pageLimit > 0 else { return nil }
        let expansions = parts.flatMap { part in part.level.expansions.map { $0.shifted(by: part.columns.lowerBound) } }
        var run = RowBatchReader(ExpansionReader(snapshot: snapshot, limits: limits), expansions)
        return try run.read(relation, upTo: pageLimit, at: snapshot, receive) ? try next(after: run) : nil
    }

    private func next(after run: RowBatchReader) throws -> String? {
        let left = remaining.map { $0 - run.count }
        guard left != 0, let last = run.last else { return nil }
        let values = Array(last.values.suffix(relation.order.count))
        guard let text = PageToken(values: values, remaining: left).text else {
            throw PorticoError(.serverInternal, "The end of a page cannot be determined.")
        }
        return text
    }
}

/// The entities that one set contributes to each row.
public struct CrossJoinPart: Sendable {
    public let source: String
    /// Whether the entities are written; otherwise a link to them.
    public let isExpanded: Bool
    let level: LevelPlan
    /// Where its values are in a row of the join, and what was expanded of it.
    let columns: Range<Int>
    let expanded: Range<Int>

    public var shape: ResultShape { level.shape }

    /// Its entity in a row of the join.
    public func row(of joined: ResultRow) -> ResultRow {
        ResultRow(values: Array(joined.values[columns]), expanded: Array(joined.expanded[expanded]))
    }
}

extension ExpansionPlan {
    /// Where the rows that are expanded stand behind other columns.
    fileprivate func shifted(by columns: Int) -> ExpansionPlan {
        ExpansionPlan(
            property: property, relation: relation, owner: owner, isCollection: isCollection, content: content,
            level: level, near: near.map { $0 + columns }, far: far, made: made)
    }
}

extension CrossJoinPlan: PagePlan {}
