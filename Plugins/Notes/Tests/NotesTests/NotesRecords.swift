import AdapterKit
import AdapterTesting
import Notes
import Testing

extension MemoryRecords {
    /// The records as a user of this name sees them.
    func seen(by name: String) -> any RecordStore { seen(by: Principal(kind: .user, id: name, name: name)) }
}

/// Records in which somebody else is faster: before each of the first writes it lets another change happen.
actor ChangedMeanwhile: RecordStore {
    private let base: any RecordStore
    private var remaining: Int
    private let change: @Sendable () async throws -> Void

    init(_ base: any RecordStore, times: Int, _ change: @escaping @Sendable () async throws -> Void) {
        self.base = base
        self.remaining = times
        self.change = change
    }

    func record(_ id: RecordID, in entity: EntityName) async throws -> Record? {
        try await base.record(id, in: entity)
    }

    func query(_ query: Query, in entity: EntityName) async throws -> RecordPage {
        try await base.query(query, in: entity)
    }

    func count(_ filter: Filter?, in entity: EntityName) async throws -> Int {
        try await base.count(filter, in: entity)
    }

    func apply(_ changes: [RecordChange]) async throws -> WriteReceipt {
        if remaining > 0 {
            remaining -= 1
            try await change()
        }
        return try await base.apply(changes)
    }
}

/// What the host learns of the plugin.
enum Declared {
    static func adapter() throws -> AdapterDeclaration {
        try NotesModule.declare(AdapterConfiguration())
    }

    static func notes() throws -> Entity {
        try #require(adapter().entity("notes"))
    }
}
