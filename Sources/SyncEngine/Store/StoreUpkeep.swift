import AdapterKit

/// A store that can be copied while it is used.
public protocol BackupStore: Store {
    /// Copies the store into a new directory while others write, and reads the copy back. Everything that was
    /// acknowledged before the call is in it.
    ///
    /// Throws `record.exists` where something is there already, `store.full` where there is no room.
    func backUp(to directory: String) async throws -> BackupSummary
}

/// What a backup holds: enough to tell whether it is what the store was.
public struct BackupSummary: Sendable, Equatable {
    public let epoch: Epoch
    public let position: Revision
    public let floor: Revision
    /// By table: records of each collection, entries of the log.
    public let rows: [String: Int64]
    /// Of the database, in bytes.
    public let size: Int64

    public init(epoch: Epoch, position: Revision, floor: Revision, rows: [String: Int64], size: Int64) {
        self.epoch = epoch
        self.position = position
        self.floor = floor
        self.rows = rows
        self.size = size
    }
}

/// What a store needs from time to time, asked for by an operator or by a clock.
public struct StoreUpkeep: Sendable {
    public let store: any BackupStore
    /// How long a replica may stay away, in seconds, before it has to start over.
    public let offlineWindow: Double
    private let clock: any WallClock

    public init(store: any BackupStore, offlineWindow: Double, clock: any WallClock) {
        self.store = store
        self.offlineWindow = offlineWindow
        self.clock = clock
    }

    /// Removes the log as far as it is older than the offline window.
    public func compact(dryRun: Bool) async throws -> Compaction {
        let now = clock.now().secondsSinceReferenceDate
        return try await store.compact(
            .before(WireDate(secondsSinceReferenceDate: now - offlineWindow)), dryRun: dryRun)
    }
}
