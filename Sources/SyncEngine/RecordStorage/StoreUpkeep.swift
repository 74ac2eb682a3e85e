import AdapterKit

/// A store that can be copied while it is used.
public protocol BackupStore: Store {
    /// Copies the store into a new directory while others write, and reads the copy back. Everything that was
    /// acknowledged before the call is in it. `adding` is called once the store's copy is made, on a thread that may
    /// wait, with the directory as it is to become: what it puts there belongs to the backup.
    ///
    /// Throws `record.exists` where something is there already, `store.full` where there is no room.
    func backUp(
        to directory: String, adding: @escaping @Sendable (_ directory: String) throws -> Void
    ) async throws -> BackupSummary
}

extension BackupStore {
    /// The store alone.
    public func backUp(to directory: String) async throws -> BackupSummary {
        try await backUp(to: directory) { _ in }
    }
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
    private let attachments: AttachmentUpkeep
    private let windows: UpkeepWindows
    private let clock: any WallClock

    public init(
        store: any BackupStore, attachments: AttachmentUpkeep, windows: UpkeepWindows, clock: any WallClock
    ) {
        self.store = store
        self.attachments = attachments
        self.windows = windows
        self.clock = clock
    }

    /// Removes the log as far as it is older than the offline window.
    public func compact(dryRun: Bool) async throws -> Compaction {
        try await store.compact(.before(instant(windows.offline)), dryRun: dryRun)
    }

    /// Removes losing copies that were kept for long enough; how many.
    public func forgetKeptCopies(dryRun: Bool) async throws -> Int {
        try await store.forgetCopies(keptBefore: instant(windows.kept), dryRun: dryRun)
    }

    public func sweepAttachments() async throws -> AttachmentRemoval { try await attachments.sweep() }

    /// The store first, then the attachments: whatever the copied records name was there then, and nothing is removed
    /// meanwhile.
    public func backUp(to directory: String) async throws -> (store: BackupSummary, attachments: AttachmentCopies) {
        let (store, attachments) = (store, attachments.attachments)
        return try await attachments.withoutRemoval {
            let copies = Copies()
            let summary = try await store.backUp(to: directory) { copies.set(try attachments.copyAll(into: $0)) }
            return (summary, copies.value)
        }
    }

    private func instant(_ window: Double) -> WireDate {
        WireDate(secondsSinceReferenceDate: clock.now().secondsSinceReferenceDate - window)
    }
}

/// How long things are kept, in seconds.
public struct UpkeepWindows: Sendable, Equatable {
    /// `sync.offlineWindow`: how long a replica may stay away before it has to start over.
    public let offline: Double
    /// `sync.keptCopies`: what lost a conflict or was rejected.
    public let kept: Double

    public init(offline: Double, kept: Double) {
        self.offline = offline
        self.kept = kept
    }
}
