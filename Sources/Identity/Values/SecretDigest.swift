import AdapterKit
import Crypto

/// What is kept of a random secret: its SHA-256 digest. A secret of 256 random bits needs no slow hash, because nobody
/// can try them all.
struct SecretDigest: Sendable, Equatable {
    let bytes: [UInt8]

    init(of secret: Secret) {
        bytes = Array(SHA256.hash(data: Array(secret.reveal().utf8)))
    }

    init(stored bytes: [UInt8]) {
        self.bytes = bytes
    }

    /// Takes the same time wherever the difference is: the comparison is swift-crypto's for digests.
    func matches(_ secret: Secret) -> Bool {
        SHA256.hash(data: Array(secret.reveal().utf8)) == bytes
    }
}

extension Secret {
    /// 256 random bits in 43 URL-safe characters.
    static func random(_ randomness: any Randomness) -> Secret {
        Secret(Base64URL.encode(randomness.bytes(32)))
    }

    static let randomLength = 43
}
