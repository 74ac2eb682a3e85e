import AdapterKit
import Synchronization

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

/// The content of a backup: enough to tell whether it is what the store was.
public struct BackupSummary: Sendable, Equatable {
    /// The store's epoch.
    public let epoch: Epoch
    /// The last operation id in the copy.
    public let position: Revision
    /// The log's floor in the copy.
    public let floor: Revision
    /// By table: records of each collection, entries of the log.
    public let rows: [String: Int64]
    /// Bytes of the database.
    public let size: Int64

    /// Creates the summary of one backup.
    public init(epoch: Epoch, position: Revision, floor: Revision, rows: [String: Int64], size: Int64) {
        self.epoch = epoch
        self.position = position
        self.floor = floor
        self.rows = rows
        self.size = size
    }
}

/// The upkeep of a store, asked for by an operator or by a clock.
public struct StoreMaintenance: Sendable {
    /// The store that is maintained.
    public let store: any BackupStore
    private let attachments: AttachmentMaintenance
    private let windows: RetentionWindows
    private let clock: any WallClock

    /// `clock` is the time at which the windows end.
    public init(
        store: any BackupStore, attachments: AttachmentMaintenance, windows: RetentionWindows, clock: any WallClock
    ) {
        self.store = store
        self.attachments = attachments
        self.windows = windows
        self.clock = clock
    }

    /// Removes the log as far as it is older than the offline window.
    public func compact(dryRun: Bool) async throws -> Compaction {
        let oldest = instant(windows.offline)
        if !dryRun {
            while try await store.transact(weight: 500, { try $0.forgetMoves(madeBefore: oldest) }) {}
        }
        return try await store.compact(.before(oldest), dryRun: dryRun)
    }

    /// Removes losing copies that were kept for long enough; how many.
    public func forgetKeptCopies(dryRun: Bool) async throws -> Int {
        try await store.forgetCopies(keptBefore: instant(windows.kept), dryRun: dryRun)
    }

    /// Removes attachments that no record names any more (``AttachmentMaintenance/sweep()``).
    public func sweepAttachments() async throws -> AttachmentRemoval { try await attachments.sweep() }

    /// The store first, then the attachments: whatever the copied records name was there then, and nothing is removed
    /// meanwhile.
    public func backUp(to directory: String) async throws -> (store: BackupSummary, attachments: AttachmentCopies) {
        let (store, attachments) = (store, attachments.attachments)
        return try await attachments.withoutRemoval {
            let copies = AttachmentCopyResult()
            let summary = try await store.backUp(to: directory) { copies.set(try attachments.copyAll(into: $0)) }
            return (summary, copies.value)
        }
    }

    private func instant(_ window: Double) -> WireDate {
        WireDate(secondsSinceReferenceDate: clock.now().secondsSinceReferenceDate - window)
    }
}

/// Seconds for which things are kept.
public struct RetentionWindows: Sendable, Equatable {
    /// `sync.offlineWindow`: how long a replica may stay away before it has to start over.
    public let offline: Double
    /// `sync.keptCopies`: what lost a conflict or was rejected.
    public let kept: Double

    /// Both in seconds.
    public init(offline: Double, kept: Double) {
        self.offline = offline
        self.kept = kept
    }
}

/// The attachments that a backup's thread has copied, for the caller that waits for them.
final class AttachmentCopyResult: Sendable {
    private let found = Mutex(AttachmentCopies())

    var value: AttachmentCopies { found.withLock { $0 } }

    func set(_ copies: AttachmentCopies) { found.withLock { $0 = copies } }
}

/// Removes attachments that no record has named for a while, and uploads that no caller goes on with.
///
/// What a record names is marked as in use before half of the window is over. So only what no round has found named for
/// the whole window is old enough to go, and the caller that uploads first and names it later has as long for that.
public struct AttachmentMaintenance: Sendable {
    /// The attachments that are maintained.
    public let attachments: any AttachmentStore
    /// `sync.attachments.window`, in seconds.
    public let window: Double
    private let store: any Store
    private let references: AttachmentReferences
    private let clock: any WallClock

    /// `clock` is the time at which the windows end.
    public init(
        _ attachments: any AttachmentStore, store: any Store, collections: [CollectionDeclaration], window: Double,
        clock: any WallClock
    ) {
        self.attachments = attachments
        self.window = window
        self.store = store
        references = AttachmentReferences(collections)
        self.clock = clock
    }

    /// Removes attachments that no record has named for ``window``, and uploads that were not continued for as long.
    public func sweep() async throws -> AttachmentRemoval {
        let now = clock.now().secondsSinceReferenceDate
        let aged = try await attachments.unused(since: WireDate(secondsSinceReferenceDate: now - window / 2))
        let named = aged.isEmpty ? [] : try await references.all(in: store)
        try await attachments.keep(aged.intersection(named))
        let latest = WireDate(secondsSinceReferenceDate: now - window)
        let candidates = try await attachments.unused(since: latest).subtracting(named)
        return try await attachments.remove(try await stillUnnamed(candidates), unusedSince: latest)
    }

    /// The records were read page by page: one that got a name from another meanwhile may have been missed.
    private func stillUnnamed(_ candidates: Set<AttachmentDigest>) async throws -> Set<AttachmentDigest> {
        guard !candidates.isEmpty else { return [] }
        let references = references
        return try await store.withReadSnapshot { snapshot in
            try candidates.filter { try !references.contain($0, at: snapshot) }
        }
    }
}

/// The attachments that records name, the caller that may read them.
struct AttachmentReferences: Sendable {
    private let collections: [CollectionDeclaration]
    private static let page = 1_000

    init(_ collections: [CollectionDeclaration]) {
        self.collections = collections.filter { !$0.entity.attachments.isEmpty }
    }

    /// Reads every record that may name one, page by page.
    func all(in store: any Store) async throws -> Set<AttachmentDigest> {
        var digests: Set<AttachmentDigest> = []
        for collection in collections {
            let fields = collection.entity.attachments
            var query = Query(.any(fields.map { .not(.isNull($0)) }), limit: Self.page)
            repeat {
                let page = try await store.query(query, in: collection.id)
                for record in page.records {
                    digests.formUnion(fields.flatMap { AttachmentDigest.named(by: record[$0]) })
                }
                guard let next = page.next else { break }
                query.start = .after(next)
            } while true
        }
        return digests
    }

    func contain(_ digest: AttachmentDigest, at snapshot: any StoreSnapshot) throws -> Bool {
        try collections.contains { collection in
            try collection.entity.attachments.contains { field in
                let query = Query(collection.entity.names(digest, in: field), limit: 1)
                return try !snapshot.query(query, in: collection.id).records.isEmpty
            }
        }
    }
}

extension Entity {
    /// The records whose field holds the digest, alone or in a list.
    package func names(_ digest: AttachmentDigest, in field: FieldName) -> Filter {
        let value = WireValue.string(digest.text)
        if case .list? = self.field(field)?.shape { return .listContains(field, value) }
        return .compare(field, .equal, value)
    }
}
