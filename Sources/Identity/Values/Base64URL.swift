import Foundation

/// The URL-safe base64 alphabet without padding (RFC 4648, section 5).
enum Base64URL {
    static func encode(_ bytes: [UInt8]) -> String {
        translate(Data(bytes).base64EncodedString().prefix { $0 != "=" }, ["+": "-", "/": "_"])
    }

    /// Nil for any character outside the alphabet, for padding and for a length that no bytes have.
    static func decode(_ text: some StringProtocol) -> [UInt8]? {
        guard isWellFormed(text), text.utf8.count % 4 != 1 else { return nil }
        let standard = translate(text, ["-": "+", "_": "/"])
        let padding = String(repeating: "=", count: (4 - text.utf8.count % 4) % 4)
        return Data(base64Encoded: standard + padding).map { [UInt8]($0) }
    }

    static func translate(_ text: some StringProtocol, _ letters: [Character: Character]) -> String {
        String(text.map { letters[$0] ?? $0 })
    }

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
