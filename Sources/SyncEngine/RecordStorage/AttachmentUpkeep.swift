import AdapterKit

/// Removes attachments that no record has named for a while, and uploads that nobody goes on with.
///
/// What a record names is marked as in use before half of the window is over. So only what no round has found named for
/// the whole window is old enough to go, and whoever uploads first and names it later has as long for that.
public struct AttachmentUpkeep: Sendable {
    public let attachments: any AttachmentStore
    /// `sync.attachments.window`, in seconds.
    public let window: Double
    private let store: any Store
    private let references: AttachmentReferences
    private let clock: any WallClock

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
