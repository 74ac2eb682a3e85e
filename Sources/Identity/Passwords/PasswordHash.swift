import AdapterKit
import Crypto
import CryptoExtras

/// A salted scrypt hash and how it was made.
///
/// Stored in the PHC string format, which other systems write too, so that accounts can be brought along:
/// `$scrypt$ln=15,r=8,p=3$SALT$HASH`, the last two in standard base64 without padding.
package struct PasswordHash: Sendable, Equatable {
    static let saltLength = 16
    static let hashLength = 32

    package let parameters: ScryptParameters
    package let salt: [UInt8]
    package let hash: [UInt8]

    package init(parameters: ScryptParameters, salt: [UInt8], hash: [UInt8]) {
        self.parameters = parameters
        self.salt = salt
        self.hash = hash
    }

    /// Nil for anything but a PHC string of scrypt within the limits of ``ScryptParameters``.
    package init?(_ text: String) {
        let parts = text.split(separator: "$", omittingEmptySubsequences: false)
        guard parts.count == 5, parts[0].isEmpty, parts[1] == "scrypt",
            let parameters = Self.parameters(parts[2]), let salt = Self.bytes(parts[3], count: 8...64),
            let hash = Self.bytes(parts[4], count: 16...64)
        else { return nil }
        self.init(parameters: parameters, salt: salt, hash: hash)
    }

    package var text: Secret {
        let cost = "ln=\(parameters.logRounds),r=\(parameters.blockSize),p=\(parameters.parallelism)"
        return Secret("$scrypt$\(cost)$\(Self.text(salt))$\(Self.text(hash))")
    }

    private static func parameters(_ text: Substring) -> ScryptParameters? {
        let items = text.split(separator: ",", omittingEmptySubsequences: false)
        guard items.count == 3 else { return nil }
        let numbers = zip(["ln=", "r=", "p="], items).map { $1.hasPrefix($0) ? Int($1.dropFirst($0.count)) : nil }
        guard let rounds = numbers[0], let size = numbers[1], let parallel = numbers[2] else { return nil }
        return ScryptParameters(logRounds: rounds, blockSize: size, parallelism: parallel)
    }

    /// Standard base64 without padding (RFC 4648, section 4), which differs from base64url in two characters.
    private static func bytes(_ text: Substring, count: ClosedRange<Int>) -> [UInt8]? {
        guard !text.contains("-"), !text.contains("_"),
            !text.contains("="), let bytes = Base64URL.decode(lenient: String(text))
        else { return nil }
        return count.contains(bytes.count) ? bytes : nil
    }

    private static func text(_ bytes: [UInt8]) -> String {
        Base64URL.encode(bytes).replacing("-", with: "+").replacing("_", with: "/")
    }
}

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

/// The rule for a new password: long enough, not absurdly long, no NUL. No rules about kinds of letters, which make
/// passwords worse (NIST SP 800-63B, section 5.1.1.2). Bytes are taken as they come, without normalisation.
struct PasswordPolicy: Sendable {
    static let maximumBytes = 1024

    let minimumLength: Int

    /// Throws `request.invalid` with a message for the person that chose it.
    func check(_ password: Secret, for name: AccountName) throws {
        let text = password.reveal()
        guard text.unicodeScalars.count >= minimumLength else {
            throw refusal("A password has at least \(minimumLength) characters.")
        }
        guard Self.isPossible(password) else {
            throw refusal("A password has at most \(Self.maximumBytes) bytes and no NUL.")
        }
        guard AccountName.fold(text) != name.folded else {
            throw refusal("The account's name is no password.")
        }
    }

    /// Whether any account could have it. What can't be is hashed all the same, but as a constant: long texts would
    /// make refusals slow.
    static func isPossible(_ password: Secret) -> Bool {
        let text = password.reveal()
        return !text.isEmpty && text.utf8.count <= maximumBytes && !text.utf8.contains(0)
    }

    private func refusal(_ message: String) -> PorticoError {
        PorticoError(.requestInvalid, message, target: "password")
    }
}
