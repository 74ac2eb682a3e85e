import AdapterKit
import Crypto

/// What a verified credential is found by in memory: its HMAC-SHA256 under a key that this process drew and nobody
/// knows, so a memory dump gives no digest of a password that could be attacked elsewhere.
public struct CredentialKey: Sendable, Hashable {
    private let words: (UInt64, UInt64, UInt64, UInt64)

    /// Parts are separated by their lengths: `ab` and `c` differ from `a` and `bc`.
    ///
    /// `keyed` is an HMAC that has taken its key and nothing else: taking it costs as much as a short credential.
    package init(_ method: Authentication.Method, _ parts: [Secret], keyed: HMAC<SHA256>) {
        var bytes = Array(method.rawValue.utf8)
        for part in parts {
            let text = part.reveal().utf8
            withUnsafeBytes(of: UInt64(text.count).littleEndian) { bytes.append(contentsOf: $0) }
            bytes.append(contentsOf: text)
        }
        var code = keyed
        code.update(data: bytes)
        words = code.finalize().withUnsafeBytes {
            $0.loadUnaligned(as: (UInt64, UInt64, UInt64, UInt64).self)
        }
    }

    public static func == (left: Self, right: Self) -> Bool { left.words == right.words }

    /// The words are uniformly distributed already.
    public func hash(into hasher: inout Hasher) { hasher.combine(words.0) }
}
