import AdapterKit

/// The attachments that records name, whoever may read them.
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
