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
        let count = try total(at: moment)
        var rows: [ResultRow] = []
        let next = try self.rows(at: moment) { rows += $0 }
        return ResultPage(shape: shape, rows: rows, count: count, next: next, position: moment.position)
    }

    /// With `$count=true`: how many rows there are in all.
    public func total(at moment: any RecordMoment) throws -> Int? {
        try level.count.map { try Self.number($0, at: moment) }
    }

    /// Gives the page's rows in their order, some at a time, with what was expanded of them: no more than those are in
    /// memory. Returns the `$skiptoken` of the next page; nil on the last.
    public func rows(at moment: any RecordMoment, _ receive: ([ResultRow]) throws -> Void) throws -> String? {
        guard pageLimit > 0 else { return nil }
        var run = RowRun(ExpansionRun(moment: moment, limits: limits), level.expansions)
        return try run.read(level.relation, upTo: pageLimit, at: moment, receive) ? try next(after: run) : nil
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

    private func next(after run: RowRun) throws -> String? {
        let left = remaining.map { $0 - run.count }
        guard left != 0, let last = run.last else { return nil }
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
