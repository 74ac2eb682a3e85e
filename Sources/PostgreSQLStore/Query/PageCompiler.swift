import AdapterKit
import RecordStorage

/// Compiles a query to the statements of one page, and makes the page of their rows.
struct PageCompiler {
    let layout: CollectionLayout
    /// The total order, the key's column last.
    private let order: [OrderColumn]
    private let query: Query
    private let condition: SQLFragment?
    private let keyset: SQLFragment?

    /// Throws what a query throws.
    init(_ query: Query, in layout: CollectionLayout, _ catalogue: LayoutCatalogue) throws(PorticoError) {
        try query.checkSize()
        self.layout = layout
        self.query = query
        var order: [OrderColumn] = []
        for criterion in try layout.entity.totalOrder(query.order) {
            order.append(OrderColumn(column: try layout.column(criterion.field), isDescending: criterion.isDescending))
        }
        self.order = order
        if let filter = query.filter {
            condition = try FilterCompiler(catalogue: catalogue).condition(filter, in: layout)
        } else {
            condition = nil
        }
        keyset = try KeysetCompiler(order: order).condition(after: query.start)
    }

    /// The page's statement, and where the query asks for it that of the number of all rows.
    var statements: [SQLFragment] { [statement] + (query.countsAll ? [Self.count(condition, in: layout)] : []) }

    /// One row more than the page has, which shows whether there is a next page.
    private var statement: SQLFragment {
        var statement = SQLFragment("SELECT \(layout.selected) FROM \(layout.table)")
        for (position, condition) in [condition, keyset].compactMap({ $0 }).enumerated() {
            statement.append(position == 0 ? " WHERE " : " AND ")
            statement.append(condition)
        }
        statement.append(" ORDER BY " + order.map(\.sql).joined(separator: ", "))
        statement.append(" LIMIT \(query.limit + 1)")
        if case .offset(let rows) = query.start, rows > 0 { statement.append(" OFFSET \(rows)") }
        return statement
    }

    static func count(_ condition: SQLFragment?, in layout: CollectionLayout) -> SQLFragment {
        var statement = SQLFragment("SELECT count(*) FROM \(layout.table)")
        if let condition { statement.append(" WHERE \(condition.sql)", condition.values) }
        return statement
    }

    /// The page of what ``statements`` found, ended where its records would be larger than `bytes`.
    func page(_ found: [SQLRows], atMost bytes: Int) throws -> RecordPage {
        let rows = found[0]
        let total = query.countsAll ? Int(found[1][0].integer(0)) : nil
        var records: [Record] = []
        var size = 0
        for place in 0..<rows.count {
            let record = try layout.record(rows[place])
            size += record.writtenSize
            guard records.count < query.limit, records.isEmpty || size <= bytes else {
                let next = records.last.map { last in Cursor(values: order.map { last[$0.column.field.name] }) }
                return RecordPage(records: records, next: next, total: total)
            }
            records.append(record)
        }
        return RecordPage(records: records, next: nil, total: total)
    }
}

/// One criterion of an order.
struct OrderColumn {
    let column: Column
    let isDescending: Bool

    /// Order of ``SortKey``: null before every value, and after every value in descending order.
    var sql: String { column.comparisonName + (isDescending ? " DESC" : "") + (isNeverNull ? "" : nulls) }

    private var nulls: String { isDescending ? " NULLS LAST" : " NULLS FIRST" }

    /// Whether no row can have null here: an index of the column alone serves the order then.
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
        if order.allSatisfy({ $0.isDescending == order[0].isDescending && $0.isNeverNull }), !values.contains(.null) {
            let columns = order.map(\.column.comparisonName).joined(separator: ", ")
            let places = order.map { _ in "?" }.joined(separator: ", ")
            return SQLFragment("(\(columns)) \(order[0].isDescending ? "<" : ">") (\(places))", values)
        }
        var alternatives: [SQLFragment] = []
        for depth in order.indices {
            guard let last = order[depth].comesAfter(values[depth]) else { continue }
            let equal = (0..<depth).map { order[$0].equals(values[$0]) }
            alternatives.append(Self.join(equal + [last], with: " AND "))
        }
        return Self.join(alternatives, with: " OR ")
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
}
