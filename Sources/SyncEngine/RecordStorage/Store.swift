import AdapterKit

/// One database that keeps every adapter's records and the log of their changes.
///
/// A write is acknowledged only once it is durable, together with its log entries, in one transaction. Operation ids
/// grow strictly, and a reader never sees one before all smaller ones are visible to it. Every method throws
/// ``PorticoError``; implementations are safe to use from any task.
public protocol Store: Sendable {
    /// Changes when an older state was restored: positions of another epoch mean nothing here.
    var epoch: Epoch { get }

    /// Makes the tables fit the declarations, all of them or none. Adds what is new by itself, hides what is declared no
    /// longer; refuses, naming the reason, what would lose data. To be called before anything else, and again where
    /// collections are declared otherwise: by the next commit on, they are.
    func install(_ collections: [CollectionDeclaration]) async throws

    /// The record, where it is there and `visible` (nil: always) holds for it.
    func record(_ id: RecordID, in collection: CollectionID, visible: Filter?) async throws -> Record?

    /// The records that match, in the query's order, one page.
    func query(_ query: Query, in collection: CollectionID) async throws -> RecordPage

    /// The same, but the page ends early where its records would be larger than `bytes` (``Record/writtenSize``), as if
    /// the query's limit were reached. Whatever its size, the first record is in it.
    func query(_ query: Query, in collection: CollectionID, atMost bytes: Int) async throws -> RecordPage

    /// The number of records that match; nil: all of the collection.
    func count(_ filter: Filter?, in collection: CollectionID) async throws -> Int

    /// All of the changes or none.
    func write(_ transaction: WriteTransaction) async throws -> WriteReceipt

    /// Reads that belong together. `body` may run twice, and must not wait for anything. `reads`: what it is going to read, as
    /// far as its caller knows.
    func withReadSnapshot<Result: Sendable>(
        expecting reads: [StoreRead], _ body: @escaping @Sendable (any StoreSnapshot) throws -> Result
    ) async throws -> Result

    /// Reads that belong together and go on for as long as their result is taken (``RecordStore/streamSnapshot(within:_:)``).
    func streamSnapshot(
        within time: Duration, _ body: @escaping @Sendable (any StoreSnapshot, any ChunkOutput) throws -> Void
    ) async throws -> any ByteStream

    /// Reads and changes that are one transaction: what `body` decides from what it reads is still true when its changes
    /// are made, and where it throws nothing of them is. Returns when they are durable.
    ///
    /// `body` runs while no other caller writes, so it must not wait for anything; it may run more than once. `weight` is
    /// about how many changes it makes, and counts towards the limits of what waits. `reads`: what it is going to read, as
    /// far as its caller knows.
    func transact<Result: Sendable>(
        weight: Int, expecting reads: [StoreRead], _ body: @escaping @Sendable (any StoreTransaction) throws -> Result
    ) async throws -> Result

    /// Log entries after a position, oldest first, at most `limit`. Throws `sync.fetchAgain` for one below the floor.
    func changes(after position: Revision, limit: Int) async throws -> [LogEntry]

    /// Removes the log's beginning, or with `dryRun` only returns what would go. The floor rises first, in a transaction of
    /// its own; what is below goes bit by bit, so that writers do not wait for it.
    func compact(_ bound: CompactionBound, dryRun: Bool) async throws -> Compaction

    /// Removes losing copies that were kept before that instant, or with `dryRun` only counts them. Bit by bit, so that
    /// writers do not wait for it.
    func forgetCopies(keptBefore instant: WireDate, dryRun: Bool) async throws -> Int

    /// The log holds every entry after this operation id, as far as it is known here.
    var floor: Revision { get }

    /// The last operation id that is known here to be durable and visible. It may lag behind commits, those of this store's
    /// callers too, never runs ahead of a snapshot that begins later, and never goes back. For what has to know where it
    /// is, a snapshot and a transaction say it exactly (``StoreSnapshot/position``).
    var position: Revision { get }

    /// The last operation id that concerns this adapter's records, as far as ``position`` is known here: never behind what
    /// the adapter's was at a ``position`` that was read before, and never ahead of a snapshot that begins later. Where it has
    /// moved, something may have changed.
    func position(of adapter: AdapterName) -> Revision

