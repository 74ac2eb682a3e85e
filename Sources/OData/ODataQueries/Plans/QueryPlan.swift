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
    public func page(at snapshot: any RecordSnapshot) throws -> ResultPage {
        let count = try total(at: snapshot)
        var rows: [ResultRow] = []
        let next = try self.rows(at: snapshot, limits.held) { rows += $0 }
        return ResultPage(shape: shape, rows: rows, count: count, next: next, position: snapshot.position)
    }

    /// With `$count=true`: how many rows there are in all.
    public func total(at snapshot: any RecordSnapshot) throws -> Int? {
        try level.count.map { try Self.number($0, at: snapshot) }
    }

    /// Gives the page's rows in their order, some at a time, with what was expanded of them: no more than those are in
    /// memory. Returns the `$skiptoken` of the next page; nil on the last.
    public func rows(at snapshot: any RecordSnapshot, _ receive: ([ResultRow]) throws -> Void) throws -> String? {
        try rows(at: snapshot, limits, receive)
    }

    private func rows(
        at snapshot: any RecordSnapshot, _ limits: QueryLimits, _ receive: ([ResultRow]) throws -> Void
    ) throws -> String? {
        guard pageLimit > 0 else { return nil }
        var run = RowRun(ExpansionRun(snapshot: snapshot, limits: limits), level.expansions)
        guard try run.read(level.relation, upTo: pageLimit, at: snapshot, receive), let last = run.last else {
            return nil
        }
        return try next(after: level.orderColumns.map { last.values[$0] }, run.count)
    }

    /// Whether nothing is expanded of the rows, so that they can be had as the store has them.
    public var isFlat: Bool { level.expansions.isEmpty }

    /// The same of flat rows, without a copy: `each` gets them one by one, while the store is at them, `some` is told after
    /// some of them and after the last.
    public func rows(
        at snapshot: any RecordSnapshot, each: (any RowValues) throws -> Void, thenSome some: () throws -> Void
    ) throws -> String? {
        guard pageLimit > 0 else { return nil }
        var relation = level.relation
        relation.limit = pageLimit + 1
        var (count, last, hasMore): (Int, [WireValue], Bool) = (0, [], false)
        try snapshot.rows(relation) { row in
            hasMore = count == pageLimit
            guard !hasMore else { return }
            try each(row)
            count += 1
            if count == pageLimit { last = try level.orderColumns.map { try row[$0] } }
            if count % RowRun.first == 0 { try some() }
        }
        try some()
        return hasMore ? try next(after: last, count) : nil
    }

    /// How many rows there are: the answer to `/$count`. `$top` and `$skip` do not matter (URL Conventions 4.01, 4.8).
    public func count(at snapshot: any RecordSnapshot) throws -> Int {
        try Self.number(level.count ?? counting, at: snapshot)
    }

    private var counting: Relation {
        var nested = level.relation
        nested.order = []
        nested.start = .first
        nested.columns = [.value(1)]
        return Relation(
            .rows(nested, as: SourceName(0)), columns: [.aggregate(.count, nil, isDistinct: false)])
    }

    private func next(after values: [WireValue], _ count: Int) throws -> String? {
        let left = remaining.map { $0 - count }
        guard left != 0 else { return nil }
        guard let text = PageToken(values: values, remaining: left).text else {
            throw PorticoError(.serverInternal, "A page's end cannot be told.")
        }
        return text
    }

    private static func number(_ relation: Relation, at snapshot: any RecordSnapshot) throws -> Int {
        var number = 0
        try snapshot.rows(relation) { number = Int(try $0[0].int64Value ?? 0) }
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
