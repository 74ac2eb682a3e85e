import AdapterKit
import ODataRecords

/// What is known of changed records, by entity.
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

/// Which entity an expanded one belongs to, or belonged to.
struct Belonging: Hashable {
    /// Of the values by which the owner is found; nothing for the rows of the result itself.
    let owner: RowKey
    let id: RecordID
}

/// A change, and to which owner it belongs.
struct OwnedChange {
    let change: ResultChange
    /// The values that the owner has in its ``ExpansionPlan/near`` columns.
    let owner: [WireValue]
}
