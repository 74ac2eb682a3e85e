import AdapterKit
import ODataLanguage
import ODataModel
import ODataRecords

/// A query that was checked and can be answered.
public struct QueryPlan: Sendable {
    public let shape: ResultShape
    let level: LevelPlan
    let limits: QueryLimits
    /// Rows of this page at most.
    let pageLimit: Int
    /// Whether the rows are others at another time.
    let readsClock: Bool
    /// How many rows `$top` allows from this page on; nil: all.
    let remaining: Int?

    /// The page, everything of it as the records are at that moment. Throws ``PorticoError``.
    public func page(at moment: any RecordMoment) throws -> ResultPage {
        let count = try level.count.map { try Self.number($0, at: moment) }
        guard pageLimit > 0 else {
            return ResultPage(shape: shape, rows: [], count: count, next: nil, position: moment.position)
        }
        var relation = level.relation
        relation.limit = pageLimit + 1
        var rows: [ResultRow] = []
        try moment.rows(relation) { rows.append(try ResultRow(reading: $0)) }
        let next = rows.count > pageLimit ? try self.next(after: &rows) : nil
        try ExpansionRun(moment: moment, limits: limits).expand(&rows, level.expansions)
        return ResultPage(shape: shape, rows: rows, count: count, next: next, position: moment.position)
    }

    /// How many rows there are: the answer to `/$count`. `$top` and `$skip` do not matter (URL Conventions 4.01, 4.8).
    public func count(at moment: any RecordMoment) throws -> Int {
        try Self.number(level.count ?? counting, at: moment)
    }

    private var counting: Relation {
        var nested = level.relation
        nested.order = []
        nested.start = .first
        nested.columns = [.value(1)]
        return Relation(
            .rows(nested, as: SourceName(0)), columns: [.aggregate(.count, nil, isDistinct: false)])
    }

    /// Removes the row that tells that there is a next page.
    private func next(after rows: inout [ResultRow]) throws -> String? {
        rows.removeLast()
        let left = remaining.map { $0 - rows.count }
        guard left != 0, let last = rows.last else { return nil }
        guard let text = PageToken(values: level.orderColumns.map { last.values[$0] }, remaining: left).text else {
            throw PorticoError(.serverInternal, "A page's end cannot be told.")
        }
        return text
    }

    private static func number(_ relation: Relation, at moment: any RecordMoment) throws -> Int {
        var number = 0
        try moment.rows(relation) { number = Int(try $0[0].int64Value ?? 0) }
        return number
    }
}

extension ResultRow {
    init(reading row: any RowValues) throws {
        var values: [WireValue] = []
        values.reserveCapacity(row.count)
        for column in 0..<row.count { values.append(try row[column]) }
        self.init(values: values)
    }
}
