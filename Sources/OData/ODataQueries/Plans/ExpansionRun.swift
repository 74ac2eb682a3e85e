import AdapterKit

/// Brings a level's rows what was asked to be expanded: one question for each property and level, whatever the number
/// of rows.
struct ExpansionRun {
    let snapshot: any RecordSnapshot
    let limits: QueryLimits

    /// How many rows one question is about.
    private static let batch = 8192
    private static let rowsBetweenChecks = 1_024

    /// Throws `request.limitExceeded`.
    func expand(_ rows: inout [ResultRow], _ expansions: [ExpansionPlan]) throws {
        guard try expandWithinLimit(&rows, expansions) else {
            throw PorticoError(
                .requestLimitExceeded,
                "An expansion brings at most \(limits.expandedRows) entities; ask for fewer with $top.")
        }
    }

    /// False where the rows together bring more entities than ``QueryLimits/expandedRows``: fewer rows may not.
    func expandWithinLimit(_ rows: inout [ResultRow], _ expansions: [ExpansionPlan]) throws -> Bool {
        var room = limits.expandedRows
        do {
            for expansion in expansions { try expand(&rows, expansion, &room) }
            return true
        } catch is TooManyEntities {
            return false
        }
    }

    private struct TooManyEntities: Error {}

    private func expand(_ rows: inout [ResultRow], _ expansion: ExpansionPlan, _ room: inout Int) throws {
        var found = try entities(of: rows, expansion, &room)
        let counts = try expansion.level.count.map { try self.counts($0, of: rows, expansion) }
        let owners = RowsByOwner(found, at: expansion.farColumns)
        for inner in expansion.level.expansions { try expand(&found, inner, &room) }
        var written = 0
        for position in rows.indices {
            if position.isMultiple(of: Self.rowsBetweenChecks) { try snapshot.checkCancellation() }
            let key = RowKey(rows[position], at: expansion.near)
            let own = owners.rows(of: key, among: found)
            let count = counts.map { key.hasNull ? 0 : $0[key] ?? 0 }
            let expanded = ExpandedRows(rows: own, count: count)
            // Every level stays below the limit, so the next one's numbers are sums of few small ones.
            written += expanded.entities
            guard written <= limits.writtenRows else { throw limits.tooManyWritten }
            rows[position].expanded.append(expanded)
        }
    }

    private func entities(
        of rows: [ResultRow], _ expansion: ExpansionPlan, _ room: inout Int
    ) throws -> [ResultRow] {
        if expansion.content == .count { return [] }
        var found: [ResultRow] = []
        for values in batches(of: rows, expansion) {
            var relation = narrowed(expansion.level.relation, expansion, values)
            relation.limit = room + 1
            let before = found.count
            try snapshot.rows(relation) { found.append(try ResultRow(reading: $0)) }
            room -= found.count - before
            guard room >= 0 else { throw TooManyEntities() }
        }
        return found
    }

    private func counts(
        _ count: Relation, of rows: [ResultRow], _ expansion: ExpansionPlan
    ) throws -> [RowKey: Int] {
        var counts: [RowKey: Int] = [:]
        let width = expansion.far.count
        for values in batches(of: rows, expansion) {
            let relation = narrowed(count, expansion, values)
            try snapshot.rows(relation) { row in
                let read = try ResultRow(reading: row)
                counts[RowKey(read, at: 0..<width)] = Int(read.values[width].int64Value ?? 0)
            }
        }
        return counts
    }

    private func narrowed(_ relation: Relation, _ expansion: ExpansionPlan, _ values: [WireValue]) -> Relation {
        if let made = expansion.made { return relation.only(values, of: made.sources) }
        var relation = relation
        let belongs = RowExpression.oneOf(expansion.far[0], values)
        relation.condition = relation.condition.map { .all([belongs, $0]) } ?? belongs
        return relation
    }

    /// The values that the first column has, each once; a question by the first of several columns finds what the others
    /// leave out, which goes to nobody.
    private func batches(of rows: [ResultRow], _ expansion: ExpansionPlan) -> [[WireValue]] {
        // Without columns all there is belongs to the one row.
        guard let first = expansion.near.first else { return rows.isEmpty ? [] : [[]] }
        let values = distinct(rows, first)
        return stride(from: 0, to: values.count, by: Self.batch).map {
            Array(values[$0..<min($0 + Self.batch, values.count)])
        }
    }

    private func distinct(_ rows: [ResultRow], _ column: Int) -> [WireValue] {
        if let numbers = numbers(rows, column) { return numbers }
        var seen: Set<RowKey> = []
        return rows.map { $0.values[column] }.filter { !$0.isNull && seen.insert(RowKey([$0])).inserted }
    }

    /// The same of whole numbers, as most keys are, in their order; nil where there is anything else.
    private func numbers(_ rows: [ResultRow], _ column: Int) -> [WireValue]? {
        var numbers: [Int64] = []
        numbers.reserveCapacity(rows.count)
        for row in rows {
            switch row.values[column] {
            case .int64(let number): numbers.append(number)
            case .null: continue
            default: return nil
            }
        }
        numbers.sort()
        var values: [WireValue] = []
        values.reserveCapacity(numbers.count)
        for (position, number) in numbers.enumerated() where position == 0 || numbers[position - 1] != number {
            values.append(.int64(number))
        }
        return values
    }
}
