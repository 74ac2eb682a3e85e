import AdapterKit

/// Brings a level's rows what was asked to be expanded: one question for each property and level, whatever the number
/// of rows.
struct ExpansionRun {
    let moment: any RecordMoment
    let limits: QueryLimits

    /// How many rows one question is about.
    private static let batch = 8192

    func expand(_ rows: inout [ResultRow], _ expansions: [ExpansionPlan]) throws {
        for expansion in expansions { try expand(&rows, expansion) }
    }

    private func expand(_ rows: inout [ResultRow], _ expansion: ExpansionPlan) throws {
        let keys = rows.map { RowKey($0, at: expansion.near) }
        var found = try entities(of: rows, expansion)
        let counts = try expansion.level.count.map { try self.counts($0, of: rows, expansion) }
        let owners = found.map { RowKey($0, at: expansion.farColumns) }
        try expand(&found, expansion.level.expansions)
        var places: [RowKey: [Int]] = [:]
        for (position, owner) in owners.enumerated() where !owner.hasNull {
            places[owner, default: []].append(position)
        }
        for (position, key) in keys.enumerated() {
            let own = key.hasNull ? [] : (places[key] ?? []).map { found[$0] }
            let count = counts.map { key.hasNull ? 0 : $0[key] ?? 0 }
            rows[position].expanded.append(ExpandedRows(rows: own, count: count))
        }
    }

    private func entities(of rows: [ResultRow], _ expansion: ExpansionPlan) throws -> [ResultRow] {
        if expansion.content == .count { return [] }
        var found: [ResultRow] = []
        for values in batches(of: rows, expansion) {
            var relation = narrowed(expansion.level.relation, expansion, values)
            relation.limit = limits.expandedRows + 1 - found.count
            try moment.rows(relation) { found.append(try ResultRow(reading: $0)) }
            guard found.count <= limits.expandedRows else {
                throw PorticoError(
                    .requestLimitExceeded,
                    "An expansion brings at most \(limits.expandedRows) entities; ask for fewer with $top.")
            }
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
            try moment.rows(relation) { row in
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
        var seen: Set<RowKey> = []
        var values: [WireValue] = []
        for row in rows where !row.values[first].isNull && seen.insert(RowKey(row, at: [first])).inserted {
            values.append(row.values[first])
        }
        return stride(from: 0, to: values.count, by: Self.batch).map {
            Array(values[$0..<min($0 + Self.batch, values.count)])
        }
    }
}

/// Values that tell to which row another belongs.
struct RowKey: Hashable {
    private let parts: [String]
    let hasNull: Bool

    init(_ row: ResultRow, at columns: some Sequence<Int>) {
        self.init(columns.lazy.map { row.values[$0] })
    }

    init(_ values: some Sequence<WireValue>) {
        var parts: [String] = []
        var hasNull = false
        for value in values {
            hasNull = hasNull || value.isNull
            parts.append(Self.text(value))
        }
        self.parts = parts
        self.hasNull = hasNull
    }

    /// Equal for equal numbers, whatever their kind.
    private static func text(_ value: WireValue) -> String {
        switch value {
        case .string(let text): "s\(text)"
        case .int64(let number): "n\(number)"
        case .decimal(let number): number.narrowed.map(Self.text) ?? "m\(number)"
        case .double(let number): Int64(exactly: number).map { "n\($0)" } ?? "d\(number)"
        case .date(let instant): "z\(instant.secondsSinceReferenceDate)"
        default: "\(value)"
        }
    }
}
