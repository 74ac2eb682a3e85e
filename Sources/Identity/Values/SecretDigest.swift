import AdapterKit
import Crypto
import Foundation

/// The kept part of a random secret: its SHA-256 digest. A secret of 256 random bits needs no slow hash, because
/// trying them all is infeasible.
struct SecretDigest: Sendable, Hashable {
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

extension Base64URL {
    /// Whether every character is in the alphabet (RFC 4648, section 5); padding is not.
    static func isWellFormed(_ text: some StringProtocol) -> Bool {
        text.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"): true
            case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"): true
            default: false
            }
        }
    }
}

/// Where unpredictable bytes come from. Passed in, so that a test can decide what is drawn.
public protocol Randomness: Sendable {
    /// `count` bytes that cannot be predicted from earlier ones. Safe to call from any task.
    func bytes(_ count: Int) -> [UInt8]
}

/// The operating system's generator (`getrandom(2)` on Linux).
public struct SystemRandomness: Randomness {
    public init() {}

    public func bytes(_ count: Int) -> [UInt8] {
        var generator = SystemRandomNumberGenerator()
        return (0..<count).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
    }
}
