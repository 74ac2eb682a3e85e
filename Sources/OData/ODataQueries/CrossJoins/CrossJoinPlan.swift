import AdapterKit

/// A cross join that was checked and can be answered.
public struct CrossJoinPlan: Sendable {
    public let parts: [CrossJoinPart]
    /// Its columns are the parts' ones, then what the order compares.
    let relation: Relation
    let count: Relation?
    let limits: QueryLimits
    let pageLimit: Int
    /// How many rows `$top` allows from this page on; nil: all.
    let remaining: Int?

    /// With `$count=true`: how many rows there are in all.
    public func total(at snapshot: any RecordSnapshot) throws -> Int? {
        guard let count else { return nil }
        var number = 0
        try snapshot.rows(count) { number = Int(try $0[0].int64Value ?? 0) }
        return number
    }

    /// Gives the page's rows in their order, some at a time, with what was expanded of them (``CrossJoinPart/row(of:)``): no
    /// more than those are in memory. Returns the `$skiptoken` of the next page; nil on the last. Throws ``PorticoError``.
    public func rows(at snapshot: any RecordSnapshot, _ receive: ([ResultRow]) throws -> Void) throws -> String? {
        guard pageLimit > 0 else { return nil }
        let expansions = parts.flatMap { part in part.level.expansions.map { $0.shifted(by: part.columns.lowerBound) } }
        var run = RowRun(ExpansionRun(snapshot: snapshot, limits: limits), expansions)
        return try run.read(relation, upTo: pageLimit, at: snapshot, receive) ? try next(after: run) : nil
    }

    private func next(after run: RowRun) throws -> String? {
        let left = remaining.map { $0 - run.count }
        guard left != 0, let last = run.last else { return nil }
        let values = Array(last.values.suffix(relation.order.count))
        guard let text = PageToken(values: values, remaining: left).text else {
            throw PorticoError(.serverInternal, "A page's end cannot be told.")
        }
        return text
    }
}

/// The entities that one set brings to each row.
public struct CrossJoinPart: Sendable {
    public let source: String
    /// Whether they are told; otherwise a link to them is.
    public let isExpanded: Bool
    let level: LevelPlan
    /// Where its values are in a row of the join, and what was expanded of it.
    let columns: Range<Int>
    let expanded: Range<Int>

    public var shape: ResultShape { level.shape }

    /// Its entity in a row of the join.
    public func row(of joined: ResultRow) -> ResultRow {
        ResultRow(values: Array(joined.values[columns]), expanded: Array(joined.expanded[expanded]))
    }
}

extension ExpansionPlan {
    /// Where the rows that are expanded stand behind other columns.
    fileprivate func shifted(by columns: Int) -> ExpansionPlan {
        ExpansionPlan(
            property: property, relation: relation, owner: owner, isCollection: isCollection, content: content,
            level: level, near: near.map { $0 + columns }, far: far, made: made)
    }
}
