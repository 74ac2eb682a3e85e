import AdapterKit
import ODataLanguage
import ODataModel
import ODataRecords

// `$apply` of a cross join: each row has one entity of every set, under the set's name (OData Extension for Data Aggregation
// 4.0, section 4).
extension CrossJoinQuery {
    public var isApplied: Bool {
        options.contains { if case .apply = $0.form { true } else { false } }
    }

    /// What the transformations make of the rows. Throws where the query does not fit the model.
    public func applied(in tables: ServiceTables, limits: QueryLimits = .standard) throws(QueryProblem) -> QueryPlan {
        let options = try CollectedOptions(self.options, limits: limits)
        guard options.search == nil else {
            throw QueryProblem("A cross join is not searched.", kind: .notSupported)
        }
        let reader = ExpressionReader(
            tables: tables, numbering: SourceNumbering(), aliases: options.aliases, now: now)
        let applier = Applier(
            reader: reader, limits: limits, depth: 0, set: "Collection(Edm.ComplexType)", sources: [:])
        let applied = AppliedLevel(applier: applier, options: options)
        let level = try applied.level(try applied.rows(options.apply ?? [], of: try rows(tables, reader)))
        let prepared = PreparedQuery(
            level: level, limits: limits, top: options.top, skip: options.skip,
            readsClock: reader.numbering.readsClock)
        let query = EntityQuery(sources.first ?? "", options: self.options, pageSize: pageSize, now: now)
        return try prepared.page(of: pageSize, of: query)
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
            let place = EntityPlace(source: reader.numbering.next(), table: table, type: table.type.name)
            let records = RelationSource.records(table.entity, as: place.source)
            let joined = JoinedRows(
                name: source, content: .entity(place), presence: .field(place.source, table.keyField))
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
