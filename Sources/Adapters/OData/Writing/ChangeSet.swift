import AdapterKit
import ODataModel
import ODataRecords

/// The changes of one request, in the order in which they are to be made: one transaction.
struct ChangeSet: Sendable {
    private(set) var changes: [RecordChange] = []
    /// Records that it creates, by entity: references to them need no look-up.
    private var created: [EntityName: [RecordID: WireDictionary]] = [:]

    mutating func create(_ id: RecordID, _ fields: WireDictionary, in entity: EntityName) {
        changes.append(RecordChange(entity, .create(id, fields)))
        created[entity, default: [:]][id] = fields
    }

    mutating func add(_ change: RecordChange) { changes.append(change) }

    func fields(of id: RecordID, in entity: EntityName) -> WireDictionary? { created[entity]?[id] }
}

/// A record that changes refer to: it is there, or the same transaction creates it.
struct KnownRecord: Sendable {
    let id: RecordID
    /// The key field's value, of which the id is the text.
    let key: WireValue
    let fields: WireDictionary

    init(_ id: RecordID, _ fields: WireDictionary, of table: RecordTable) {
        self.id = id
        self.fields = fields
        key = fields[table.keyField.text] ?? .string(id.text)
    }

    subscript(field: FieldName) -> WireValue { fields[field.text] ?? .null }
}
