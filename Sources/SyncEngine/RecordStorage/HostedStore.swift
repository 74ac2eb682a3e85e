import AdapterKit

/// A store as a gateway needs it, beside records: changes of the tables, supervision, copies, mirrors.
public protocol HostedStore: BackupStore, MirrorStore, MigratingStore, MonitoredStore {}

/// A store whose tables can be changed while it is used.
public protocol MigratingStore: Store {
    /// Makes the tables fit the declarations, while records are read and written by the declarations of before too: until
    /// ``Store/install(_:)`` is called with those of one side, records have the fields of both. Throws as
    /// ``Store/install(_:)``, and has changed nothing then.
    func extend(to collections: [CollectionDeclaration]) async throws

    /// The effect of ``Store/install(_:)``, without doing it. `retired`: collections that are declared no longer.
    func schemaChange(
        to collections: [CollectionDeclaration], retiring retired: [CollectionID]
    ) async throws -> SchemaChange

    /// In how many records ``Store/install(_:)`` has replaced values that some wire format cannot carry, since the store was
    /// opened. For the operator's log.
    var replacedValues: [CollectionID: Int] { get }
}

extension MigratingStore {
    /// The effect of ``Store/install(_:)`` where no collection is declared no longer, without doing it.
    public func schemaChange(to collections: [CollectionDeclaration]) async throws -> SchemaChange {
        try await schemaChange(to: collections, retiring: [])
    }
}

/// A store that reports its state and its content.
public protocol MonitoredStore: Store {
    /// Why nothing can be written, as far as that is known; nil: writes succeed.
    var problem: StoreProblem? { get }

    /// Finds out whether the store can be written again, where it could not. Gives ``problem``.
    @discardableResult
    func probe() async -> StoreProblem?

    /// Counts and state of the store. Cheap enough for every scrape of the metrics.
    var figures: StoreFigures { get }

    /// Reads the whole store while it is used, and what it holds. Throws `store.unavailable` where anything is wrong with
    /// it, the finding in the error's detail for the log.
    func inspect(checksIntegrity: Bool) async throws -> StoreInspection
}

/// Why a store cannot be written.
public enum StoreProblem: String, Sendable {
    /// The disk, or the file's largest size, is reached.
    case full
    /// The disk fails.
    case failing
    /// The file is damaged.
    case damaged
    /// The database file, its log file or its lock was moved, deleted or replaced: what is written would be lost.
    case misplaced
}

/// The content of a store, and its size.
public struct StoreInspection: Sendable {
    /// Epoch, positions, the rows of each table, and the database's bytes.
    public let contents: BackupSummary
    /// Bytes of the database that are free to be used again.
    public let freeBytes: Int64
    /// Bytes of the write-ahead log.
    public let logFileBytes: Int64

    /// Creates the result of an inspection.
    public init(contents: BackupSummary, freeBytes: Int64, logFileBytes: Int64) {
        (self.contents, self.freeBytes, self.logFileBytes) = (contents, freeBytes, logFileBytes)
    }
}

/// Counts of a store since it was opened, and its state at the moment.
public struct StoreFigures: Sendable {
    /// A histogram.
    public struct Distribution: Sendable {
        /// Upper bounds of the buckets, rising.
        public let bounds: [Double]
        /// The values up to each bound, and last all of them.
        public let cumulativeCounts: [UInt64]
        /// All values together.
        public let sum: Double

        /// A histogram with these buckets.
        public init(bounds: [Double], cumulativeCounts: [UInt64], sum: Double) {
            (self.bounds, self.cumulativeCounts, self.sum) = (bounds, cumulativeCounts, sum)
        }
    }

    /// Reads that have a connection of their pool, and those that wait for one.
    public struct Pool: Sendable, Equatable {
        /// The number of those that have one.
        public let running: Int
        /// The number of those that wait.
        public let waiting: Int

        /// The state of one pool.
        public init(running: Int, waiting: Int) {
            (self.running, self.waiting) = (running, waiting)
        }
    }

    /// Group commits.
    public let commits: UInt64
    /// Transactions that a commit made durable.
    public let committed: UInt64
    /// Transactions that threw.
    public let refused: UInt64
    /// Seconds of group commits.
    public let commitDurations: Distribution
    /// Transactions of a group commit.
    public let groupSizes: Distribution
    /// Transactions that wait for the next commit.
    public let queued: Int
    /// Reads that ended on their caller's thread.
    public let quickReads: UInt64
    /// Reads that went to the pool of long reads.
    public let longReads: UInt64
    /// The pool of long reads.
    public let longPool: Pool
    /// The pool of streamed reads.
    public let streamPool: Pool
    /// The database's size in bytes; 0 where it is not there.
    public let databaseBytes: Int64
    /// The write-ahead log's size in bytes; 0 where it is not there.
    public let logBytes: Int64

    /// Figures of one moment.
    public init(
        commits: UInt64, committed: UInt64, refused: UInt64, commitDurations: Distribution, groupSizes: Distribution,
        queued: Int, quickReads: UInt64, longReads: UInt64, longPool: Pool, streamPool: Pool, databaseBytes: Int64,
        logBytes: Int64
    ) {
        (self.commits, self.committed, self.refused) = (commits, committed, refused)
        (self.commitDurations, self.groupSizes, self.queued) = (commitDurations, groupSizes, queued)
        (self.quickReads, self.longReads, self.longPool) = (quickReads, longReads, longPool)
        (self.streamPool, self.databaseBytes, self.logBytes) = (streamPool, databaseBytes, logBytes)
    }
}
