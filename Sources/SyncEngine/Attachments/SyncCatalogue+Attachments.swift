import AdapterKit

extension SyncCatalogue {
    /// Whether a record that the caller may read refers to the attachment: the only reason to serve it.
    public func refers(to digest: AttachmentDigest, for caller: SyncCaller, at moment: any StoreMoment) throws -> Bool {
        try collections.contains { collection in
            let scope = Scope(collection, for: caller)
            guard scope.visible != .never else { return false }
            return try collection.entity.attachments.contains { field in
                let isList = if case .list = collection.entity.field(field)?.shape { true } else { false }
                let value = WireValue.string(digest.text)
                let names = isList ? Filter.listContains(field, value) : .compare(field, .equal, value)
                let query = Query(.both(names, scope.visible), limit: 1)
                return try !moment.query(query, in: collection.id).records.isEmpty
            }
        }
    }
}
