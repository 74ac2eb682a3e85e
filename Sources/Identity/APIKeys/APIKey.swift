import AdapterKit

/// A credential for a program: it acts in the name of an account, within narrower bounds.
public struct APIKey: Sendable, Equatable {
    /// Also the visible part of the credential.
    public let id: APIKeyID
    public let account: AccountID
    /// What people call it.
    public let title: String
    /// Those of the account's roles that it has; nil: all of them.
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
