import AdapterKit
import Crypto

/// That somebody of another system is an account here. Found by a digest of provider and subject, never by a name.
struct IdentityLink: Sendable {
    let id: RecordID
    let account: AccountID
    /// When the provider last said what the account's roles are.
    let asOf: WireDate
    let revision: Revision

    /// The provider's name holds no colon, so no two pairs have one text.
    static func digest(_ provider: ProviderName, _ subject: String) -> String {
        Hexadecimal.text(SHA256.hash(data: Array("\(provider.text):\(subject)".utf8)).prefix(16))
    }
}

enum IdentityLinkRecord {
    static let entity = IdentityCollections.entity(
        IdentityCollections.links, summary: "Who of other systems has which account.",
        fields: [
            Field("provider", .string(maximumLength: 40), isRequired: true),
            Field("subject", .string(maximumLength: ExternalIdentity.maximumSubject), isRequired: true),
            Field("account", .string(maximumLength: 32), isRequired: true),
            Field("asOf", .date, isRequired: true),
        ], indexes: [Index(["account"])])

    static func read(_ record: Record) throws -> IdentityLink {
        let reader = RecordReader(record)
        return IdentityLink(
            id: record.id, account: try reader.name("account"), asOf: try reader.date("asOf"),
            revision: record.revision)
    }

    static func creation(_ identity: ExternalIdentity, digest: String, account: AccountID) -> RecordChange {
        let fields: WireDictionary = [
            "provider": .string(identity.provider.text), "subject": .string(identity.subject),
            "account": .string(account.text), "asOf": .date(identity.asOf),
        ]
        return RecordChange(IdentityCollections.links, .create(RecordID(unchecked: digest), fields), if: .absent)
    }

    static func update(_ link: IdentityLink, asOf: WireDate) -> RecordChange {
        RecordChange(IdentityCollections.links, .update(link.id, ["asOf": .date(asOf)]), if: .revision(link.revision))
    }
}
