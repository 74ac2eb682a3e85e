import AdapterKit

/// The records of a request that changes them. Those of a set that the caller may write and not read are found by their
/// keys, so that they can be changed: the answer shows nothing of them.
struct AddressedRecords: RecordStore {
    let base: any RecordStore
    let own: any RecordStore

    func record(_ id: RecordID, in entity: EntityName) async throws -> Record? {
        do {
            return try await base.record(id, in: entity)
        } catch let refusal as PorticoError where refusal.code == .accessDenied || refusal.code == .loginRequired {
            do { try await base.requireAccess(.writes, to: [entity]) } catch { throw refusal }
            return try await own.record(id, in: entity)
        }
    }

    func query(_ query: Query, in entity: EntityName) async throws -> RecordPage {
        try await base.query(query, in: entity)
    }

    func count(_ filter: Filter?, in entity: EntityName) async throws -> Int {
        try await base.count(filter, in: entity)
    }

    func requireAccess(_ effect: Effect, to entities: Set<EntityName>) async throws {
        try await base.requireAccess(effect, to: entities)
    }

    func apply(_ changes: [RecordChange]) async throws -> WriteReceipt { try await base.apply(changes) }

    func withReadSnapshot<Result: Sendable>(
        _ body: @escaping @Sendable (any RecordSnapshot) throws -> Result
    ) async throws -> Result {
        try await base.withReadSnapshot(body)
    }

    func streamSnapshot(
        within time: Duration, _ body: @escaping @Sendable (any RecordSnapshot, any ChunkOutput) throws -> Void
    ) async throws -> any ByteStream {
        try await base.streamSnapshot(within: time, body)
    }
}
