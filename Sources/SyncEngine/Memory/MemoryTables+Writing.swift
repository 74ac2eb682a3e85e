import AdapterKit
import SyncEngine

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
