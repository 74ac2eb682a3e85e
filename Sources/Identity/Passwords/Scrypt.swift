import AdapterKit
import Crypto
import CryptoExtras

/// The hash function itself: slow and large by design, so it runs on ``HashingThreadPool`` only.
package enum Scrypt {
    package static func hash(_ password: Secret, salt: [UInt8], parameters: ScryptParameters) throws -> PasswordHash {
        let key = try derive(password, salt: salt, count: PasswordHash.hashLength, parameters: parameters)
        return PasswordHash(parameters: parameters, salt: salt, hash: key.withUnsafeBytes { Array($0) })
    }

    package static func verify(_ password: Secret, against stored: PasswordHash) throws -> Bool {
        let key = try derive(password, salt: stored.salt, count: stored.hash.count, parameters: stored.parameters)
        // SymmetricKey's equality takes the same time wherever the difference is.
        return key == SymmetricKey(data: stored.hash)
    }

    private static func derive(_ password: Secret, salt: [UInt8], count: Int, parameters: ScryptParameters) throws
        -> SymmetricKey
    {
        // The library reads the address of the first byte, which an empty password does not have. No account has it:
        // the policy asks for more, and a NUL is refused as part of any password.
        let bytes = Array(password.reveal().utf8)
        return try KDF.Scrypt.deriveKey(
            from: bytes.isEmpty ? [0] : bytes, salt: salt, outputByteCount: count, rounds: 1 << parameters.logRounds,
            blockSize: parameters.blockSize, parallelism: parameters.parallelism)
    }
}
