import AdapterKit

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
/// The family's secret stays while the last part rotates. Whoever shows the right family with an old last part has held
/// a token of it: that is reuse, and ends the family. Whoever knows just the session's id, which access tokens carry and
/// administrators see, can end nothing.
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
