import AdapterKit
import RecordStorage

/// From a query to the statement of one page and what its cursors are made of.
struct PageCompiler {
    let layout: CollectionLayout
    /// The columns of the total order, the key's last.
    let order: [OrderColumn]
    private let query: Query
    private let rows: FilterCompiler.FilteredRows
    /// How many of the statement's rows the reader skips.
    let skipped: Int
    /// Whether the reader steps through the rows behind the page.
    let readsAhead: Bool

    /// Rows that a counted search reads before its page, and behind it, at most. Most searches find so few, and sort all
    /// that they find: then their number is known without a statement that counts.
    static let readAhead = 100

    init(_ query: Query, in layout: CollectionLayout, _ filters: FilterCompiler) throws(PorticoError) {
        self.layout = layout
        self.query = query
        var order: [OrderColumn] = []
        for criterion in try layout.entity.totalOrder(query.order) {
            order.append(OrderColumn(column: try layout.column(criterion.field), isDescending: criterion.isDescending))
        }
        self.order = order
        rows = try filters.filteredRows(query.filter, in: layout)
        let offset = query.start.offset
        readsAhead = query.countsAll && rows.isSearch && offset.map { $0 <= Self.readAhead } ?? false
        skipped = readsAhead ? offset ?? 0 : 0
    }

    /// Rows that the statement of the page has at most.
    private var limit: Int { readsAhead ? skipped + query.limit + Self.readAhead : query.limit + 1 }

    /// Rows that the statement of the page leaves out at its beginning.
    private var offset: Int { readsAhead ? 0 : query.start.offset ?? 0 }

    /// The number of all rows, from those that the page's statement has to its end; nil where it does not show.
    func total(of rows: Int) -> Int? {
        guard query.start.offset != nil, rows < limit, rows > 0 || offset == 0 else { return nil }
        return offset + rows
    }

    /// One row more than the page has, at least, which shows whether there is a next page.
    func page() throws(PorticoError) -> SQLFragment {
        var statement = SQLFragment("SELECT \(layout.selected) FROM \(rows.source.sql)", rows.source.values)
        let conditions = [rows.condition, try keyset()?.condition].compactMap {
            $0
        }
        for (position, condition) in conditions.enumerated() {
            statement.append(position == 0 ? " WHERE " : " AND ")
            statement.append(condition.sql, condition.values)
        }
        statement.append(" ORDER BY " + order.map(\.sql).joined(separator: ", "))
        statement.append(" LIMIT ?", [.integer(Int64(limit))])
        if offset > 0 { statement.append(" OFFSET ?", [.integer(Int64(offset))]) }
        return statement
    }

    /// Throws `record.cursorInvalid` for a cursor of another order.
    private func keyset() throws(PorticoError) -> Keyset? {
        guard case .after(let cursor) = query.start else { return nil }
        guard cursor.values.count == order.count, cursor.values.last?.isNull == false else {
            throw Keyset.foreignCursor
        }
        var criteria: [KeysetCriterion] = []
        for (criterion, value) in zip(order, cursor.values) {
            guard case .scalar(let scalar) = criterion.column.kind,
                let bound = value.isNull ? .null : scalar.comparable(value)
            else { throw Keyset.foreignCursor }
            criteria.append(
                KeysetCriterion(
                    expression: SQLFragment(criterion.column.comparisonName), value: bound,
                    isDescending: criterion.isDescending, isNeverNull: criterion.isNeverNull))
        }
        return Keyset(criteria: criteria)
    }

    /// A statement of its own: `count(*) OVER ()` on the page measured three times slower.
    func count() -> SQLFragment {
        Self.count(rows)
    }

    static func count(_ rows: FilterCompiler.FilteredRows) -> SQLFragment {
        var statement = SQLFragment("SELECT count(*) FROM \(rows.source.sql)", rows.source.values)
        if let condition = rows.condition { statement.append(" WHERE \(condition.sql)", condition.values) }
        return statement
    }

    func cursor(after record: Record) -> Cursor {
        Cursor(values: order.map { record[$0.column.field.name] })
    }
}

extension Query.Start {
    /// Nil behind a cursor.
    fileprivate var offset: Int? {
        switch self {
        case .offset(let rows): rows
        case .first: 0
        case .after: nil
        }
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
