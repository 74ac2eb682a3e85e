import Foundation
import ReplicaStorage

#if canImport(CryptoKit)
    import CryptoKit
#else
    import Crypto
#endif

/// Encrypts what must not lie open on the device. The database holds what it returns.
///
/// What every cipher promises: ``open(_:context:)`` gives back what was sealed with the same context, and throws for
/// anything else; sealing the same bytes twice gives different ones. May be called from any thread, for each record.
public protocol FieldCipher: Sendable {
    /// - Parameter context: what the bytes belong to; bound to them, not hidden.
    func seal(_ bytes: [UInt8], context: [UInt8]) throws -> [UInt8]
    /// The bytes that were sealed. Throws where `sealed` or `context` is another.
    func open(_ sealed: [UInt8], context: [UInt8]) throws -> [UInt8]
}

extension RowCipher {
    init(_ cipher: any FieldCipher) {
        self.init(seal: { try cipher.seal($0, context: $1) }, open: { try cipher.open($0, context: $1) })
    }
}

/// AES-GCM (NIST SP 800-38D) with random nonces. The key is the app's: keep it in the keychain.
public struct AESFieldCipher: FieldCipher {
    private let key: SymmetricKey

    /// - Parameter key: 16, 24 or 32 random bytes; nil for any other number.
    public init?(key: [UInt8]) {
        guard [16, 24, 32].contains(key.count) else { return nil }
        self.key = SymmetricKey(data: key)
    }

    /// 32 bytes for a new installation.
    public static func makeKey() -> [UInt8] {
        SymmetricKey(size: .bits256).withUnsafeBytes { [UInt8]($0) }
    }

    public func seal(_ bytes: [UInt8], context: [UInt8]) throws -> [UInt8] {
        let box = try AES.GCM.seal(bytes, using: key, authenticating: context)
        return [UInt8](box.nonce) + [UInt8](box.ciphertext) + [UInt8](box.tag)
    }

    public func open(_ sealed: [UInt8], context: [UInt8]) throws -> [UInt8] {
        [UInt8](try AES.GCM.open(AES.GCM.SealedBox(combined: sealed), using: key, authenticating: context))
    }
}
