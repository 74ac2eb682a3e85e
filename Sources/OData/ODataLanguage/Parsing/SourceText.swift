/// A raw text as the characters that it means, each with its place.
///
/// The grammar treats a percent-encoded character mostly as the character itself, so decoding comes first, and the
/// few rules that tell them apart (`/`, `&`, `=`, `#`, `;` and `+`) ask ``Character/isEncoded``.
struct SourceText {
    /// One byte of UTF-8 after decoding.
    struct Character {
        let byte: UInt8
        let isEncoded: Bool
        let start: Int32
        let end: Int32

        /// Whether it is this byte, written as itself.
        func isRaw(_ other: UInt8) -> Bool { byte == other && !isEncoded }
    }

    enum Encoding {
        /// Part of a URL: `%41` is `A`.
        case url
        /// A payload or a header: `%` has no meaning.
        case plain
    }

    let characters: [Character]
    let encoding: Encoding
    /// Bytes of the raw text.
    let length: Int

    init(_ text: String, as encoding: Encoding = .url) throws(SyntaxError) {
        let bytes = Array(text.utf8)
        var characters: [Character] = []
        characters.reserveCapacity(bytes.count)
        var at = 0
        while at < bytes.count {
            let isEncoded = encoding == .url && bytes[at] == UInt8(ascii: "%")
            let byte = isEncoded ? try Self.decoded(bytes, at) : bytes[at]
            let next = at + (isEncoded ? 3 : 1)
            // Cannot trap: the length was checked.
            characters.append(Character(byte: byte, isEncoded: isEncoded, start: Int32(at), end: Int32(next)))
            at = next
        }
        self.characters = characters
        self.encoding = encoding
        self.length = bytes.count
    }

    private static func decoded(_ bytes: [UInt8], _ at: Int) throws(SyntaxError) -> UInt8 {
        for place in [at + 1, at + 2] where place >= bytes.count || bytes[place].hexDigit == nil {
            throw SyntaxError(position: min(place, bytes.count), expected: "a hexadecimal digit")
        }
        return (bytes[at + 1].hexDigit ?? 0) << 4 | (bytes[at + 2].hexDigit ?? 0)
    }
}

extension UInt8 {
    var hexDigit: UInt8? {
        switch self {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): self - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): self - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): self - UInt8(ascii: "A") + 10
        default: nil
        }
    }

    var isDigit: Bool { self >= UInt8(ascii: "0") && self <= UInt8(ascii: "9") }
    var isLetter: Bool { (self | 0x20) >= UInt8(ascii: "a") && (self | 0x20) <= UInt8(ascii: "z") }
    var isSpace: Bool { self == 0x20 || self == 0x09 }
    var lowercased: UInt8 { self >= UInt8(ascii: "A") && self <= UInt8(ascii: "Z") ? self | 0x20 : self }
}
