/// What an import changes: decided whole before anything is written.
///
/// Rows that are there already as they are make no change, so that importing a file again moves nothing to devices.
struct ImportPlan {
    private(set) var changes: [RecordChange] = []
    private var created: Int64 = 0
    private var changed: Int64 = 0
    private var unchanged: Int64 = 0
    private var deleted: Int64 = 0

    private let entity: Entity

    /// Throws for the first row that cannot be taken, with `rows[n].key` as the target.
    init(
        _ rows: [WireDictionary], of entity: Entity, over existing: [RecordID: Record], mode: RecordImport.Mode
    ) throws(PorticoError) {
        self.entity = entity
        let ids = try Self.ids(of: rows, entity)
        if mode == .replace { remove(existing.keys.filter { !ids.named.contains($0) }) }
        for (position, row) in rows.enumerated() {
            guard let id = ids.all[position] else {
                create(nil, row)
                continue
            }
            guard let record = existing[id] else {
                create(id, row)
                continue
            }
            guard mode == .replace else {
                throw Self.refusal(.recordExists, "There is a record \(id) already.", position, entity)
            }
            replace(record, row)
        }
    }

    var outcome: WireValue {
        [
            "created": .int64(created), "changed": .int64(changed), "unchanged": .int64(unchanged),
            "deleted": .int64(deleted),
        ]
    }

    private mutating func remove(_ ids: [RecordID]) {
        changes += ids.sorted().map { RecordChange(entity.name, .delete($0)) }
        deleted += Int64(ids.count)
    }

    private mutating func create(_ id: RecordID?, _ row: WireDictionary) {
        changes.append(RecordChange(entity.name, .create(id, row)))
        created += 1
    }

    private mutating func replace(_ record: Record, _ row: WireDictionary) {
        guard entity.differs(row, from: record) else {
            unchanged += 1
            return
        }
        changes.append(
            RecordChange(entity.name, .replace(record.id, row, orCreate: false), if: .revision(record.revision)))
        changed += 1
    }
}

extension ImportPlan {
    /// Each row's id, nil where the server chooses one; and all that are named, each once.
    private static func ids(
        of rows: [WireDictionary], _ entity: Entity
    ) throws(PorticoError) -> (all: [RecordID?], named: Set<RecordID>) {
        var all: [RecordID?] = []
        var named: Set<RecordID> = []
        for (position, row) in rows.enumerated() {
            guard let key = row[entity.key.field.text] else {
                all.append(nil)
                continue
            }
            guard let id = RecordID(key: key) else {
                throw refusal(.requestInvalid, "The value cannot be a key.", position, entity)
            }
            guard named.insert(id).inserted else {
                throw refusal(.requestInvalid, "An earlier row has the key \(id) too.", position, entity)
            }
            all.append(id)
        }
        return (all, named)
    }

    private static func refusal(_ code: ErrorCode, _ message: String, _ row: Int, _ entity: Entity) -> PorticoError {
        PorticoError(code, message, target: "rows[\(row)].\(entity.key.field)")
    }
}

extension Entity {
    /// Whether replacing the record by the row would change what callers give.
    fileprivate func differs(_ row: WireDictionary, from record: Record) -> Bool {
        fields.contains { field in
            guard field.source == .caller || field.source == .callerOnCreate, field.name != key.field else {
                return false
            }
            return (row[field.name.text] ?? field.defaultValue ?? .null) != record[field.name]
        }
    }
}
