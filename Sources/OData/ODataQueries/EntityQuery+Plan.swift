import AdapterKit
import ODataLanguage
import ODataModel
import ODataRecords

extension EntityQuery {
    /// Checks the query against the model and says how it is answered.
    public func plan(in tables: ServiceTables, limits: QueryLimits = .standard) throws(QueryProblem) -> QueryPlan {
        try prepared(in: tables, limits: limits).page(of: pageSize, of: self)
    }

    /// The same for all of its pages.
    public func prepared(
        in tables: ServiceTables, limits: QueryLimits = .standard
    ) throws(QueryProblem) -> PreparedQuery {
        guard let table = tables[source] else { throw QueryProblem("There is no entity set \(source).") }
        let options = try CollectedOptions(self.options, limits: limits)
        let reader = ExpressionReader(
            tables: tables, numbering: SourceNumbering(), aliases: options.aliases, now: now)
        let type = cast ?? table.type.name
        let place = EntityPlace(source: reader.numbering.next(), table: table, type: type)
        let base = try BaseReader(reader: reader, place: place).condition(base, cast: cast)
        let records = RelationSource.records(table.entity, as: place.source)
        let level: LevelPlan
        if let apply = options.apply {
            let applier = Applier(reader: reader, limits: limits, depth: 0, set: source, sources: [:])
            level = try AppliedLevel(applier: applier, options: options).level(apply, records, place, where: base)
        } else {
            var builder = try LevelBuilder(reader, options, place, limits: limits, depth: 0)
            if case .all = self.base { try builder.restrictions.requireFilter(options) }
            level = try builder.level(records, where: base)
        }
        return PreparedQuery(
            level: level, limits: limits, top: options.top, skip: options.skip,
            readsClock: reader.numbering.readsClock)
    }
}

/// The condition that a path's rows fulfil.
struct BaseReader {
    let reader: ExpressionReader
    let place: EntityPlace

    func condition(
        _ base: EntityQuery.Base, cast: QualifiedName?
    ) throws(QueryProblem) -> RowExpression? {
        let rows = try condition(base)
        return reader.both(rows, cast.map { reader.isOf($0, place) })
    }

    private func condition(_ base: EntityQuery.Base) throws(QueryProblem) -> RowExpression? {
        switch base {
        case .all: return nil
        case .record(let id): return isRecord(id, place)
        case .records(let ids):
            return .oneOf(.field(place.source, place.table.keyField), ids.map { place.table.keyValue(of: $0) })
        case .one(let outer, let id): return reader.both(try condition(outer), isRecord(id, place))
        case .filtered(let outer, let filter):
            let inner = try reader.condition(filter, on: ExpressionScope(.entity(place)))
            return reader.both(try condition(outer), inner)
        case .related(let from, let id, let property): return try related(from, id, property)
        }
    }

    private func isRecord(_ id: RecordID, _ place: EntityPlace) -> RowExpression {
        .compare(
            .equal, .field(place.source, place.table.keyField), .value(place.table.keyValue(of: id)))
    }

    /// By the values that the other record has, so that an index finds them.
    private func related(
        _ from: String, _ id: RecordID, _ property: String
    ) throws(QueryProblem) -> RowExpression? {
        guard let table = reader.tables[from], let relation = table.relations[property] else {
            throw QueryProblem("\(from) has no navigation property \(property).")
        }
        let other = EntityPlace(source: reader.numbering.next(), table: table, type: table.type.name)
        let records = RelationSource.records(table.entity, as: other.source)
        switch relation {
        case .fields(_, let pairs, _):
            return .all(
                pairs.map { pair in
                    // The key is known: the rows depend on no other record.
                    if pair.near == table.keyField {
                        return .compare(.equal, .field(place.source, pair.far), .value(table.keyValue(of: id)))
                    }
                    return .among(
                        .field(place.source, pair.far),
                        Relation(records, where: isRecord(id, other), columns: [.field(other.source, pair.near)]))
                })
        case .links(_, let through, let near, let far, _):
            let link = reader.numbering.next()
            let owner = Relation(records, where: isRecord(id, other), columns: [.field(other.source, table.keyField)])
            let links = Relation(
                .records(through, as: link), where: .among(.field(link, near), owner), columns: [.field(link, far)])
            return .among(.field(place.source, place.table.keyField), links)
        }
    }
}
