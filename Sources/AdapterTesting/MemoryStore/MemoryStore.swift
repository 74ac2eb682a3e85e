import AdapterKit
import RecordStorage
import Synchronization

/// A store in memory, for simulations and tests: what ``Store`` promises, without the durability.
///
/// Everything happens within the call that asks for it, one call after the other, so a simulation that makes its calls
/// in one order gets the same answers each time. What the process acknowledged is in ``image``, which takes the place of
/// a disk: a store made from it goes on as after a crash, or as after a restore where it gets another epoch.
public final class MemoryStore: Store {
    public let epoch: Epoch
    private let clock: any WallClock
    private let ids: any RecordIDSource
    private let state: Mutex<MemoryTables?>
    private let observers = CommitObservers()

    public init(
        _ image: MemoryTables = MemoryTables(), epoch: Epoch = Epoch("memory"), clock: any WallClock,
        ids: any RecordIDSource = RandomRecordIDs()
    ) {
        self.epoch = epoch
        self.clock = clock
        self.ids = ids
        state = Mutex(image)
    }

    /// Everything that is stored. Throws `store.unavailable` once the store is closed.
    public var image: MemoryTables {
        get throws(PorticoError) {
            guard let tables = state.withLock({ $0 }) else { throw Self.closed }
            return tables
        }
    }

    public func close() async { state.withLock { $0 = nil } }

    private static let closed = PorticoError(.storeUnavailable, "The store is closed.")
}

extension MemoryStore {
    public func install(_ collections: [CollectionDeclaration]) async throws {
        let now = clock.now()
        try change { try $0.install(collections, at: now) }
    }

    public func record(_ id: RecordID, in collection: CollectionID, visible: Filter?) async throws -> Record? {
        try image.record(id, in: collection, visible: visible)
    }

    public func query(_ query: Query, in collection: CollectionID) async throws -> RecordPage {
        try image.query(query, in: collection)
    }

    public func count(_ filter: Filter?, in collection: CollectionID) async throws -> Int {
        try image.count(filter, in: collection)
    }

    public func changes(after position: Revision, limit: Int) async throws -> [LogEntry] {
        try image.changes(after: position, limit: limit)
    }

    public func withReadSnapshot<Result: Sendable>(
        expecting reads: [StoreRead], _ body: @escaping @Sendable (any StoreSnapshot) throws -> Result
    ) async throws -> Result {
        try body(try image)
    }

    public func write(_ transaction: WriteTransaction) async throws -> WriteReceipt {
        try await transact(weight: transaction.steps.count) { try $0.apply(transaction) }
    }

    public func transact<Result: Sendable>(
        weight: Int, expecting reads: [StoreRead], _ body: @escaping @Sendable (any StoreTransaction) throws -> Result
    ) async throws -> Result {
        let now = clock.now()
        return try change { tables in
            let transaction = MemoryTransaction(tables, now: now, ids: ids)
            let result = try body(transaction)
            tables = transaction.tables
            return result
        }
    }

    public func compact(_ bound: CompactionBound, dryRun: Bool) async throws -> Compaction {
        if dryRun {
            var tables = try image
            return tables.compact(bound)
        }
        return try change { $0.compact(bound) }
    }

    public func forgetCopies(keptBefore instant: WireDate, dryRun: Bool) async throws -> Int {
        let isOld = { (copy: KeptCopy) in
            copy.time.secondsSinceReferenceDate < instant.secondsSinceReferenceDate
        }
        if dryRun { return try image.kept.count(where: isOld) }
        return try change { tables in
            defer { tables.kept.removeAll(where: isOld) }
            return tables.kept.count(where: isOld)
        }
    }

    public var position: Revision { state.withLock { $0?.position ?? Revision(0) } }

    public var floor: Revision { state.withLock { $0?.floor ?? Revision(0) } }

    public func position(of adapter: AdapterName) -> Revision {
        state.withLock { $0?.positions[adapter] ?? Revision(0) }
    }

    public func observe<Observer: AnyObject & Sendable>(
        _ observer: Observer, _ body: @escaping @Sendable (Observer, Revision) -> Void
    ) {
        observers.add(observer, body)
    }

    private func change<Result>(_ body: (inout MemoryTables) throws -> Result) throws -> Result {
        let before = position
        let result = try state.withLock { state in
            guard var tables = state else { throw Self.closed }
            let result = try body(&tables)
            state = tables
            return result
        }
        let after = position
        if after > before { observers.notify(after) }
        return result
    }
}
