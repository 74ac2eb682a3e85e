import AdapterKit

/// Finds the changes in the rows of a level from the records that changed.
///
/// Each changed record is queried once, by its key and with the level's condition. Clients ignore removals of rows that
/// they never had. Rows whose expanded entities changed are found by the values that those have, or had.
struct ChangesReader {
    /// Rows of one level that one page's changes may concern; with more, reading again is cheaper.
    static let mostRows = 20_000
    private static let batch = 8_192

    let snapshot: any RecordSnapshot
    let limits: QueryLimits
    let changed: ChangedRecordIndex
    /// Whether rows whose expansions alone changed are reported whole.
    let isWhole: Bool

    /// The changes of the result itself, or of one that is expanded.
    func changes(of level: LevelPlan, in expansion: ExpansionPlan? = nil) throws -> [OwnedChange] {
        guard let table = level.shape.table, let keyColumn = level.keyColumn else { return [] }
        let belongings = OwnerReader(run: self, level: level, expansion: expansion, table: table)
        let beneath = try level.expansions.map { try self.changes(of: $0.level, in: $0) }
        var whole = try rows(of: level, where: level.relation.columns[keyColumn], among: belongings.keys)
        let owners = whole.map { expansion.map(ownerOf($0)) ?? [] }
        let found = zip(whole, owners).compactMap { row, owner in
            RecordID(key: row.values[keyColumn]).map { OwnedRecord(owner: RowKey(owner), id: $0) }
        }
        try ExpansionReader(snapshot: snapshot, limits: limits).expand(&whole, level.expansions)
        var changes = try belongings.gone(except: Set(found))
        changes += zip(whole, owners).map { OwnedChange(change: .whole($0), owner: $1) }
        return changes + (try within(level, expansion, keyColumn, beneath, except: Set(found)))
    }

