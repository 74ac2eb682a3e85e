import AdapterKit

/// Decides which attachments one caller may name in a record's fields.
public protocol AttachmentAuthorization: Sendable {
    /// The digests that the caller may not name.
    func denied(among digests: Set<AttachmentDigest>) async throws -> Set<AttachmentDigest>
}

extension AttachmentAuthorization {
    /// Throws `request.invalid` for a change that names an attachment which the caller may not name.
    func check(_ changes: [RecordChange], of declaration: AdapterDeclaration) async throws {
        for change in changes {
            guard let entity = declaration.entity(change.entity), !entity.attachments.isEmpty else { continue }
            let denied = try await denied(among: entity.attachments(in: change.fields))
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
    package func checkAttachments(in fields: WireDictionary, denied: Set<AttachmentDigest>) throws(PorticoError) {
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
    package static func named(by value: WireValue) -> [AttachmentDigest] {
        (value.arrayValue ?? [value]).compactMap { $0.stringValue.flatMap { AttachmentDigest($0) } }
    }
}
