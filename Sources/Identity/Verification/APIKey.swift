import AdapterKit

/// A credential for a program: it acts in the name of an account, within narrower bounds.
public struct APIKey: Sendable, Equatable {
    /// Also the visible part of the credential.
    public let id: APIKeyID
    public let account: AccountID
    /// The name that people give it.
    public let title: String
    /// The account's roles that it has; nil: all of them.
    public let roles: Set<RoleName>?
    public let scope: CredentialScope
    public let created: WireDate
    /// Nil: when it is revoked.
    public let expires: WireDate?
    let secret: SecretDigest
}

/// The credential: `pk_ID_SECRET`, with a prefix by which scanners find keys that were committed by mistake.
struct APIKeyCredential: Sendable {
    static let prefix = "pk_"

    let id: APIKeyID
    let secret: Secret

    init(id: APIKeyID, secret: Secret) {
        self.id = id
        self.secret = secret
    }

    init?(_ value: Secret) {
        let parts = value.reveal().split(separator: "_", maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3, parts[0] == "pk", let id = APIKeyID(String(parts[1])),
            parts[2].utf8.count == Secret.randomLength, Base64URL.isWellFormed(parts[2])
        else { return nil }
        self.init(id: id, secret: Secret(String(parts[2])))
    }

    var value: Secret { Secret("\(Self.prefix)\(id.text)_\(secret.reveal())") }
}

/// The stored form of an API key: the digest of its secret, and null where a bound is not drawn.
enum APIKeyRecord {
    static let maximumTitle = 100

    static let entity = IdentityCollections.entity(
        IdentityCollections.apiKeys, summary: "Credentials of programs.",
        fields: [
            Field("account", .string(maximumLength: 32), isRequired: true),
            Field("title", .string(maximumLength: maximumTitle), isRequired: true),
            Field("roles", .list(of: .string(maximumLength: 64)), isNullable: true),
            Field("adapters", .list(of: .string(maximumLength: 64)), isNullable: true),
            Field("mayWrite", .bool, isRequired: true),
            Field("created", .date, isRequired: true),
            Field("expires", .date, isNullable: true),
            Field("secret", .data(maximumBytes: 32), isRequired: true),
        ], indexes: [Index(["account"])])

    static func read(_ record: Record) throws -> APIKey {
        let reader = RecordReader(record)
        let adapters: Set<AdapterName>? = try reader.optional("adapters") { try reader.names($0) }
        let mayWrite = try reader.require(record["mayWrite"].boolValue, "mayWrite")
        return APIKey(
            id: try reader.id(), account: try reader.name("account"), title: try reader.text("title"),
            roles: try reader.optional("roles") { try reader.names($0) },
            scope: CredentialScope(adapters: adapters, mayWrite: mayWrite), created: try reader.date("created"),
            expires: try reader.optional("expires", reader.date), secret: try reader.digest("secret"))
    }

    static func creation(_ key: APIKey) -> RecordChange {
        let fields: WireDictionary = [
            "account": .string(key.account.text), "title": .string(key.title),
            "roles": key.roles.map { .names($0) } ?? .null,
            "adapters": key.scope.adapters.map { .names($0) } ?? .null, "mayWrite": .bool(key.scope.mayWrite),
            "created": .date(key.created), "expires": .optional(key.expires), "secret": .digest(key.secret),
        ]
        return RecordChange(IdentityCollections.apiKeys, .create(key.id.recordID, fields), if: .absent)
    }
}
