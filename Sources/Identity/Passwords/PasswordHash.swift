import AdapterKit

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

    /// The two alphabets differ in two letters only.
    private static func bytes(_ text: Substring, count: ClosedRange<Int>) -> [UInt8]? {
        guard !text.contains("-"), !text.contains("_"),
            let bytes = Base64URL.decode(Base64URL.translate(text, ["+": "-", "/": "_"]))
        else { return nil }
        return count.contains(bytes.count) ? bytes : nil
    }

    private static func text(_ bytes: [UInt8]) -> String {
        Base64URL.translate(Base64URL.encode(bytes), ["-": "+", "_": "/"])
    }
}
