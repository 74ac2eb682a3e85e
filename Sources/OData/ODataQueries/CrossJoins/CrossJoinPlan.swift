import AdapterKit

/// A cross join that was checked and can be answered.
public struct CrossJoinPlan: Sendable {
    let parts: [CrossJoinPart]
    /// Its columns are the parts' ones, then what the order compares.
    let relation: Relation
    let count: Relation?
    let limits: QueryLimits
    let pageLimit: Int
    /// How many rows `$top` allows from this page on; nil: all.
    let remaining: Int?

    /// The page, everything of it as the records are at that moment. Throws ``PorticoError``.
    public func page(at moment: any RecordMoment) throws -> CrossJoinPage {
        var number: Int?
        if let count { try moment.rows(count) { number = Int(try $0[0].int64Value ?? 0) } }
        var rows: [ResultRow] = []
        if pageLimit > 0 {
            var relation = relation
            relation.limit = pageLimit + 1
            try moment.rows(relation) { rows.append(try ResultRow(reading: $0)) }
        }
        let next = rows.count > pageLimit && pageLimit > 0 ? try next(after: &rows) : nil
        return CrossJoinPage(parts: try read(rows, at: moment), rowCount: rows.count, count: number, next: next)
    }

    private func read(_ rows: [ResultRow], at moment: any RecordMoment) throws -> [CrossJoinPage.Part] {
        var first = 0
        var read: [CrossJoinPage.Part] = []
        for part in parts {
            let columns = first..<(first + part.level.relation.columns.count)
            first = columns.upperBound
            var own = rows.map { ResultRow(values: Array($0.values[columns])) }
            try ExpansionRun(moment: moment, limits: limits).expand(&own, part.level.expansions)
            read.append(
                CrossJoinPage.Part(
                    source: part.source, isExpanded: part.isExpanded, shape: part.level.shape, rows: own))
        }
        return read
    }

    /// Removes the row that tells that there is a next page.
    private func next(after rows: inout [ResultRow]) throws -> String? {
        rows.removeLast()
        let left = remaining.map { $0 - rows.count }
        guard left != 0, let last = rows.last else { return nil }
        let values = Array(last.values.suffix(relation.order.count))
        guard let text = PageToken(values: values, remaining: left).text else {
            throw PorticoError(.serverInternal, "A page's end cannot be told.")
        }
        return text
    }
}

/// One page of a cross join.
public struct CrossJoinPage: Sendable {
    public let parts: [Part]
    public let rowCount: Int
    /// With `$count=true`: how many there are in all.
    public let count: Int?
    /// `$skiptoken` of the next page; nil on the last one.
    public let next: String?

    /// The entities that one set brings, one for each row.
    public struct Part: Sendable {
        public let source: String
        /// Whether they are told; otherwise a link to them is.
        public let isExpanded: Bool
        public let shape: ResultShape
        public let rows: [ResultRow]
    }
}
