import AdapterKit

/// The records as one request of a change set has them.
struct StagedRecords: RecordStore {
    let base: any RecordStore
    let stage: ChangeSetBarrier

    func record(_ id: RecordID, in entity: EntityName) async throws -> Record? {
        await stage.record(id, in: entity, try await base.record(id, in: entity))
    }

    func query(_ query: Query, in entity: EntityName) async throws -> RecordPage {
        try await base.query(query, in: entity)
    }

    func count(_ filter: Filter?, in entity: EntityName) async throws -> Int {
        try await base.count(filter, in: entity)
    }

    func apply(_ changes: [RecordChange]) async throws -> WriteReceipt {
        var free: [RecordChange] = []
        for change in changes { free.append(await unconditional(change)) }
        if let receipt = try await stage.hold(free) { return receipt }
        return try await base.apply(changes)
    }

    /// What the change set has made or changed has no revision that anybody could have read.
    private func unconditional(_ change: RecordChange) async -> RecordChange {
        guard case .revision = change.condition else { return change }
        switch change.action {
        case .update(let id, _), .replace(let id, _, _), .delete(let id):
            return await stage.has(id, in: change.entity) ? RecordChange(change.entity, change.action) : change
        case .create: return change
        }
    }

    func withReadSnapshot<Result: Sendable>(
        _ body: @escaping @Sendable (any RecordSnapshot) throws -> Result
    ) async throws -> Result {
        try await base.withReadSnapshot(body)
    }
}
