/// Standard base64 (RFC 4648, section 4), the form of data in text formats.
public enum Base64 {
    private static let alphabet = [UInt8]("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
    private static let padding = UInt8(ascii: "=")

    /// The 6 bits of each character, 0xFF for what is none.
    private static let values: [UInt8] = {
        var values = [UInt8](repeating: 0xFF, count: 256)
        for (value, character) in alphabet.enumerated() { values[Int(character)] = UInt8(value) }
        return values
    }()

    /// With padding, without line breaks.
    public static func encode(_ data: some RandomAccessCollection<UInt8>) -> [UInt8] {
        let data = Array(data)
        var text: [UInt8] = []
        text.reserveCapacity((data.count + 2) / 3 * 4)
        for start in stride(from: 0, to: data.count, by: 3) {
            let count = min(3, data.count - start)
            let group = (0..<3).reduce(0) { $0 << 8 | ($1 < count ? Int(data[start + $1]) : 0) }
            for digit in 0..<4 {
                text.append(digit <= count ? alphabet[group >> (18 - 6 * digit) & 63] : padding)
            }
        }
        return text
    }

    /// Strict: complete groups, padding at the end only, no unused bits set, nothing else in between. Nil otherwise.
    public static func decode(_ text: some Collection<UInt8>) -> [UInt8]? {
        guard text.count % 4 == 0 else { return nil }
        var (data, group, digits, pads) = ([UInt8](), UInt32(0), 0, 0)
        data.reserveCapacity(text.count / 4 * 3)
        for character in text {
            let value = values[Int(character)]
            if character == padding { pads += 1 } else if value == 0xFF || pads > 0 { return nil }
            group = group << 6 | UInt32(value & 63)
            digits += 1
            guard digits % 4 == 0 else { continue }
            guard append(group, pads: pads, to: &data) else { return nil }
            group = 0
        }
        return data
    }

    /// The bytes that a base64 text spells; nil where it is none.
    public static func decode(_ text: String) -> [UInt8]? {
        decode(text.utf8)
    }

    /// A group's three bytes; the padding's places hold ones, which are cut off.
    private static func append(_ group: UInt32, pads: Int, to data: inout [UInt8]) -> Bool {
        let unusedBits: [UInt32] = [0, 0xC0, 0xF000]
        guard pads < 3, group & unusedBits[pads] == 0 else { return false }
        for byte in 0..<3 - pads { data.append(UInt8(truncatingIfNeeded: group >> UInt32(16 - 8 * byte))) }
        return true
    }
}

/// Base64 for addresses and tokens (RFC 4648, section 5), without padding.
public enum Base64URL {
    public static func encode(_ bytes: some RandomAccessCollection<UInt8>) -> String {
        let letters = Base64.encode(bytes).compactMap { byte -> UInt8? in
            switch byte {
            case UInt8(ascii: "+"): UInt8(ascii: "-")
            case UInt8(ascii: "/"): UInt8(ascii: "_")
            case UInt8(ascii: "="): nil
            default: byte
            }
        }
        return String(decoding: letters, as: UTF8.self)
    }

    /// Nil for any character outside the alphabet, for padding, for unused bits that are set and for a length that no
    /// bytes have.
    public static func decode(_ text: String) -> [UInt8]? {
        text.utf8.contains { "+/=".utf8.contains($0) } ? nil : decode(lenient: text)
    }

    /// Takes the standard alphabet and padding too, which clients send.
    public static func decode(lenient text: String) -> [UInt8]? {
        var standard = text.utf8.map { byte in
            switch byte {
            case UInt8(ascii: "-"): UInt8(ascii: "+")
            case UInt8(ascii: "_"): UInt8(ascii: "/")
            default: byte
            }
        }
        while standard.count % 4 != 0 { standard.append(UInt8(ascii: "=")) }
        return Base64.decode(standard)
    }
}

/// Bytes as hexadecimal digits, two for each, in lower case.
public enum Hexadecimal {
    private static let digits = [UInt8]("0123456789abcdef".utf8)

    public static func text(_ bytes: some Sequence<UInt8>) -> String {
        String(decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    }

    /// Sixteen bytes in the groups of a UUID (RFC 9562, section 4).
    public static func uuid(_ bytes: [UInt8]) -> String {
        [0..<4, 4..<6, 6..<8, 8..<10, 10..<16].map { text(bytes[$0]) }.joined(separator: "-")
    }
}
