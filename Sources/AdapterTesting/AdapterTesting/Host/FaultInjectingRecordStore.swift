import AdapterKit
import Synchronization

/// Records with something happening in the moment before each write: another writer, an outage.
///
/// ```swift
/// let records = FaultInjectingRecordStore(memory.unrestricted) { write in
///     if write == 1 { try await memory.unrestricted.update("tea", ["price": 3], in: "goods") }
/// }
/// ```
public final class FaultInjectingRecordStore: RecordStore {
    private let base: any RecordStore
    private let interruption: @Sendable (_ write: Int) async throws -> Void
    private let writes = Mutex(0)

    /// `interruption` gets the number of the write, from 1; what it throws is what the writer meets.
    public init(_ base: any RecordStore, _ interruption: @escaping @Sendable (_ write: Int) async throws -> Void) {
        self.base = base
        self.interruption = interruption
    }

    public func record(_ id: RecordID, in entity: EntityName) async throws -> Record? {
        try await base.record(id, in: entity)
    }

    public func query(_ query: Query, in entity: EntityName) async throws -> RecordPage {
        try await base.query(query, in: entity)
    }

    public func count(_ filter: Filter?, in entity: EntityName) async throws -> Int {
        try await base.count(filter, in: entity)
    }

    public func apply(_ changes: [RecordChange]) async throws -> WriteReceipt {
        let write = writes.withLock { count in
            count += 1
            return count
        }
        try await interruption(write)
        return try await base.apply(changes)
    }
}
