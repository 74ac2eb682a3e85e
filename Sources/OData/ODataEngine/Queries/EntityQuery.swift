import AdapterKit
import ODataLanguage
import ODataModel

/// A query for entities: the rows that its path selects, and the query options upon them.
///
/// ``plan(in:)`` checks everything that needs no data. A plan can be executed on any snapshot.
public struct EntityQuery: Sendable {
    /// The set or singleton that the rows are of.
    public var source: String
    /// The type that the path casts to.
    public var cast: QualifiedName?
    /// Which of its rows the path leads to.
    public var base: Base
    public var options: [QueryOption]
    /// The most rows that a page has; `$top` may ask for fewer.
    public var pageSize: Int
    /// The value of `now()`.
    public var now: WireDate

    public indirect enum Base: Sendable {
        case all
        /// The record with this key.
        case record(RecordID)
        /// Those that a navigation property of another set's record leads to.
        case related(from: String, RecordID, property: String)
        /// Those of another base that are also this record: `Products(1)/Descriptions(2)`.
        case one(of: Base, RecordID)
        /// A filter segment: `Products/$filter(…)`.
        case filtered(Base, Expression)
        /// Those with one of these keys, in no order: the result of an operation.
        case records([RecordID])
    }

    public init(
        _ source: String, cast: QualifiedName? = nil, base: Base = .all, options: [QueryOption] = [],
        pageSize: Int, now: WireDate
    ) {
        self.source = source
        self.cast = cast
        self.base = base
        self.options = options
        self.pageSize = pageSize
        self.now = now
    }
}

extension EntityQuery {
    /// The same from its first page on.
    public var withoutPlace: EntityQuery {
        var query = self
        query.options.removeAll { if case .skipToken = $0.form { true } else { false } }
        return query
    }

    /// Checks the query against the model and plans it.
    public func plan(in tables: ServiceTables, limits: QueryLimits = .standard) throws(QueryProblem) -> QueryPlan {
        try prepared(in: tables, limits: limits).page(of: pageSize, of: self)
    }

    /// The same for all of its pages.
    public func prepared(
        in tables: ServiceTables, limits: QueryLimits = .standard
    ) throws(QueryProblem) -> PreparedQuery {
        guard let table = tables[source] else { throw QueryProblem("There is no entity set \(source).") }
        let options = try LevelOptions(self.options, limits: limits)
        let reader = ExpressionReader(
            tables: tables, numbering: SourceNumbering(), aliases: options.aliases, now: now)
        let type = cast ?? table.type.name
        let entity = EntitySource(source: reader.numbering.next(), table: table, type: type)
        let base = try BaseCondition(reader: reader, entity: entity).condition(base, cast: cast)
        let records = RelationSource.records(table.entity, as: entity.source)
        let level: LevelPlan
        var restrictions = RestrictionCheck(of: source, reader)
        if let apply = options.apply {
            try restrictions.check(applying: apply, options)
            if case .all = self.base { try restrictions.requireFilter(apply) }
            let applier = ApplyPlanner(reader: reader, limits: limits, depth: 0, set: source, sources: [:])
            level = try AppliedLevel(applier: applier, options: options).level(apply, records, entity, where: base)
        } else {
            var builder = try LevelBuilder(reader, options, entity, limits: limits, depth: 0)
            if case .all = self.base { try restrictions.requireFilter(options) }
            level = try builder.level(records, where: base)
        }
        return PreparedQuery(
            level: level, limits: limits, top: options.top, skip: options.skip,
            readsClock: reader.numbering.readsClock)
    }
}

/// Makes the condition for the rows that a query's path selects.
struct BaseCondition {
    let reader: ExpressionReader
    let entity: EntitySource

    func condition(
        _ base: EntityQuery.Base, cast: QualifiedName?
    ) throws(QueryProblem) -> RowExpression? {
        let rows = try condition(base)
        return reader.both(rows, cast.map { reader.isOf($0, entity) })
    }

    private func condition(_ base: EntityQuery.Base) throws(QueryProblem) -> RowExpression? {
        switch base {
        case .all: return nil
        case .record(let id): return isRecord(id, entity)
        case .records(let ids):
            return .oneOf(.field(entity.source, entity.table.keyField), ids.map { entity.table.keyValue(of: $0) })
        case .one(let outer, let id): return reader.both(try condition(outer), isRecord(id, entity))
        case .filtered(let outer, let filter):
            try RestrictionCheck(of: entity.table.source, reader).check(filter: filter)
            let inner = try reader.condition(filter, on: ExpressionScope(.entity(entity)))
            return reader.both(try condition(outer), inner)
        case .related(let from, let id, let property): return try related(from, id, property)
        }
    }

    private func isRecord(_ id: RecordID, _ entity: EntitySource) -> RowExpression {
        .compare(
            .equal, .field(entity.source, entity.table.keyField), .value(entity.table.keyValue(of: id)))
    }

    /// By the values that the other record has, so that an index finds them.
    private func related(
        _ from: String, _ id: RecordID, _ property: String
    ) throws(QueryProblem) -> RowExpression? {
        guard let table = reader.tables[from], let relation = table.relations[property] else {
            throw QueryProblem("\(from) has no navigation property \(property).")
        }
        let other = EntitySource(source: reader.numbering.next(), table: table, type: table.type.name)
        let records = RelationSource.records(table.entity, as: other.source)
        switch relation {
        case .fields(_, let pairs, _):
            return .all(
                pairs.map { pair in
                    // The key is known: the rows depend on no other record.
                    if pair.near == table.keyField {
                        return .compare(.equal, .field(entity.source, pair.far), .value(table.keyValue(of: id)))
                    }
                    return .among(
                        .field(entity.source, pair.far),
                        Relation(records, where: isRecord(id, other), columns: [.field(other.source, pair.near)]))
                })
        case .links(_, let through, let near, let far, _):
            let link = reader.numbering.next()
            let owner = Relation(records, where: isRecord(id, other), columns: [.field(other.source, table.keyField)])
            let links = Relation(
                .records(through, as: link), where: .among(.field(link, near), owner), columns: [.field(link, far)])
            return .among(.field(entity.source, entity.table.keyField), links)
        }
    }
}

/// A query that was checked against the model, for any of its pages.
public struct PreparedQuery: Sendable {
    let level: LevelPlan
    let limits: QueryLimits
    let top: Int?
    let skip: Int
    /// Whether it means something else at another time.
    public let readsClock: Bool

    /// The query's first page, or the one at which its `$skiptoken` goes on. `query` may differ from the one that was
    /// prepared in that option alone.
    public func page(of size: Int, of query: EntityQuery) throws(QueryProblem) -> QueryPlan {
        var (level, remaining) = (level, top)
        if let token = query.skipToken {
            guard let read = PageToken(token.text), read.values.count == level.relation.order.count else {
                throw QueryProblem("The $skiptoken belongs to another query.", at: token.range)
            }
            level.relation.start = .after(read.values)
            remaining = read.remaining
        } else if skip > 0 {
            level.relation.start = .offset(skip)
        }
        return QueryPlan(
            shape: level.shape, level: level, limits: limits, pageLimit: min(size, remaining ?? size),
            readsClock: readsClock, remaining: remaining)
    }
}

extension EntityQuery {
    fileprivate var skipToken: (text: String, range: SourceRange)? {
        for option in options {
            if case .skipToken(let text) = option.form { return (text, option.range) }
        }
        return nil
    }
}
