/// Converts text in a character set of the web to UTF-8, piece by piece (WHATWG Encoding, sections 4 and 9).
///
/// Knows UTF-8, US-ASCII, ISO-8859-1, ISO-8859-15, windows-1252 and UTF-16. As browsers do, it reads ISO-8859-1 and
/// US-ASCII as windows-1252. What is no character in its set becomes U+FFFD; UTF-8 is passed on unchecked.
public struct CharacterSetDecoder: Sendable {
    private enum Encoding {
        case utf8
        case singleByte(euro15: Bool)
        case utf16(isBigEndian: Bool?)
    }

    private var encoding: Encoding
    /// Bytes of a code unit or a pair that the next piece completes.
    private var pending: [UInt8] = []

    /// Nil for a name of no known set. The name's case does not matter.
    public init?(_ name: String) {
        switch name.lowercased() {
        case "utf-8", "utf8": encoding = .utf8
        case "us-ascii", "ascii", "iso-8859-1", "latin1", "iso8859-1", "windows-1252", "cp1252":
            encoding = .singleByte(euro15: false)
        case "iso-8859-15", "latin9", "iso8859-15": encoding = .singleByte(euro15: true)
        case "utf-16": encoding = .utf16(isBigEndian: nil)
        case "utf-16le": encoding = .utf16(isBigEndian: false)
        case "utf-16be": encoding = .utf16(isBigEndian: true)
        default: return nil
        }
    }

    /// The set that a `Content-Type` names; nil: none.
    public static func name(inContentType value: String) -> String? {
        for parameter in value.split(separator: ";").dropFirst() {
            let parts = parameter.split(separator: "=", maxSplits: 1)
            guard parts.count == 2, parts[0].trimmingFieldWhitespace.lowercased() == "charset" else { continue }
            return parts[1].trimmingFieldWhitespace.filter { $0 != "\"" }
        }
        return nil
    }

    /// The next piece in UTF-8. `isLast`: an unfinished character at its end is U+FFFD.
    public mutating func decode(_ bytes: [UInt8], isLast: Bool = false) -> [UInt8] {
        switch encoding {
        case .utf8: return bytes
        case .singleByte(let euro15):
            var text = ""
            for byte in bytes { text.unicodeScalars.append(Self.scalar(byte, euro15)) }
            return Array(text.utf8)
        case .utf16(let isBigEndian): return decodeUTF16(pending + bytes, isBigEndian, isLast)
        }
    }

    private mutating func decodeUTF16(_ input: [UInt8], _ known: Bool?, _ isLast: Bool) -> [UInt8] {
        pending = []
        guard input.count >= 2 else {
            if isLast { return input.isEmpty ? [] : Self.replacement }
            pending = input
            return []
        }
        var input = input[...]
        // A byte order mark decides, and is no part of the text (RFC 2781, section 3.2).
        let mark = (input[0], input[1])
        var isBigEndian = known ?? true
        if known == nil {
            if mark == (0xFF, 0xFE) { isBigEndian = false }
            if mark == (0xFF, 0xFE) || mark == (0xFE, 0xFF) { input = input.dropFirst(2) }
            encoding = .utf16(isBigEndian: isBigEndian)
        }
        var units: [UInt16] = []
        units.reserveCapacity(input.count / 2)
        while input.count >= 2, let first = input.popFirst(), let second = input.popFirst() {
            units.append(isBigEndian ? UInt16(first) << 8 | UInt16(second) : UInt16(second) << 8 | UInt16(first))
        }
        pending = Array(input)
        if !isLast, let last = units.last, last & 0xFC00 == 0xD800 {
            units.removeLast()
            let bytes = [UInt8(truncatingIfNeeded: last >> 8), UInt8(truncatingIfNeeded: last)]
            pending = (isBigEndian ? bytes : bytes.reversed()) + pending
        }
        let text = Array(String(decoding: units, as: UTF16.self).utf8)
        return isLast && !pending.isEmpty ? text + Self.replacement : text
    }

    private static let replacement = Array("\u{FFFD}".utf8)

    private static func scalar(_ byte: UInt8, _ euro15: Bool) -> Unicode.Scalar {
        if euro15 { return latin9[byte] ?? Unicode.Scalar(byte) }
        return (0x80...0x9F).contains(byte) ? windows1252[Int(byte) - 0x80] : Unicode.Scalar(byte)
    }

    private static let latin9: [UInt8: Unicode.Scalar] = [
        0xA4: "\u{20AC}", 0xA6: "\u{160}", 0xA8: "\u{161}", 0xB4: "\u{17D}", 0xB8: "\u{17E}", 0xBC: "\u{152}",
        0xBD: "\u{153}", 0xBE: "\u{178}",
    ]

    private static let windows1252: [Unicode.Scalar] = [
        "\u{20AC}", "\u{81}", "\u{201A}", "\u{192}", "\u{201E}", "\u{2026}", "\u{2020}", "\u{2021}", "\u{2C6}",
        "\u{2030}", "\u{160}", "\u{2039}", "\u{152}", "\u{8D}", "\u{17D}", "\u{8F}", "\u{90}", "\u{2018}",
        "\u{2019}", "\u{201C}", "\u{201D}", "\u{2022}", "\u{2013}", "\u{2014}", "\u{2DC}", "\u{2122}", "\u{161}",
        "\u{203A}", "\u{153}", "\u{9D}", "\u{17E}", "\u{178}",
    ]
}
