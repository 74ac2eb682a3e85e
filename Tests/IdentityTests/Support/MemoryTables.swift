import AdapterKit
import RecordStorage

/// The rows of a ``MemoryStore``, and the rules of the changes on them.
struct MemoryTables: Sendable {
    private(set) var rows: [CollectionID: [RecordID: Record]] = [:]
    private(set) var position = Revision(0)
    private var entities: [CollectionID: Entity] = [:]

    mutating func install(_ collections: [CollectionDeclaration]) {
        for collection in collections {
            entities[collection.id] = collection.entity
            rows[collection.id] = rows[collection.id] ?? [:]
        }
    }

    func records(of collection: CollectionID) throws -> [Record] {
        guard let records = rows[collection] else { throw PorticoError(.storeUnavailable, "No such collection.") }
        return records.values.sorted { $0.id < $1.id }
    }

    func query(_ query: Query, in collection: CollectionID) throws -> RecordPage {
        let matching = try records(of: collection).filter { record in
            query.filter.map { MemoryFilter.matches(record, $0) } ?? true
        }
        let sorted = matching.sorted { MemoryFilter.precedes($0, $1, query.order) }
        guard case .first = query.start else { throw PorticoError(.cursorInvalid, "Only first pages here.") }
        return RecordPage(records: Array(sorted.prefix(query.limit)), next: nil)
    }

    mutating func tamper(_ id: RecordID, in collection: CollectionID, _ change: (WireDictionary) -> WireDictionary?) {
        guard let old = rows[collection]?[id] else { return }
        rows[collection]?[id] = change(old.fields).map { Record(id: id, revision: old.revision, fields: $0) }
    }
}

extension MemoryTables {
    mutating func apply(_ change: RecordChange, in collection: CollectionID) throws -> Record? {
        switch change.action {
        case .create(let id?, let fields):
            try check(change.condition, rows[collection]?[id])
            guard rows[collection]?[id] == nil else { throw PorticoError(.recordExists, "It exists.") }
            return try put(id, fields, in: collection)
        case .update(let id, let fields):
            let old = try existing(id, change.condition, in: collection)
            var merged = old.fields
            for entry in fields.entries { merged[entry.key] = entry.value }
            return try put(id, merged, in: collection)
        case .delete(let id):
            _ = try existing(id, change.condition, in: collection)
            rows[collection]?[id] = nil
            position = Revision(position.number + 1)
            return nil
        case .create(nil, _), .replace:
            throw PorticoError(.requestInvalid, "Identity does not do this.")
        }
    }

    private func existing(_ id: RecordID, _ condition: RecordChange.Condition, in collection: CollectionID) throws
        -> Record
    {
        let record = rows[collection]?[id]
        try check(condition, record)
        guard let record else { throw PorticoError(.recordNotFound, "It is not there.") }
        return record
    }

    private func check(_ condition: RecordChange.Condition, _ record: Record?) throws {
        let holds =
            switch condition {
            case .none: true
            case .absent: record == nil
            case .exists: record != nil
            case .revision(let revision): record?.revision == revision
            }
        guard holds else { throw PorticoError(.preconditionFailed, "The condition does not hold.") }
    }

    private mutating func put(_ id: RecordID, _ fields: WireDictionary, in collection: CollectionID) throws -> Record {
        guard let entity = entities[collection] else { throw PorticoError(.storeUnavailable, "No such collection.") }
        var complete = fields
        complete["id"] = .string(id.text)
        try checkFields(complete, entity)
        for index in entity.indexes where index.isUnique {
            let isTaken = try records(of: collection).contains { other in
                other.id != id && index.fields.allSatisfy { other[$0] == complete[$0.text] ?? .null }
            }
            if isTaken { throw PorticoError(.recordExists, "It exists.") }
        }
        position = Revision(position.number + 1)
        let record = Record(id: id, revision: position, fields: complete)
        rows[collection]?[id] = record
        return record
    }

    private func checkFields(_ fields: WireDictionary, _ entity: Entity) throws {
        for field in entity.fields {
            guard let value = fields[field.name.text] else {
                throw PorticoError(.requestInvalid, "A field is missing.", target: field.name.text)
            }
            let isAllowed = value.isNull ? field.isNullable : MemoryFilter.fits(value, field.shape)
            if !isAllowed { throw PorticoError(.requestInvalid, "A value does not fit.", target: field.name.text) }
        }
        let isKnown = fields.keys.allSatisfy { key in entity.fields.contains { $0.name.text == key } }
        if !isKnown { throw PorticoError(.requestInvalid, "There is no such field.") }
    }
}
