import AdapterKit

/// Who may name an attachment in a record: whoever uploaded those bytes, and whoever can read a record that names it.
///
/// A digest is no secret and no proof of anything. Without a right a digest is refused in the same words whether or not
/// the bytes are here, so that it tells nobody what others have.
public struct AttachmentRights: Sendable {
    private let catalogue: SyncCatalogue
    private let attachments: any AttachmentStore
    private let store: any Store

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

    /// Those of the digests that the caller may not name.
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

    /// Throws `request.invalid` for a change that names an attachment which the caller may not name.
    func check(_ changes: [RecordChange], of declaration: AdapterDeclaration, for caller: SyncCaller) async throws {
        for change in changes {
            guard let entity = declaration.entity(change.entity), !entity.attachments.isEmpty else { continue }
            let denied = try await denied(among: entity.attachments(in: change.fields), for: caller)
            try entity.checkAttachments(in: change.fields, denied: denied)
        }
    }
}

extension Entity {
    /// The attachments that the fields name.
    public func attachments(in fields: WireDictionary) -> Set<AttachmentDigest> {
        Set(attachments.flatMap { AttachmentDigest.named(by: fields[$0.text] ?? .null) })
    }

    /// Throws `request.invalid` with the field where one of those is named.
    func checkAttachments(in fields: WireDictionary, denied: Set<AttachmentDigest>) throws(PorticoError) {
        guard !denied.isEmpty else { return }
        for field in attachments {
            let named = AttachmentDigest.named(by: fields[field.text] ?? .null)
            guard denied.isDisjoint(with: named) else {
                throw PorticoError(
                    .requestInvalid, "There is no such attachment; upload its bytes first.", target: field.text)
            }
        }
    }
}

extension AttachmentDigest {
    /// A field's value: one digest or a list of them. Texts that are none are left out: they open nothing.
    static func named(by value: WireValue) -> [AttachmentDigest] {
        (value.arrayValue ?? [value]).compactMap { $0.stringValue.flatMap { AttachmentDigest($0) } }
    }
}
