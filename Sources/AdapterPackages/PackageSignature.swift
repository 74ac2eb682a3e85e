import AdapterKit
import Crypto
import ValueTree
import WireFormats

/// Who vouches for a package: its file `adapter.sig`, the second one in the archive. It signs the bytes of
/// ``AdapterManifest/fileName``, which has the digests of everything else.
///
/// ```json
/// {"algorithm": "ed25519", "key": "32 bytes in base64", "signature": "64 bytes in base64"}
/// ```
///
/// Source: Ed25519 of RFC 8032. `openssl pkeyutl -sign -rawin -inkey KEY -in adapter.json` makes the same signature.
public struct PackageSignature: Sendable, Equatable {
    public static let fileName = "adapter.sig"
    static let maximumBytes = 4 << 10

    public let key: PackageKey
    let signature: [UInt8]

    init(_ bytes: [UInt8]) throws(AdapterPackageError) {
        guard let members = (try? JSONFormat().read(bytes, limits: ReadingLimits(depth: 4)))?.dictionaryValue,
            members["algorithm"]?.stringValue == "ed25519",
            let key = members["key"]?.stringValue.flatMap({ Base64.decode($0) }).flatMap({ PackageKey(raw: $0) }),
            let signature = members["signature"]?.stringValue.flatMap({ Base64.decode($0) }), signature.count == 64
        else { throw AdapterPackageError("The package's \(Self.fileName) is not an Ed25519 signature.") }
        self.key = key
        self.signature = signature
    }

    init(of manifest: [UInt8], by signer: PackageSigner) throws(AdapterPackageError) {
        guard let signature = try? signer.key.signature(for: manifest) else {
            throw AdapterPackageError("The package cannot be signed.")
        }
        key = signer.publicKey
        self.signature = Array(signature)
    }

    func isValid(for manifest: [UInt8]) -> Bool { key.key.isValidSignature(signature, for: manifest) }

    func bytes() -> [UInt8] {
        let members: WireDictionary = [
            "algorithm": "ed25519", "key": .string(key.text),
            "signature": .string(String(decoding: Base64.encode(signature), as: UTF8.self)),
        ]
        return (try? JSONFormat().write(.dictionary(members))) ?? []
    }
}

/// A public key whose holder may sign packages.
public struct PackageKey: Sendable, Hashable {
    /// 32 bytes.
    let raw: [UInt8]
    fileprivate let key: Curve25519.Signing.PublicKey

    /// Its 32 bytes in base64, as signatures name it.
    public var text: String { String(decoding: Base64.encode(raw), as: UTF8.self) }

    /// Reads 32 bytes in base64, or PEM as `openssl pkey -pubout` writes it (RFC 8410). Nil for anything else.
    public init?(_ text: String) {
        guard let bytes = PEM.bytes(of: text, "PUBLIC KEY", after: Self.prefix) ?? Base64.decode(PEM.trimmed(text))
        else { return nil }
        self.init(raw: bytes)
    }

    init?(raw: [UInt8]) {
        guard raw.count == 32, let key = try? Curve25519.Signing.PublicKey(rawRepresentation: raw) else { return nil }
        self.raw = raw
        self.key = key
    }

    public static func == (left: PackageKey, right: PackageKey) -> Bool { left.raw == right.raw }

    public func hash(into hasher: inout Hasher) { hasher.combine(raw) }

    /// SubjectPublicKeyInfo of an Ed25519 key up to its bytes.
    private static let prefix: [UInt8] = [0x30, 0x2A, 0x30, 0x05, 0x06, 0x03, 0x2B, 0x65, 0x70, 0x03, 0x21, 0x00]
}

/// A private key that signs packages.
public struct PackageSigner: Sendable {
    fileprivate let key: Curve25519.Signing.PrivateKey
    public let publicKey: PackageKey

    /// Reads PEM as `openssl genpkey -algorithm ed25519` writes it (RFC 8410). Nil for anything else.
    public init?(_ text: Secret) {
        guard let bytes = PEM.bytes(of: text.reveal(), "PRIVATE KEY", after: Self.prefix),
            let key = try? Curve25519.Signing.PrivateKey(rawRepresentation: bytes),
            let publicKey = PackageKey(raw: Array(key.publicKey.rawRepresentation))
        else { return nil }
        self.key = key
        self.publicKey = publicKey
    }

    /// PKCS #8 of an Ed25519 key up to its bytes.
    private static let prefix: [UInt8] = [
        0x30, 0x2E, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2B, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20,
    ]
}

/// Documents of RFC 7468 whose content has one form.
private enum PEM {
    static func bytes(of text: String, _ label: String, after prefix: [UInt8]) -> [UInt8]? {
        var lines = text.split(whereSeparator: \.isNewline).map { trimmed($0) }
        guard lines.count >= 3, lines.removeFirst() == "-----BEGIN \(label)-----",
            lines.removeLast() == "-----END \(label)-----",
            let bytes = Base64.decode(lines.joined()), bytes.starts(with: prefix)
        else { return nil }
        return Array(bytes.dropFirst(prefix.count))
    }

    static func trimmed(_ text: some StringProtocol) -> String {
        String(text.drop(while: \.isWhitespace).reversed().drop(while: \.isWhitespace).reversed())
    }
}
