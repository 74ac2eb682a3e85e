import AdapterKit
import ODataModel
import ODataRecords

/// Deletes an entity with what goes with it: entities that cascade, links, and references that can be null.
struct EntityDeletion: Sendable {
    /// Records that one deletion changes.
    static let maximumChanges = 20_000

    let tables: ServiceTables
    let records: any RecordStore

    func delete(
        _ record: Record, of table: RecordTable, if condition: RecordChange.Condition = .none,
        _ changes: inout ChangeSet
    ) async throws {
        for (name, relation) in table.relations.sorted(by: { $0.key < $1.key }) {
            guard case .fields(let target, let pairs, _) = relation, let far = tables[target] else { continue }
            try await part(record, table, name, pairs, far, &changes)
        }
        for link in tables.links {
            if link.source == table.source { try await unlink(record, table, LinkTable.near, link, &changes) }
            if link.target == table.source { try await unlink(record, table, LinkTable.far, link, &changes) }
        }
        changes.add(RecordChange(table.entity, .delete(record.id), if: condition))
    }

    /// Entities that refer to this one by its key.
    private func part(
        _ record: Record, _ table: RecordTable, _ name: String, _ pairs: [RecordRelation.Pair], _ far: RecordTable,
        _ changes: inout ChangeSet
    ) async throws {
        let isReferredTo = pairs.allSatisfy { pair in
            table.keyNames.contains { table.columns[$0]?.field == pair.near } && pair.far != far.keyField
        }
        let navigation = tables.model.structured(table.type(of: record))?.navigation(name)
        guard isReferredTo || navigation?.onDelete == .cascade else { return }
        let others = try await all(.all(pairs.map { .compare($0.far, .equal, record[$0.near]) }), in: far, changes)
        guard !others.isEmpty else { return }
        if navigation?.onDelete == .cascade {
            for other in others { try await delete(other, of: far, &changes) }
            return
        }
        let isNullable = pairs.allSatisfy { pair in
            far.columns.values.first { $0.field == pair.far }?.type.isNullable == true
        }
        guard isNullable else {
            throw PorticoError(.recordConflict, "There are \(name) that need this entity.", target: name)
        }
        let cleared = WireDictionary(
            uncheckedUniqueKeys: pairs.map { WireDictionary.Entry(key: $0.far.text, value: .null) })
        for other in others { changes.add(RecordChange(far.entity, .update(other.id, cleared))) }
    }

    private func unlink(
        _ record: Record, _ table: RecordTable, _ side: FieldName, _ link: LinkTable, _ changes: inout ChangeSet
    ) async throws {
        let page = try await records.query(
            Query(.compare(side, .equal, record[table.keyField]), limit: Query.maximumLimit), in: link.entity)
        for pair in page.records where !changes.isDeleted(pair.id, in: link.entity) {
            changes.add(RecordChange(link.entity, .delete(pair.id)))
        }
    }

    private func all(_ filter: Filter, in table: RecordTable, _ changes: ChangeSet) async throws -> [Record] {
        let page = try await records.query(Query(filter, limit: Query.maximumLimit), in: table.entity)
        guard page.next == nil, changes.changes.count + page.records.count < Self.maximumChanges else {
            throw PorticoError(.requestLimitExceeded, "Too many entities go with this one.")
        }
        return page.records
    }
}

extension ChangeSet {
    func isDeleted(_ id: RecordID, in entity: EntityName) -> Bool {
        changes.contains { $0.entity == entity && $0.action == .delete(id) }
    }
}
