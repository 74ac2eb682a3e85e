import AdapterKit
import Crypto
import Foundation
import Identity

/// A token made by hand, with whatever header, claims and signature an attacker likes.
struct ForgedToken {
    var header: [String: Any]
    var claims: [String: Any]

    /// The parts of a token that was issued.
    init(like token: Secret) throws {
        let parts = token.reveal().split(separator: ".").map(String.init)
        header = try Self.object(parts[0])
        claims = try Self.object(parts[1])
    }

    func signed(with key: P256.Signing.PrivateKey) throws -> Secret {
        try signed { Array(try key.signature(for: $0).rawRepresentation) }
    }

    func signed(_ sign: ([UInt8]) throws -> [UInt8]) throws -> Secret {
        let input = try Self.text(header) + "." + Self.text(claims)
        return Secret(input + "." + Self.encode(try sign(Array(input.utf8))))
    }

    static func encode(_ bytes: [UInt8]) -> String {
        Data(bytes).base64EncodedString().replacingOccurrences(of: "+", with: "-")
            .replacingOccurrences(of: "/", with: "_").replacingOccurrences(of: "=", with: "")
    }

    static func decode(_ text: String) throws -> [UInt8] {
        let standard = text.replacingOccurrences(of: "-", with: "+").replacingOccurrences(of: "_", with: "/")
        let padded = standard + String(repeating: "=", count: (4 - standard.count % 4) % 4)
        guard let data = Data(base64Encoded: padded) else { throw CocoaError(.coderReadCorrupt) }
        return Array(data)
    }

    private static func object(_ part: String) throws -> [String: Any] {
        try JSONSerialization.jsonObject(with: Data(decode(part))) as? [String: Any] ?? [:]
    }

    private static func text(_ object: [String: Any]) throws -> String {
        encode(Array(try JSONSerialization.data(withJSONObject: object)))
    }
}

extension IdentityFixture {
    /// The key that really signs: what an attacker does not have.
    func signingKey() async throws -> P256.Signing.PrivateKey {
        let records = try await store.inner.all("signingKeys").filter { $0["verifiesUntil"].isNull }
        guard let text = records.first?["privateKey"].stringValue else { throw CocoaError(.coderValueNotFound) }
        return try P256.Signing.PrivateKey(rawRepresentation: ForgedToken.decode(text))
    }
}
