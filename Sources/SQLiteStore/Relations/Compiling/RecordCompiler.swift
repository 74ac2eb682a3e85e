import AdapterKit
import RecordStorage

/// Statements of one entity's records, from the relations and expressions that queries and filters are short for
/// (``QueryLowering``). Source 0 is the entity's table.
struct RecordCompiler {
    let layout: CollectionLayout
    private let compiler: RelationCompiler

    init(
        _ layout: CollectionLayout, _ catalogue: LayoutCatalogue, _ budget: StatementBudget = StatementBudget()
    ) throws(PorticoError) {
        var compiler = RelationCompiler(catalogue, .every(layout.id.adapter), budget)
        try compiler.scope.add(0, .records(layout), isOptional: false)
        self.layout = layout
        self.compiler = compiler
    }

    /// The table by the name that conditions have for it.
    static func source(_ layout: CollectionLayout) -> String { "\(layout.table) AS \(SourceName(0).sql)" }

    var expressions: ExpressionCompiler { ExpressionCompiler(relations: compiler) }

    /// Throws as ``QueryLowering`` does, and `request.limitExceeded` where the statement becomes too large.
    func condition(_ filter: Filter) throws(PorticoError) -> SQLFragment {
        try expressions.condition(try lowered(filter))
    }

    /// Throws as ``QueryLowering`` does.
    func lowered(_ filter: Filter) throws(PorticoError) -> RowExpression {
        try QueryLowering.condition(filter, of: layout.entity, declaration)
    }

    /// The relation of a query whose condition was lowered before.
    func relation(_ query: Query, where condition: RowExpression?) throws(PorticoError) -> Relation {
        var query = query
        query.filter = nil
        var relation = try QueryLowering.relation(query, of: layout.entity, declaration)
        relation.condition = condition
        return relation
    }

    func count(_ filter: Filter?) throws(PorticoError) -> SQLFragment {
        guard let filter else { return SQLFragment("SELECT count(*) FROM \(layout.table)") }
        let rows = rows(where: try lowered(filter))
        let statement = SQLFragment("SELECT count(*)") + rows.source
        guard let condition = rows.condition else { return statement }
        return statement + .build(" WHERE $", [try expressions.condition(condition)])
    }

    private func declaration(_ entity: EntityName) throws(PorticoError) -> Entity {
        try compiler.catalogue.layout(CollectionID(layout.id.adapter, entity)).entity
    }

    /// What selects the records for which a condition is true.
    struct Rows {
        /// The `FROM` clause.
        let source: SQLFragment
        /// The condition that is left.
        let condition: RowExpression?
        /// Whether a search finds the records.
        let isSearch: Bool
    }

    /// A search that all records meet is joined: as a condition, what it finds would be put into a table first. It is the
    /// outer table: SQLite takes another field's index for better, and would search for each of its rows.
    func rows(where condition: RowExpression?) -> Rows {
        let table = Self.source(layout)
        guard let (search, rest) = condition?.separatingSearch, let text = SearchExpression.text(search) else {
            return Rows(source: SQLFragment(" FROM " + table), condition: condition, isSearch: false)
        }
        let (found, row) = (layout.names.search.quotedIdentifier, "\"_found\"")
        let source = SQLFragment(
            " FROM (SELECT rowid AS \(row) FROM \(found) WHERE \(found) MATCH ?) CROSS JOIN \(table) "
                + "ON \(SourceName(0).sql).\(layout.rowColumn) = \(row)", [.text(text)])
        return Rows(source: source, condition: rest, isSearch: true)
    }
}

extension RowExpression {
    /// One search that every record of source 0 meets, and what else there is to meet; nil without such a search.
    fileprivate var separatingSearch: (search: RowSearch, rest: RowExpression?)? {
        switch self {
        case .found(0, let search): return (search, nil)
        case .all(var parts):
            for (index, part) in parts.enumerated() {
                guard let (search, rest) = part.separatingSearch else { continue }
                if let rest { parts[index] = rest } else { parts.remove(at: index) }
                return (search, parts.isEmpty ? nil : .all(parts))
            }
            return nil
        default: return nil
        }
    }
}
