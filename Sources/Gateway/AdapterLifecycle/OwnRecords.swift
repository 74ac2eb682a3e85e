import AdapterKit

/// An adapter's records on its own authority, as its context has them.
///
/// What is wrong in a request for them is the adapter's mistake and not its caller's: `request.invalid` becomes
/// `server.internal`, with the reason for the log. Within a snapshot an error stays what it is, since it may be the
/// adapter's own refusal of what its caller sent.
struct OwnRecords: RecordStore {
    let records: any RecordStore

    func record(_ id: RecordID, in entity: EntityName) async throws -> Record? {
        try await owning { try await records.record(id, in: entity) }
    }

    func query(_ query: Query, in entity: EntityName) async throws -> RecordPage {
        try await owning { try await records.query(query, in: entity) }
    }

    func count(_ filter: Filter?, in entity: EntityName) async throws -> Int {
        try await owning { try await records.count(filter, in: entity) }
    }

    func requireAccess(_ effect: Effect, to entities: Set<EntityName>) async throws {
        try await records.requireAccess(effect, to: entities)
    }

    func apply(_ changes: [RecordChange]) async throws -> WriteReceipt {
        try await owning { try await records.apply(changes) }
    }

    func withReadSnapshot<Result: Sendable>(
        _ body: @escaping @Sendable (any RecordSnapshot) throws -> Result
    ) async throws -> Result {
        try await records.withReadSnapshot(body)
    }

    func streamSnapshot(
        within time: Duration, _ body: @escaping @Sendable (any RecordSnapshot, any ChunkOutput) throws -> Void
    ) async throws -> any ByteStream {
        try await records.streamSnapshot(within: time, body)
    }

    private func owning<Result: Sendable>(_ body: () async throws -> Result) async throws -> Result {
        do {
            return try await body()
        } catch let error as PorticoError where error.code == .requestInvalid {
            let target = error.target.map { " (\($0))" } ?? ""
            throw PorticoError(
                .serverInternal, "Something went wrong on the server.",
                logDetail: "the adapter asked for its own records wrongly: \(error.message)\(target)")
        }
    }
}
