import AdapterKit
import RecordStorage

/// The right to name an attachment in a record: of the caller that uploaded those bytes, and of the caller that can read a record that names it.
///
/// A digest is no secret and no proof of anything. Without a right a digest is refused in the same words whether or not
/// the bytes are here, so that it reveals to no caller what others have.
public struct AttachmentRights: Sendable {
    private let catalogue: SyncCatalogue
    private let attachments: any AttachmentStore
    private let store: any Store

    /// Rights by uploads in `attachments` and by the records of `store`.
    public init(_ catalogue: SyncCatalogue, _ attachments: any AttachmentStore, store: any Store) {
        self.catalogue = catalogue
        self.attachments = attachments
        self.store = store
    }

    /// Whether a record that the caller may read names it.
    public func isReadable(_ digest: AttachmentDigest, by caller: SyncCaller) async throws -> Bool {
        let catalogue = catalogue
        return try await store.withReadSnapshot { try catalogue.refers(to: digest, for: caller, at: $0) }
    }

    /// The digests that the caller may not name.
    public func denied(
        among digests: Set<AttachmentDigest>, for caller: SyncCaller
    ) async throws -> Set<AttachmentDigest> {
        var denied: Set<AttachmentDigest> = []
        for digest in digests {
            if try await attachments.hasUploaded(digest, by: caller.principal.id) { continue }
            if try await !isReadable(digest, by: caller) { denied.insert(digest) }
        }
        return denied
    }

    /// The rights of one caller, for ``AdapterRecords``.
    public func authorization(of caller: SyncCaller) -> any AttachmentAuthorization {
        CallerAttachments(rights: self, caller: caller)
    }
}

private struct CallerAttachments: AttachmentAuthorization {
    let rights: AttachmentRights
    let caller: SyncCaller

    func denied(among digests: Set<AttachmentDigest>) async throws -> Set<AttachmentDigest> {
        try await rights.denied(among: digests, for: caller)
    }
}

extension SyncCatalogue {
    /// Whether a record that the caller may read refers to the attachment: the only reason to serve it.
    public func refers(to digest: AttachmentDigest, for caller: SyncCaller, at snapshot: any StoreSnapshot) throws
        -> Bool
    {
        try collections.contains { collection in
            let scope = SyncScope(collection, for: caller)
            guard scope.visible != .never else { return false }
            return try collection.entity.attachments.contains { field in
                let query = Query(.both(collection.entity.names(digest, in: field), scope.visible), limit: 1)
                return try !snapshot.query(query, in: collection.id).records.isEmpty
            }
        }
    }
}
