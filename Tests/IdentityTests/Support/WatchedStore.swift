import AdapterKit
import MemoryStore
import RecordStorage
import Synchronization

/// Passes everything on, remembers what was asked, and fails when told to. It yields at each call, so that callers interleave.
final class WatchedStore: Store {
    enum Operation: Hashable {
        case read(EntityName)
        case write([EntityName])
    }

    let inner = MemoryStore(clock: TestClock())
    private let operations = Mutex<[Operation]>([])
    private let failure = Mutex<PorticoError?>(nil)
    private let beforeWrite = Mutex<(@Sendable (WriteTransaction) async -> Void)?>(nil)

    func failWrites(_ error: PorticoError?) { failure.withLock { $0 = error } }

    /// Runs once, before the next write reaches the store: somebody else's write in the worst moment.
    func interfere(_ action: @escaping @Sendable (WriteTransaction) async -> Void) {
        beforeWrite.withLock { $0 = action }
    }

    func takeOperations() -> [Operation] {
        operations.withLock { operations in
            defer { operations = [] }
            return operations
        }
    }

    var epoch: Epoch { inner.epoch }
    var position: Revision { inner.position }
    func position(of adapter: AdapterName) -> Revision { inner.position(of: adapter) }
    func knownVersion(of adapter: AdapterName) -> RecordsVersion? { inner.knownVersion(of: adapter) }

    func currentVersion(of adapter: AdapterName) async throws -> RecordsVersion {
        try await inner.currentVersion(of: adapter)
    }

    func install(_ collections: [CollectionDeclaration]) async throws { try await inner.install(collections) }
    func close() async {}
    var floor: Revision { inner.floor }

    func changes(after position: Revision, limit: Int) async throws -> [LogEntry] {
        try await inner.changes(after: position, limit: limit)
    }

    func withReadSnapshot<Result: Sendable>(
        expecting reads: [StoreRead], _ body: @escaping @Sendable (any StoreSnapshot) throws -> Result
    ) async throws -> Result {
        try await inner.withReadSnapshot(expecting: reads, body)
    }

    func transact<Result: Sendable>(
        weight: Int, expecting reads: [StoreRead],
        _ body: @escaping @Sendable (any StoreTransaction) throws -> Result
    ) async throws -> Result {
        try await inner.transact(weight: weight, expecting: reads, body)
    }

    func compact(_ bound: CompactionBound, dryRun: Bool) async throws -> Compaction {
        try await inner.compact(bound, dryRun: dryRun)
    }

    func forgetCopies(keptBefore instant: WireDate, dryRun: Bool) async throws -> Int {
        try await inner.forgetCopies(keptBefore: instant, dryRun: dryRun)
    }

    func observe<Observer: AnyObject & Sendable>(
        _ observer: Observer, _ body: @escaping @Sendable (Observer, Revision) -> Void
    ) { inner.observe(observer, body) }

    func record(_ id: RecordID, in collection: CollectionID, visible: Filter?) async throws -> Record? {
        operations.withLock { $0.append(.read(collection.entity)) }
        await Task.yield()
        return try await inner.record(id, in: collection, visible: visible)
    }

    func query(_ query: Query, in collection: CollectionID) async throws -> RecordPage {
        operations.withLock { $0.append(.read(collection.entity)) }
        await Task.yield()
        return try await inner.query(query, in: collection)
    }

    func count(_ filter: Filter?, in collection: CollectionID) async throws -> Int {
        try await inner.count(filter, in: collection)
    }

    func write(_ transaction: WriteTransaction) async throws -> WriteReceipt {
        let action = beforeWrite.withLock { action in
            defer { action = nil }
            return action
        }
        await action?(transaction)
        operations.withLock { $0.append(.write(transaction.steps.map(\.change.entity))) }
        if let error = failure.withLock({ $0 }) { throw error }
        await Task.yield()
        return try await inner.write(transaction)
    }
}
