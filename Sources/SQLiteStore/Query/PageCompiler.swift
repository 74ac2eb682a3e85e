import AdapterKit
import RecordStorage

/// From a query to the statement of one page and what its cursors are made of.
struct PageCompiler {
    let layout: CollectionLayout
    /// The columns of the total order, the key's last.
    let order: [OrderColumn]
    private let query: Query
    private let condition: SQLFragment?

    init(_ query: Query, in layout: CollectionLayout, _ filters: FilterCompiler) throws(PorticoError) {
        self.layout = layout
        self.query = query
        var order: [OrderColumn] = []
        for criterion in try layout.entity.totalOrder(query.order) {
            order.append(OrderColumn(column: try layout.column(criterion.field), isDescending: criterion.isDescending))
        }
        self.order = order
        self.condition = try query.filter.map { (filter) throws(PorticoError) in
            try filters.condition(filter, in: layout)
        }
    }

    /// One row more than the page has, which tells whether there is a next one.
    func page() throws(PorticoError) -> SQLFragment {
        var statement = SQLFragment(layout.selection)
        let conditions = [condition, try KeysetCompiler(order: order).condition(after: query.start)].compactMap { $0 }
        for (position, condition) in conditions.enumerated() {
            statement.append(position == 0 ? " WHERE " : " AND ")
            statement.append(condition.sql, condition.values)
        }
        statement.append(" ORDER BY " + order.map(\.sql).joined(separator: ", "))
        statement.append(" LIMIT ?", [.integer(Int64(query.limit) + 1)])
        if case .offset(let rows) = query.start, rows > 0 {
            statement.append(" OFFSET ?", [.integer(Int64(rows))])
        }
        return statement
    }

    /// A statement of its own: `count(*) OVER ()` on the page measured three times slower.
    func count() -> SQLFragment {
        Self.count(layout, condition)
    }

    static func count(_ layout: CollectionLayout, _ condition: SQLFragment?) -> SQLFragment {
        var statement = SQLFragment("SELECT count(*) FROM \(layout.table)")
        if let condition { statement.append(" WHERE \(condition.sql)", condition.values) }
        return statement
    }

    func cursor(after record: Record) -> Cursor {
        Cursor(values: order.map { record[$0.column.field.name] })
    }
}

/// One criterion of an order.
struct OrderColumn {
    let column: Column
    let isDescending: Bool

    /// SQLite takes NULL for smaller than every value, as ``SortKey`` does.
    var sql: String { column.comparisonName + (isDescending ? " DESC" : "") }

    /// Whether no row can have null here.
    var isNeverNull: Bool { column.field.isRequired && !column.field.isNullable }
}
