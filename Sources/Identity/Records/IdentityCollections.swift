import AdapterKit
import RecordStorage

/// Where identity keeps what it knows: collections of the shared store that no door leads to.
enum IdentityCollections {
    static let adapter: AdapterName = "identity"
    static let accounts: EntityName = "accounts"
    static let sessions: EntityName = "sessions"
    static let signingKeys: EntityName = "signingKeys"
    static let apiKeys: EntityName = "apiKeys"
    static let links: EntityName = "links"
    static let auditEntries: EntityName = "auditEntries"
    static let auditHead: EntityName = "auditHead"

    static let all = [
        AccountRecord.entity, SessionRecord.entity, SigningKeyRecord.entity, APIKeyRecord.entity,
        IdentityLinkRecord.entity,
        AuditEntryRecord.entity, AuditHeadRecord.entity,
    ].map { CollectionDeclaration(adapter: adapter, entity: $0) }

    /// An entity whose key `id` this room chooses, reached by nothing but this room.
    static func entity(_ name: EntityName, summary: String, fields: [Field], indexes: [Index] = []) -> Entity {
        Entity(
            name, summary: summary, key: EntityKey("id", chosenBy: .caller),
            fields: [Field("id", .string(maximumLength: 64), isRequired: true)] + fields, indexes: indexes,
            rows: RowRules(read: .nobody, write: .nobody), writers: .roles([]), conflictPolicy: .reject,
            exposure: .adapterOnly)
    }
}
