import AdapterKit
import RecordStorage

extension SyncCatalogue {
    /// Whether a record that the caller may read refers to the attachment: the only reason to serve it.
    public func refers(to digest: AttachmentDigest, for caller: SyncCaller, at snapshot: any StoreSnapshot) throws
        -> Bool
    {
        try collections.contains { collection in
            let scope = Scope(collection, for: caller)
            guard scope.visible != .never else { return false }
            return try collection.entity.attachments.contains { field in
                let query = Query(.both(collection.entity.names(digest, in: field), scope.visible), limit: 1)
                return try !snapshot.query(query, in: collection.id).records.isEmpty
            }
        }
    }
}
