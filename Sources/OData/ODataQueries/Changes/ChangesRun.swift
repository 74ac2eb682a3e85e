import AdapterKit
import ODataRecords

/// Finds what has changed among the rows of a level, from the records that changed.
///
/// Each changed record is asked for once, by its key and with the level's condition: it is there, or it is gone. Whoever
/// follows the result drops what is gone and was never there. Rows whose expanded entities changed are found by the
/// values that those have, or had.
struct ChangesRun {
    /// Rows of one level that one page's changes may concern; with more, reading again is cheaper.
    static let mostRows = 20_000
    private static let batch = 8_192

    let snapshot: any RecordSnapshot
    let limits: QueryLimits
    let news: ChangedRecordIndex
    /// Whether rows that did not change themselves are told whole.
    let isWhole: Bool

    /// Of the result itself, or of one that is expanded.
    func changes(of level: LevelPlan, in expansion: ExpansionPlan? = nil) throws -> [OwnedChange] {
        guard let table = level.shape.table, let keyColumn = level.keyColumn else { return [] }
        let belongings = BelongingReader(run: self, level: level, expansion: expansion, table: table)
        let beneath = try level.expansions.map { try self.changes(of: $0.level, in: $0) }
        var whole = try rows(of: level, where: level.relation.columns[keyColumn], among: belongings.keys)
        let owners = whole.map { expansion.map(ownerOf($0)) ?? [] }
        let found = zip(whole, owners).compactMap { row, owner in
            RecordID(key: row.values[keyColumn]).map { Belonging(owner: RowKey(owner), id: $0) }
        }
        try ExpansionRun(snapshot: snapshot, limits: limits).expand(&whole, level.expansions)
        var changes = try belongings.gone(except: Set(found))
        changes += zip(whole, owners).map { OwnedChange(change: .whole($0), owner: $1) }
        return changes + (try within(level, expansion, keyColumn, beneath, except: Set(found)))
    }

    /// Rows that did not change themselves.
    private func within(
        _ level: LevelPlan, _ expansion: ExpansionPlan?, _ keyColumn: Int, _ beneath: [[OwnedChange]],
        except found: Set<Belonging>
    ) throws -> [OwnedChange] {
        var seen = found
        var written = 0
        var changes: [OwnedChange] = []
        // Rows that have the same changes share them.
        let groups = beneath.map { changes in
            Dictionary(grouping: changes) { RowKey($0.owner) }.mapValues { $0.map(\.change) }
        }
        for (position, inner) in level.expansions.enumerated() where !beneath[position].isEmpty {
            let values = beneath[position].compactMap(\.owner.first)
            let column = level.relation.columns[inner.near[0]]
            for row in try rows(of: level, where: column, among: values) {
                let owner = expansion.map(ownerOf(row)) ?? []
                guard let id = RecordID(key: row.values[keyColumn]) else { continue }
                guard !seen.contains(Belonging(owner: RowKey(owner), id: id)) else { continue }
                let parts = level.expansions.enumerated().map { place, plan in
                    groups[place][RowKey(row, at: plan.near)] ?? []
                }
                guard parts.contains(where: { !$0.isEmpty }) else { continue }
                seen.insert(Belonging(owner: RowKey(owner), id: id))
                let change = try told(row, parts, of: level)
                if case .whole(let row) = change { written += row.entities }
                guard written <= limits.writtenRows else { throw limits.tooManyWritten }
                changes.append(OwnedChange(change: change, owner: owner))
            }
        }
        return changes
    }

    private func told(_ row: ResultRow, _ parts: [[ResultChange]], of level: LevelPlan) throws -> ResultChange {
        guard isWhole else { return .within(row, parts) }
        var rows = [row]
        try ExpansionRun(snapshot: snapshot, limits: limits).expand(&rows, level.expansions)
        return .whole(rows[0])
    }

    private func ownerOf(_ row: ResultRow) -> (ExpansionPlan) -> [WireValue] {
        { expansion in expansion.farColumns.map { row.values[$0] } }
    }

    /// The level's rows for which a column has one of the values.
    private func rows(
        of level: LevelPlan, where column: RowExpression, among values: [WireValue]
    ) throws -> [ResultRow] {
        var rows: [ResultRow] = []
        var unique: Set<RowKey> = []
        let values = values.filter { !$0.isNull && unique.insert(RowKey([$0])).inserted }
        for start in stride(from: 0, to: values.count, by: Self.batch) {
            var relation = level.relation
            let belongs = RowExpression.oneOf(column, Array(values[start..<min(start + Self.batch, values.count)]))
            relation.condition = relation.condition.map { .all([belongs, $0]) } ?? belongs
            relation.limit = Self.mostRows + 1 - rows.count
            try snapshot.rows(relation) { rows.append(try ResultRow(reading: $0)) }
            guard rows.count <= Self.mostRows else {
                throw PorticoError(.fetchAgain, "Too much has changed since then. Fetch everything again.")
            }
        }
        return rows
    }
}

extension LevelPlan {
    /// Where the record's key is in the level's rows.
    var keyColumn: Int? {
        guard let table = shape.table, let source = recordSource else { return nil }
        return relation.columns.firstIndex(of: .field(source, table.keyField))
    }

    /// The source of the level's own records: behind links they are joined.
    var recordSource: SourceName? {
        for source in [relation.source] + relation.joins.map(\.source) {
            if case .records(let entity, let name) = source, entity == shape.table?.entity { return name }
        }
        return nil
    }
}