    /// Rows that did not change themselves.
    private func within(
        _ level: LevelPlan, _ expansion: ExpansionPlan?, _ keyColumn: Int, _ beneath: [[OwnedChange]],
        except found: Set<OwnedRecord>
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
                guard !seen.contains(OwnedRecord(owner: RowKey(owner), id: id)) else { continue }
                let parts = level.expansions.enumerated().map { entity, plan in
                    groups[entity][RowKey(row, at: plan.near)] ?? []
                }
                guard parts.contains(where: { !$0.isEmpty }) else { continue }
                seen.insert(OwnedRecord(owner: RowKey(owner), id: id))
                let change = try identified(row, parts, of: level)
                if case .whole(let row) = change { written += row.entities }
                guard written <= limits.writtenRows else { throw limits.tooManyWritten }
                changes.append(OwnedChange(change: change, owner: owner))
            }
        }
        return changes
    }

    private func identified(_ row: ResultRow, _ parts: [[ResultChange]], of level: LevelPlan) throws -> ResultChange {
        guard isWhole else { return .within(row, parts) }
        var rows = [row]
        try ExpansionReader(snapshot: snapshot, limits: limits).expand(&rows, level.expansions)
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

/// A change of one row of a result.
public indirect enum ResultChange: Sendable {
    /// It is there, new or changed: all of it, and what it expands.
    case whole(ResultRow)
    /// It is as it was, but entities that it expands are not: for each of the shape's expansions what has changed.
    case within(ResultRow, [[ResultChange]])
    /// It is no row of the result any more.
    case gone(RecordID, RemovalReason)
}

public enum RemovalReason: String, Sendable {
    /// The record does not exist any more.
    case deleted
    /// It is no longer among those that were asked for, or the reader sees it no more.
    case changed
}

/// A page of changes of a result.
public struct ChangesPage: Sendable {
    public let shape: ResultShape
    /// The changes; what is gone comes first.
    public let changes: [ResultChange]
    /// To go on from.
    public let mark: ChangeCursor
    /// Whether there is nothing more.
    public let isComplete: Bool
}

/// Changed records by entity.
struct ChangedRecordIndex {
    private var byEntity: [EntityName: [ChangedRecord]] = [:]

    init(_ records: [ChangedRecord]) {
        for record in records { byEntity[record.entity, default: []].append(record) }
    }

    func records(of entity: EntityName) -> [ChangedRecord] { byEntity[entity] ?? [] }

    func isDeleted(_ id: RecordID, of entity: EntityName) -> Bool {
        records(of: entity).contains { $0.id == id && $0.state == .deleted }
    }
}

/// An expanded entity and the owner that it belongs to, or belonged to.
struct OwnedRecord: Hashable {
    /// The key of the values by which the owner is found; nothing for the rows of the result itself.
    let owner: RowKey
    let id: RecordID
}

/// A change and the owner that the changed entity belongs to.
struct OwnedChange {
    let change: ResultChange
    /// The values that the owner has in its ``ExpansionPlan/near`` columns.
    let owner: [WireValue]
}

/// Finds which records of a level changed, and their owners before and after the change.
struct OwnerReader {
    let run: ChangesReader
    let level: LevelPlan
    /// Nil for the result itself.
    let expansion: ExpansionPlan?
    let table: RecordTable

    private var records: [ChangedRecord] { run.changed.records(of: table.entity) }

    /// The keys of the records that may be rows of the level now, and were not or not as they are.
    var keys: [WireValue] {
        let own = records.filter { $0.state == .visible }.map { table.keyValue(of: $0.id) }
        return own + pairs.map { table.keyValue(of: $0.target) }
    }

    /// The records that are not where they were. `found` are the rows that there are.
    func gone(except found: Set<OwnedRecord>) throws -> [OwnedChange] {
        guard let expansion else {
            let ids = Set(found.map(\.id))
            return records.filter { !ids.contains($0.id) }.map { gone($0.id, from: []) }
        }
        var identified = found
        var changes: [OwnedChange] = []
        for (id, owner) in try former(expansion) where !owner.contains(where: \.isNull) {
            guard identified.insert(OwnedRecord(owner: RowKey(owner), id: id)).inserted else { continue }
            changes.append(gone(id, from: owner))
        }
        return changes
    }

    private func gone(_ id: RecordID, from owner: [WireValue]) -> OwnedChange {
        let isDeleted = run.changed.isDeleted(id, of: table.entity)
        return OwnedChange(change: .gone(id, isDeleted ? .deleted : .changed), owner: owner)
    }

    /// To whom the records that changed belonged since the mark, or would if the level's condition held.
    private func former(_ expansion: ExpansionPlan) throws -> [(RecordID, [WireValue])] {
        switch expansion.relation {
        case .fields(_, let parts, _):
            return records.flatMap { record in
                record.previousFields.map { state in
                    let owner = parts.map { part in
                        part.far == table.keyField ? table.keyValue(of: record.id) : state[part.far.text] ?? .null
                    }
                    return (record.id, owner)
                }
            }
        case .links(_, let through, let near, let far, _):
            let linked = pairs.compactMap { pair in
                expansion.owner.map { (pair.target, [$0.keyValue(of: pair.owner)]) }
            }
            return linked + (try currentLinks(through, near, far))
        // Changes of what `$apply` has made are not followed.
        case nil: return []
        }
    }

    /// Current links to changed targets.
    private func currentLinks(
        _ through: EntityName, _ near: FieldName, _ far: FieldName
    ) throws -> [(RecordID, [WireValue])] {
        guard !records.isEmpty else { return [] }
        let link: SourceName = 0
        let targets = records.map { table.keyValue(of: $0.id) }
        let relation = Relation(
            .records(through, as: link), where: .oneOf(.field(link, far), targets),
            columns: [.field(link, far), .field(link, near)], limit: ChangesReader.mostRows)
        return try run.snapshot.rows(relation).compactMap { row in
            RecordID(key: row[0]).map { ($0, [row[1]]) }
        }
    }

    /// Links that came or went.
    private var pairs: [(owner: RecordID, target: RecordID)] {
        guard case .links(_, let through, let near, _, _) = expansion?.relation else { return [] }
        return run.changed.records(of: through).compactMap { record in
            guard let (first, second) = LinkTable.keys(of: record.id) else { return nil }
            return near == LinkTable.near ? (first, second) : (second, first)
        }
    }
}
