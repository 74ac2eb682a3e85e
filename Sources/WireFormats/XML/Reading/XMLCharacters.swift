/// The character classes of XML 1.0 (fifth edition), sections 2.2 and 2.3, colons left to the namespaces.
enum XMLCharacters {
    /// Bits for the bytes 0x00…0x3F and 0x40…0x7F.
    private static let nameLow: UInt64 = 0x03FF_6000_0000_0000
    private static let nameHigh: UInt64 = 0x07FF_FFFE_87FF_FFFE
    private static let nameStartHigh: UInt64 = 0x07FF_FFFE_87FF_FFFE

    /// `-`, `.`, digits, letters, `_`.
    @inline(__always)
    static func isASCIINameByte(_ byte: UInt8) -> Bool {
        let bits = byte < 0x40 ? nameLow : nameHigh
        return byte < 0x80 && bits &>> UInt64(byte & 0x3F) & 1 == 1
    }

    @inline(__always)
    static func isASCIINameStart(_ byte: UInt8) -> Bool {
        byte &- 0x40 < 0x40 && nameStartHigh &>> UInt64(byte & 0x3F) & 1 == 1
    }

    @inline(__always)
    static func isSpace(_ byte: UInt8) -> Bool {
        byte == 0x20 || byte == 0x0A || byte == 0x09 || byte == 0x0D
    }

    /// `Char`.
    static func isCharacter(_ scalar: UInt32) -> Bool {
        switch scalar {
        case 0x20...0xD7FF, 0x9, 0xA, 0xD, 0xE000...0xFFFD, 0x10000...0x10FFFF: true
        default: false
        }
    }

    /// `NameStartChar` beyond ASCII.
    static func isNameStart(_ scalar: UInt32) -> Bool {
        switch scalar {
        case 0xC0...0xD6, 0xD8...0xF6, 0xF8...0x2FF, 0x370...0x37D, 0x37F...0x1FFF, 0x200C...0x200D, 0x2070...0x218F,
            0x2C00...0x2FEF, 0x3001...0xD7FF, 0xF900...0xFDCF, 0xFDF0...0xFFFD, 0x10000...0xEFFFF:
            true
        default: false
        }
    }

    /// `NameChar` beyond ASCII.
    static func isName(_ scalar: UInt32) -> Bool {
        switch scalar {
        case 0xB7, 0x300...0x36F, 0x203F...0x2040: true
        default: isNameStart(scalar)
        }
    }

    /// `PubidChar`.
    static func isPublicID(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x20, 0x0A, 0x0D, UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: [UInt8]("-'()+,./:=?;!*#@$_%".utf8).contains(byte)
        }
    }
}

extension XMLCharacters {
    /// The scalar that starts at `position` and its length, where the bytes are valid UTF-8 and a `Char`.
    static func scalar(_ text: Span<UInt8>, at position: Int) -> (value: UInt32, length: Int)? {
        let length = UTF8Text.scalarLength(text, at: position)
        guard length > 0 else { return nil }
        var value = UInt32(text[position])
        if length > 1 { value &= 0x7F >> UInt32(length) }
        for index in 1..<max(length, 1) { value = value << 6 | UInt32(text[position + index] & 0x3F) }
        return isCharacter(value) ? (value, length) : nil
    }

    /// Whether a whole text is an `NCName`.
    static func isNCName(_ text: Span<UInt8>) -> Bool {
        guard text.count > 0 else { return false }
        var position = 0
        while position < text.count {
            let byte = text[position]
            if byte < 0x80 {
                guard position == 0 ? isASCIINameStart(byte) : isASCIINameByte(byte) else { return false }
                position += 1
            } else {
                guard let (value, length) = scalar(text, at: position),
                    position == 0 ? isNameStart(value) : isName(value)
                else { return false }
                position += length
            }
        }
        return true
    }
}
