import AdapterKit
import ODataRecords

/// Which of a level's records changed, to whom they belong, and to whom they belonged.
struct BelongingReader {
    let run: ChangesRun
    let level: LevelPlan
    /// Nil for the result itself.
    let expansion: ExpansionPlan?
    let table: RecordTable

    private var records: [ChangedRecord] { run.news.records(of: table.entity) }

    /// The keys of the records that may be rows of the level now, and were not or not as they are.
    var keys: [WireValue] {
        let own = records.filter { $0.state == .visible }.map { table.keyValue(of: $0.id) }
        return own + pairs.map { table.keyValue(of: $0.target) }
    }

    /// What is not where it was. `found` are the rows that there are.
    func gone(except found: Set<Belonging>) throws -> [OwnedChange] {
        guard let expansion else {
            let ids = Set(found.map(\.id))
            return records.filter { !ids.contains($0.id) }.map { gone($0.id, from: []) }
        }
        var told = found
        var changes: [OwnedChange] = []
        for (id, owner) in try former(expansion) where !owner.contains(where: \.isNull) {
            guard told.insert(Belonging(owner: RowKey(owner), id: id)).inserted else { continue }
            changes.append(gone(id, from: owner))
        }
        return changes
    }

    private func gone(_ id: RecordID, from owner: [WireValue]) -> OwnedChange {
        let isDeleted = run.news.isDeleted(id, of: table.entity)
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
            return linked + (try standing(through, near, far))
        // Changes of what `$apply` has made are not followed.
        case nil: return []
        }
    }

    /// Links that stand, of the targets that changed.
    private func standing(
        _ through: EntityName, _ near: FieldName, _ far: FieldName
    ) throws -> [(RecordID, [WireValue])] {
        guard !records.isEmpty else { return [] }
        let link: SourceName = 0
        let targets = records.map { table.keyValue(of: $0.id) }
        let relation = Relation(
            .records(through, as: link), where: .oneOf(.field(link, far), targets),
            columns: [.field(link, far), .field(link, near)], limit: ChangesRun.mostRows)
        return try run.snapshot.rows(relation).compactMap { row in
            RecordID(key: row[0]).map { ($0, [row[1]]) }
        }
    }

    /// Links that came or went.
    private var pairs: [(owner: RecordID, target: RecordID)] {
        guard case .links(_, let through, let near, _, _) = expansion?.relation else { return [] }
        return run.news.records(of: through).compactMap { record in
            guard let (first, second) = LinkTable.keys(of: record.id) else { return nil }
            return near == LinkTable.near ? (first, second) : (second, first)
        }
    }
}
