import AdapterKit
import Crypto

/// Names the sender of a message to the other system: WS-Security's UsernameToken profile 1.0 (OASIS, 2004).
public struct UsernameToken: Sendable {
    /// How the password travels.
    public enum Password: String, Sendable, CaseIterable {
        /// As it is: for connections with TLS.
        case text
        /// As SHA-1 of nonce, time and password. The profile prescribes SHA-1.
        case digest
    }

    private let username: String
    private let password: Secret
    private let kind: Password
    private let nonce: [UInt8]
    private let created: String

    /// How many bytes a nonce has.
    public static let nonceLength = 16

    /// `nonce`: ``nonceLength`` random bytes, never the same twice; `created`: the current time.
    public init(_ username: String, _ password: Secret, _ kind: Password, nonce: [UInt8], created: WireDate) {
        self.username = username
        self.password = password
        self.kind = kind
        self.nonce = nonce
        self.created = created.rfc3339 ?? "1970-01-01T00:00:00Z"
    }

    static let securityNamespace =
        "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-secext-1.0.xsd"
    private static let utilityNamespace =
        "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-utility-1.0.xsd"
    private static let profile =
        "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-username-token-profile-1.0"
    private static let base64 =
        "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-soap-message-security-1.0#Base64Binary"

    /// Base64 of SHA-1 of nonce, created and password.
    static func digest(nonce: [UInt8], created: String, password: String) -> String {
        var hash = Insecure.SHA1()
        hash.update(data: nonce)
        hash.update(data: Array(created.utf8))
        hash.update(data: Array(password.utf8))
        return String(decoding: Base64.encode(Array(hash.finalize())), as: UTF8.self)
    }

    func write(to writer: inout XMLWriter) {
        writer.begin(
            prefixed: "wsse:Security",
            [
                ("xmlns:wsse", Self.securityNamespace), ("xmlns:wsu", Self.utilityNamespace),
                ("soap:mustUnderstand", "1"),
            ])
        writer.begin(prefixed: "wsse:UsernameToken")
        writer.element(prefixed: "wsse:Username", text: username)
        switch kind {
        case .text:
            writer.element(
                prefixed: "wsse:Password", [("Type", Self.profile + "#PasswordText")], text: password.reveal())
        case .digest:
            writer.element(
                prefixed: "wsse:Password", [("Type", Self.profile + "#PasswordDigest")],
                text: Self.digest(nonce: nonce, created: created, password: password.reveal()))
        }
        writer.element(
            prefixed: "wsse:Nonce", [("EncodingType", Self.base64)],
            text: String(decoding: Base64.encode(nonce), as: UTF8.self))
        writer.element(prefixed: "wsu:Created", text: created)
        writer.end()
        writer.end()
    }
}
