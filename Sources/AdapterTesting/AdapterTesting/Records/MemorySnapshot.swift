import AdapterKit

/// The records at one moment, as the adapter itself has them.
struct MemorySnapshot: RecordSnapshot {
    let tables: MemoryTables

    var position: Revision { tables.position }

    func record(_ id: RecordID, in entity: EntityName) throws -> Record? {
        try tables.record(id, in: entity, seenBy: .adapter)
    }

    func query(_ query: Query, in entity: EntityName) throws -> RecordPage {
        try tables.page(query, in: entity, seenBy: .adapter)
    }

    func count(_ filter: Filter?, in entity: EntityName) throws -> Int {
        try tables.matching(filter, in: entity, seenBy: .adapter).count
    }

    func rows(_ relation: Relation, _ receive: (any RowValues) throws -> Void) throws {
        throw PorticoError(.adapterUnavailable, "These records answer no queries over several entities.")
    }
}
