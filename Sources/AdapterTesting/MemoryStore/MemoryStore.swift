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
    private let shared: SharedTables
    private let observers = CommitObservers()
    private let isClosed = Mutex(false)

    public init(
        _ image: MemoryTables = MemoryTables(), epoch: Epoch = Epoch("memory"), clock: any WallClock,
        ids: any RecordIDSource = RandomRecordIDs()
    ) {
        self.epoch = epoch
        self.clock = clock
        self.ids = ids
        shared = SharedTables(image)
        observeTables()
    }

    /// Another store over the tables of `other`, as another process has it of one database. Each is closed by itself.
    public init(sharing other: MemoryStore) {
        (epoch, clock, ids, shared) = (other.epoch, other.clock, other.ids, other.shared)
        observeTables()
    }

    private func observeTables() {
        shared.observers.add(self) { store, position in
            if !store.isClosed.withLock({ $0 }) { store.observers.notify(position) }
        }
    }

    /// Everything that is stored. Throws `store.unavailable` once the store is closed.
    public var image: MemoryTables {
        get throws(PorticoError) {
            guard !isClosed.withLock({ $0 }) else { throw Self.closed }
            return shared.tables.withLock { $0 }
        }
    }

    public func close() async { isClosed.withLock { $0 = true } }

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

    public var position: Revision { shared.tables.withLock { $0.position } }

    public var floor: Revision { shared.tables.withLock { $0.floor } }

    public func position(of adapter: AdapterName) -> Revision {
        shared.tables.withLock { $0.positions[adapter] ?? Revision(0) }
    }

    /// All stores over the tables are in this process, so what is known here is exact.
    public func knownVersion(of adapter: AdapterName) -> RecordsVersion? { RecordsVersion(position(of: adapter)) }

    public func currentVersion(of adapter: AdapterName) async throws -> RecordsVersion {
        RecordsVersion(position(of: adapter))
    }

    public func observe<Observer: AnyObject & Sendable>(
        _ observer: Observer, _ body: @escaping @Sendable (Observer, Revision) -> Void
    ) {
        observers.add(observer, body)
    }

    private func change<Result>(_ body: (inout MemoryTables) throws -> Result) throws -> Result {
        let (result, before, after) = try shared.tables.withLock { tables in
            guard !isClosed.withLock({ $0 }) else { throw Self.closed }
            let before = tables.position
            var changed = tables
            let result = try body(&changed)
            tables = changed
            return (result, before, changed.position)
        }
        if after > before { shared.observers.notify(after) }
        return result
    }
}

/// The tables that several stores have in common.
private final class SharedTables: Sendable {
    let tables: Mutex<MemoryTables>
    let observers = CommitObservers()

    init(_ tables: MemoryTables) {
        self.tables = Mutex(tables)
    }
}
