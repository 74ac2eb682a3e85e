import AdapterKit

/// The records of an adapter that has none.
struct NoRecords: RecordStore {
    func record(_ id: RecordID, in entity: EntityName) async throws -> Record? { nil }
    func query(_ query: Query, in entity: EntityName) async throws -> RecordPage { RecordPage(records: [], next: nil) }
    func count(_ filter: Filter?, in entity: EntityName) async throws -> Int { 0 }
    func apply(_ changes: [RecordChange]) async throws -> WriteReceipt {
        throw PorticoError(.recordNotFound, "There are no records.")
    }
}
