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
        let conditions = [rows.condition, try KeysetCompiler(order: order).condition(after: query.start)].compactMap {
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

/// The condition that a row comes after the one that a cursor names.
///
/// For `a, b, key` after `(x, y, z)` that is `a > x OR (a = x AND b > y) OR (a = x AND b = y AND key > z)`, each
/// comparison turned round where the criterion descends and made to know null. Where all criteria go the same way and
/// none can be null, `(a, b, key) > (x, y, z)` says the same and is one index range.
struct KeysetCompiler {
    let order: [OrderColumn]

    func condition(after start: Query.Start) throws(PorticoError) -> SQLFragment? {
        guard case .after(let cursor) = start else { return nil }
        let values = try bound(cursor)
        if isOneRange(values) { return range(values) }
        var alternatives: [SQLFragment] = []
        for depth in order.indices {
            if let last = order[depth].comesAfter(values[depth]) {
                let equal = (0..<depth).map { order[$0].equals(values[$0]) }
                alternatives.append(Self.join(equal + [last], with: " AND "))
            }
        }
        let any = Self.join(alternatives, with: " OR ")
        guard let bound = order[0].lowerBound(values[0]) else { return any }
        return Self.join([bound, any], with: " AND ")
    }

    private func isOneRange(_ values: [SQLValue]) -> Bool {
        order.allSatisfy { $0.isDescending == order[0].isDescending && $0.isNeverNull } && !values.contains(.null)
    }

    private func range(_ values: [SQLValue]) -> SQLFragment {
        let columns = order.map(\.column.comparisonName).joined(separator: ", ")
        let places = order.map { _ in "?" }.joined(separator: ", ")
        return SQLFragment("(\(columns)) \(order[0].isDescending ? "<" : ">") (\(places))", values)
    }

    /// Throws `record.cursorInvalid` for a cursor of another order.
    private func bound(_ cursor: Cursor) throws(PorticoError) -> [SQLValue] {
        guard cursor.values.count == order.count, cursor.values.last?.isNull == false else { throw Self.foreign }
        var bound: [SQLValue] = []
        for (criterion, value) in zip(order, cursor.values) {
            guard let value = criterion.bound(value) else { throw Self.foreign }
            bound.append(value)
        }
        return bound
    }

    private static var foreign: PorticoError {
        PorticoError(.cursorInvalid, "The cursor belongs to another query.", target: "cursor")
    }

    private static func join(_ parts: [SQLFragment], with connective: String) -> SQLFragment {
        guard parts.count != 1 else { return parts[0] }
        return SQLFragment("(" + parts.map(\.sql).joined(separator: connective) + ")", parts.flatMap(\.values))
    }
}

extension OrderColumn {
    fileprivate func bound(_ value: WireValue) -> SQLValue? {
        guard case .scalar(let scalar) = column.kind else { return nil }
        return value.isNull ? .null : scalar.comparable(value)
    }

    fileprivate func equals(_ value: SQLValue) -> SQLFragment {
        value == .null
            ? SQLFragment("\(column.comparisonName) IS NULL") : SQLFragment("\(column.comparisonName) = ?", [value])
    }

    /// Nil where nothing does: after null in descending order.
    fileprivate func comesAfter(_ value: SQLValue) -> SQLFragment? {
        let name = column.comparisonName
        switch (value, isDescending) {
        case (.null, true): return nil
        case (.null, false): return SQLFragment("\(name) IS NOT NULL")
        case (_, false): return SQLFragment("\(name) > ?", [value])
        case (_, true):
            return isNeverNull
                ? SQLFragment("\(name) < ?", [value]) : SQLFragment("(\(name) < ? OR \(name) IS NULL)", [value])
        }
    }

    /// What every later row fulfils, repeated so that an index on the first criterion is used.
    fileprivate func lowerBound(_ value: SQLValue) -> SQLFragment? {
        guard value != .null else { return nil }
        if !isDescending { return SQLFragment("\(column.comparisonName) >= ?", [value]) }
        return isNeverNull ? SQLFragment("\(column.comparisonName) <= ?", [value]) : nil
    }
}
