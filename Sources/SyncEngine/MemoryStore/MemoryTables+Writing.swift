import AdapterKit
import RecordStorage

extension MemoryTables {
    /// What the next change gets.
    var next: Revision { Revision(position.number + 1) }

    /// Puts a record where another or none was, nil removes it; and the log entry.
    mutating func put(_ record: Record?, inPlaceOf before: Record?, in id: CollectionID, at time: WireDate) {
        guard let entity = collections[id]?.entity, let recordID = record?.id ?? before?.id else { return }
        position = next
        positions[id.adapter] = position
        collections[id]?.put(record, at: recordID)
        var scope = WireDictionary()
        if let before { for field in scopeFields[id] ?? [] { scope[field.text] = before[field] } }
        log.append(
            LogEntry(
                position: position, collection: id, id: recordID, kind: record == nil ? .remove : .put, time: time,
                previousRevision: before?.revision, previousScopeValues: scope,
                changedFields: entity.changedFields(before, record)))
    }
}

extension MemoryTables {
    /// Deletes a record with everything that belongs to it, which goes first.
    mutating func remove(_ record: Record, in id: CollectionID, by author: String, at time: WireDate) {
        var doomed = [(collection: id, record: record)]
        var known: [CollectionID: Set<RecordID>] = [id: [record.id]]
        var next = 0
        while next < doomed.count {
            for (owned, field) in references(to: doomed[next].collection, owning: true) {
                for found in referring(to: doomed[next].record.id, owned, field)
                where known[owned, default: []].insert(found.id).inserted {
                    doomed.append((owned, found))
                }
            }
            next += 1
        }
        for (collection, record) in doomed.reversed() {
            put(nil, inPlaceOf: record, in: collection, at: time)
            if collections[collection]?.entity.hasPrivateRows == true {
                retired[collection, default: [:]][record.id] = author
            }
        }
    }

    /// Whether a caller is told that the id is taken although no record has it.
    func isReserved(_ id: RecordID, in collection: CollectionID, for author: String) -> Bool {
        if let retired = retired[collection]?[id], retired.isEmpty || !retired.hasSameBytes(as: author) { return true }
        return references(to: collection, owning: false).contains { !referring(to: id, $0, $1).isEmpty }
    }

    private func references(to id: CollectionID, owning: Bool) -> [(CollectionID, FieldName)] {
        collections.filter { $0.key.adapter == id.adapter }.flatMap { other, collection in
            (owning ? collection.entity.owners : collection.entity.references).filter { $0.entity == id.entity }
                .map { (other, $0.field) }
        }
    }

    private func referring(to id: RecordID, _ collection: CollectionID, _ field: FieldName) -> [Record] {
        (collections[collection]?.records.values.filter { RecordID(key: $0[field]) == id } ?? [])
            .sorted { $0.revision < $1.revision }
    }
}

extension MemoryCollection {
    mutating func put(_ record: Record?, at id: RecordID) {
        records[id] = record
        if let record, let number = record[entity.key.field].int64Value { largestKey = max(largestKey, number) }
    }

    func freshID(_ ids: any RecordIDSource) -> RecordID {
        guard case .integer? = entity.field(entity.key.field)?.shape else { return ids.next() }
        return RecordID(unchecked: String(largestKey + 1))
    }

    /// Throws `record.exists` where another record has the values of a unique index. Two nulls are not equal.
    func checkUnique(_ record: Record) throws(PorticoError) {
        for index in entity.indexes where index.isUnique {
            let taken = records.values.contains { other in
                other.id != record.id
                    && index.fields.allSatisfy { ValueOrder.compare(other[$0], record[$0]) == 0 }
            }
            if taken {
                throw PorticoError(
                    .recordExists, "Another record has the same value where each must be unique.",
                    target: index.fields.map(\.text).joined(separator: ","))
            }
        }
    }
}

extension Entity {
    fileprivate func changedFields(_ before: Record?, _ after: Record?) -> [FieldName]? {
        guard let before, let after else { return nil }
        return fields.map(\.name).filter { before[$0] != after[$0] }
    }
}
