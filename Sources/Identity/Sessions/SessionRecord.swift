import AdapterKit

/// How a session lies in the store: digests instead of the secrets, so that a copy of the database opens nothing.
enum SessionRecord {
    static let entity = IdentityCollections.entity(
        IdentityCollections.sessions, summary: "Sign-ins under way.",
        fields: [
            Field("account", .string(maximumLength: 32), isRequired: true),
            Field("created", .date, isRequired: true),
            Field("lastUsed", .date, isRequired: true),
            Field("address", .string(maximumLength: 64), isRequired: true),
            Field("provider", .string(maximumLength: 64), isRequired: true),
            Field("expires", .date, isRequired: true),
            Field("refreshExpires", .date, isRequired: true),
            Field("ends", .date, isRequired: true),
            Field("cookie", .data(maximumBytes: 32), isRequired: true),
            Field("family", .data(maximumBytes: 32), isRequired: true),
            Field("refresh", .data(maximumBytes: 32), isRequired: true),
        ], indexes: [Index(["account"]), Index(["ends"])])

    static func read(_ record: Record) throws -> Session {
        let reader = RecordReader(record)
        return Session(
            id: try reader.id(), account: try reader.name("account"), created: try reader.date("created"),
            lastUsed: try reader.date("lastUsed"), address: try reader.text("address"),
            provider: try reader.name("provider"), expires: try reader.date("expires"),
            refreshExpires: try reader.date("refreshExpires"), cookie: try reader.digest("cookie"),
            family: try reader.digest("family"), refresh: try reader.digest("refresh"), revision: record.revision)
    }

    static func creation(_ session: Session) -> RecordChange {
        let fields: WireDictionary = [
            "account": .string(session.account.text), "created": .date(session.created),
            "lastUsed": .date(session.lastUsed), "address": .string(session.address),
            "provider": .string(session.provider.text), "expires": .date(session.expires),
            "refreshExpires": .date(session.refreshExpires), "ends": .date(session.ends),
            "cookie": .digest(session.cookie), "family": .digest(session.family),
            "refresh": .digest(session.refresh),
        ]
        return RecordChange(IdentityCollections.sessions, .create(session.id.recordID, fields), if: .absent)
    }

    /// Only one caller can rotate the state that it read: the condition decides between those that try at once.
    static func rotation(_ session: Session, to refresh: SecretDigest, until expires: WireDate, at now: WireDate)
        -> RecordChange
    {
        let fields: WireDictionary = [
            "refresh": .digest(refresh), "refreshExpires": .date(expires), "lastUsed": .date(now),
            "ends": .date(max(session.expires, expires)),
        ]
        return RecordChange(
            IdentityCollections.sessions, .update(session.id.recordID, fields), if: .revision(session.revision))
    }

    static func deletion(_ id: SessionID) -> RecordChange {
        RecordChange(IdentityCollections.sessions, .delete(id.recordID))
    }
}