    /// The version of this adapter's records now; nil where the store has to ask for it (``currentVersion(of:)``). Exact,
    /// however far ``position`` lags. Asked with every request, on an event loop.
    func knownVersion(of adapter: AdapterName) -> RecordsVersion?

    /// The version of this adapter's records now, with whatever was acknowledged before the call. Throws
    /// `store.unavailable`.
    func currentVersion(of adapter: AdapterName) async throws -> RecordsVersion

    /// Calls `body` after every move of ``position``, for as long as `observer` lives, which the store does not keep, and
    /// the store is open. It may be called while no caller can write, from any thread, so it must not wait for anything.
    func observe<Observer: AnyObject & Sendable>(
        _ observer: Observer, _ body: @escaping @Sendable (Observer, Revision) -> Void)

    /// Ends all connections after the writes under way. Later calls throw `store.unavailable`.
    func close() async
}

/// A version of one adapter's records in one store: where two are equal, so are the records. They have no order.
///
/// An answer computed after its version was taken, from those records alone, is true as long as the version is current.
public struct RecordsVersion: Sendable, Hashable, CustomStringConvertible {
    public let description: String

    /// `text`: at most 64 characters that can stand in an entity tag.
    public init(_ text: String) {
        description = text
    }

    /// The version of a store whose log has a position for each adapter.
    public init(_ position: Revision) {
        description = position.description
    }
}

extension Store {
    /// Reads that belong together and of which none is known beforehand.
    public func withReadSnapshot<Result: Sendable>(
        _ body: @escaping @Sendable (any StoreSnapshot) throws -> Result
    ) async throws -> Result {
        try await withReadSnapshot(expecting: [], body)
    }

    /// A transaction of whose reads none is known beforehand.
    public func transact<Result: Sendable>(
        weight: Int, _ body: @escaping @Sendable (any StoreTransaction) throws -> Result
    ) async throws -> Result {
        try await transact(weight: weight, expecting: [], body)
    }

    /// For stores whose ``position`` lags.
    public func knownVersion(of adapter: AdapterName) -> RecordsVersion? { nil }

    public func query(_ query: Query, in collection: CollectionID, atMost bytes: Int) async throws -> RecordPage {
        try await withReadSnapshot { try $0.query(query, in: collection, atMost: bytes) }
    }

    /// At one moment, and then piece by piece: for stores that cannot go on reading while a caller takes what they found.
    public func streamSnapshot(
        within time: Duration, _ body: @escaping @Sendable (any StoreSnapshot, any ChunkOutput) throws -> Void
    ) async throws -> any ByteStream {
        try await withReadSnapshot { snapshot in
            let gathered = BufferedChunks()
            try body(snapshot, gathered)
            return gathered
        }
    }
}

/// Names one history of a store. Random, 1 to 64 URL-safe characters.
public struct Epoch: Sendable, Hashable, CustomStringConvertible {
    public let text: String

    /// `text` has 1 to 64 URL-safe characters.
    public init(_ text: String) {
        self.text = text
    }

    public var description: String { text }
}

/// An entity and the adapter that declares it.
public struct CollectionDeclaration: Sendable, Equatable {
    /// The adapter's name and the entity's.
    public let id: CollectionID
    /// The entity as the adapter declares it.
    public let entity: Entity

    /// Declares an adapter's entity.
    public init(adapter: AdapterName, entity: Entity) {
        self.id = CollectionID(adapter, entity.name)
        self.entity = entity
    }
}

/// Makes ids for records whose key the server chooses. Passed in, so that tests know them beforehand.
public protocol RecordIDSource: Sendable {
    /// An id that was never given before and that no caller can guess.
    func next() -> RecordID
}

/// Random UUIDs (RFC 9562, version 4), in lower case. Version 7 was rejected: it reveals when a record was made.
public struct RandomRecordIDs: RecordIDSource {
    /// Uses the system's random numbers.
    public init() {}

    public func next() -> RecordID {
        var bytes = (0..<16).map { _ in UInt8.random(in: .min ... .max) }
        bytes[6] = bytes[6] & 0x0F | 0x40
        bytes[8] = bytes[8] & 0x3F | 0x80
        return RecordID(unchecked: Hexadecimal.uuid(bytes))
    }
}
