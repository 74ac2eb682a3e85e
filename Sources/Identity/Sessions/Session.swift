import AdapterKit

/// One sign-in: the cookie it gave, and the family of refresh tokens that began with it.
///
/// Both end together by sign-out and revocation, and each by its own lifetime.
public struct Session: Sendable, Equatable {
    public let id: SessionID
    public let account: AccountID
    public let created: WireDate
    public let lastUsed: WireDate
    /// Where the sign-in came from.
    public let address: String
    /// nil: it did not say, or the sign-in is older than that this is kept.
    public let agent: ClientAgent?
    public let provider: ProviderName
    /// When the cookie ends.
    public let expires: WireDate
    /// When the refresh token that is valid now ends.
    public let refreshExpires: WireDate
    let cookie: SecretDigest
    let family: SecretDigest
    let refresh: SecretDigest
    let revision: Revision

    /// When nothing of it is valid any more.
    var ends: WireDate { max(expires, refreshExpires) }
}

/// How a session lies in the store: digests instead of the secrets, so that a copy of the database opens nothing.
enum SessionRecord {
    static let entity = IdentityCollections.entity(
        IdentityCollections.sessions, summary: "Sign-ins under way.",
        fields: [
            Field("account", .string(maximumLength: 32), isRequired: true),
            Field("created", .date, isRequired: true),
            Field("lastUsed", .date, isRequired: true),
            Field("address", .string(maximumLength: 64), isRequired: true),
            Field("agent", .string(maximumLength: 256), isNullable: true),
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
            agent: ClientAgent(record["agent"].stringValue), provider: try reader.name("provider"),
            expires: try reader.date("expires"),
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
            "refresh": .digest(session.refresh), "agent": session.agent.map { .string($0.text) } ?? .null,
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

/// The cookie's value: `SESSION.SECRET`. The id finds the record, the secret proves the right to it.
struct SessionCookie: Sendable {
    /// In bytes: every cookie is as long.
    static let length = 2 * SessionID.byteCount + 1 + Secret.randomLength

    let id: SessionID
    let secret: Secret

    init(id: SessionID, secret: Secret) {
        self.id = id
        self.secret = secret
    }

    init?(_ value: Secret) {
        guard let parts = SecretParts(value, secrets: 1), let id = SessionID(parts.id) else { return nil }
        self.init(id: id, secret: parts.secrets[0])
    }

    var value: Secret { Secret("\(id.text).\(secret.reveal())") }
}

/// A refresh token: `SESSION.FAMILY.SECRET`.
///
/// The family's secret stays while the last part rotates. A client that shows the right family with an old last part
/// has held a token of it: that is reuse, and ends the family. The session's id alone, which access tokens carry and
/// administrators see, ends nothing.
struct RefreshToken: Sendable {
    let id: SessionID
    let family: Secret
    let secret: Secret

    init(id: SessionID, family: Secret, secret: Secret) {
        self.id = id
        self.family = family
        self.secret = secret
    }

    init?(_ value: Secret) {
        guard let parts = SecretParts(value, secrets: 2), let id = SessionID(parts.id) else { return nil }
        self.init(id: id, family: parts.secrets[0], secret: parts.secrets[1])
    }

    var value: Secret { Secret("\(id.text).\(family.reveal()).\(secret.reveal())") }
}

/// An id and as many 256-bit secrets as are asked for, joined by dots.
struct SecretParts {
    let id: String
    let secrets: [Secret]

    init?(_ value: Secret, secrets count: Int) {
        let text = value.reveal()
        guard text.utf8.count <= 32 + count * (Secret.randomLength + 1) else { return nil }
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == count + 1,
            parts.dropFirst().allSatisfy({ $0.utf8.count == Secret.randomLength && Base64URL.isWellFormed($0) })
        else { return nil }
        id = String(parts[0])
        secrets = parts.dropFirst().map { Secret(String($0)) }
    }
}
