import AdapterKit
import ODataLanguage
import ODataModel

/// A checked query for one page, ready to be executed.
public struct QueryPlan: Sendable {
    public let shape: ResultShape
    let level: LevelPlan
    let limits: QueryLimits
    /// Rows of this page at most.
    let pageLimit: Int
    /// Whether the rows are others at another time.
    let readsClock: Bool
    /// Rows that `$top` allows from this page on; nil: all.
    let remaining: Int?

    /// Reads the whole page from one snapshot. Throws ``PorticoError``.
    public func page(at snapshot: any RecordSnapshot) throws -> ResultPage {
        let count = try total(at: snapshot)
        var rows: [ResultRow] = []
        let next = try self.rows(at: snapshot, limits.held) { rows += $0 }
        return ResultPage(shape: shape, rows: rows, count: count, next: next, position: snapshot.position)
    }

    /// Reads no row of any of its parts. Throws what the store refuses of one, whatever rows there are.
    public func check(at snapshot: any RecordSnapshot) throws { try level.check(at: snapshot) }

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
        var run = RowBatchReader(ExpansionReader(snapshot: snapshot, limits: limits), level.expansions)
        guard try run.read(level.relation, upTo: pageLimit, at: snapshot, receive), let last = run.last else {
            return nil
        }
        return try next(after: level.orderColumns.map { last.values[$0] }, run.count)
    }

    /// Whether nothing is expanded of the rows, so that they can be had as the store has them.
    public var isFlat: Bool { level.expansions.isEmpty }

    /// The same of flat rows, without a copy: `each` gets them one by one, while the store is at them, `some` is called after
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
            if count % RowBatchReader.first == 0 { try some() }
        }
        try some()
        return hasMore ? try next(after: last, count) : nil
    }

    /// The number of rows: the answer to `/$count`. `$top` and `$skip` do not matter (URL Conventions 4.01, 4.8).
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
            throw PorticoError(.serverInternal, "The end of a page cannot be determined.")
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

/// A page that is read in batches from one snapshot.
public protocol PagePlan: Sendable {
    /// With `$count=true`: how many rows there are in all. Throws ``PorticoError``.
    func total(at snapshot: any RecordSnapshot) throws -> Int?

    /// Gives the page's rows in their order. Returns the `$skiptoken` of the next page; nil on the last. Throws
    /// ``PorticoError``, and what `receive` throws.
    func rows(at snapshot: any RecordSnapshot, _ receive: ([ResultRow]) throws -> Void) throws -> String?
}

extension QueryPlan: PagePlan {}

/// The plan of one level: the relation of its rows and its expansions.
struct LevelPlan: Sendable {
    var shape: ResultShape
    /// Its first columns are the shape's.
    var relation: Relation
    var expansions: [ExpansionPlan]
    /// The count regardless of `$top` and `$skip`; nil where it is not requested.
    var count: Relation?
    /// The columns that ``Relation/order`` compares, whose last values make the page token.
    var orderColumns: [Int] = []

    func check(at snapshot: any RecordSnapshot) throws {
        var none = relation
        none.limit = 0
        try snapshot.rows(none) { _ in }
        for expansion in expansions { try expansion.level.check(at: snapshot) }
    }
}

/// The plan of one expanded navigation property; it reads the entities of all rows of a level at once.
struct ExpansionPlan: Sendable {
    let property: String
    /// The relation of the table whose rows are expanded; nil for what `$apply` has made.
    let relation: RecordRelation?
    let owner: RecordTable?
    let isCollection: Bool
    let content: ResultExpansion.Content
    var level: LevelPlan
    /// Where, in the rows that are expanded, the values are that the level's rows are found by.
    var near: [Int]
    /// The values that those are compared with, in the level's relation; its last columns.
    let far: [RowExpression]

    /// The rows that `$apply` has made.
    var made: Made?

    struct Made {
        /// The set whose entities it was made of.
        let set: String
        /// Where only the rows' own are read (``Relation/only(_:of:)``).
        let sources: [SourceName: RowExpression]
    }

    var result: ResultExpansion {
        ResultExpansion(
            property: property, isCollection: isCollection, content: content, shape: level.shape, set: made?.set)
    }

    /// Where the values of ``far`` are in the level's rows.
    var farColumns: Range<Int> { level.shape.columns.count..<(level.shape.columns.count + far.count) }
}
