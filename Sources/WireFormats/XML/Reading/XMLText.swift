/// What pieces of a document mean, once their references and line ends are resolved. The pieces were checked by the
/// scanner.
public enum XMLText {
    /// Character data: references resolved, line ends as LF (XML 1.0, section 2.11).
    public static func append(_ content: XMLContent, _ text: Span<UInt8>, to output: inout [UInt8]) {
        guard content.resolving != .none else { return append(content.range, text, to: &output) }
        var position = content.range.lowerBound
        while position < content.range.upperBound {
            switch text[position] {
            case UInt8(ascii: "&") where content.resolving == .references:
                position += appendReference(text, position, to: &output)
            case 0x0D:
                output.append(0x0A)
                position += lineEndLength(text, position)
            default: position = appendPlain(text, position, content.range.upperBound, to: &output)
            }
        }
    }

    /// An attribute's value: the same, and white space as itself becomes spaces (section 3.3.3).
    public static func attributeValue(_ content: XMLContent, _ text: Span<UInt8>) -> [UInt8] {
        var output: [UInt8] = []
        output.reserveCapacity(content.range.count)
        guard content.resolving != .none else {
            append(content.range, text, to: &output)
            return output
        }
        var position = content.range.lowerBound
        while position < content.range.upperBound {
            switch text[position] {
            case UInt8(ascii: "&"): position += appendReference(text, position, to: &output)
            case 0x09, 0x0A, 0x0D:
                output.append(0x20)
                position += lineEndLength(text, position)
            default: position = appendPlain(text, position, content.range.upperBound, to: &output)
            }
        }
        return output
    }

    /// Whether a piece of character data is white space that is written as itself.
    static func isSpace(_ content: XMLContent, _ text: Span<UInt8>) -> Bool {
        for index in content.range where !XMLCharacters.isSpace(text[index]) { return false }
        return true
    }

    private static func append(_ range: Range<Int>, _ text: Span<UInt8>, to output: inout [UInt8]) {
        text.extracting(range).withUnsafeBufferPointer { output.append(contentsOf: $0) }
    }

    private static func lineEndLength(_ text: Span<UInt8>, _ position: Int) -> Int {
        text[position] == 0x0D && position + 1 < text.count && text[position + 1] == 0x0A ? 2 : 1
    }

    private static func appendPlain(
        _ text: Span<UInt8>, _ start: Int, _ end: Int, to output: inout [UInt8]
    ) -> Int {
        var position = start
        while position < end, text[position] >= 0x20, text[position] != UInt8(ascii: "&") { position &+= 1 }
        // A tab, a line feed or the `&` of a CDATA section stands for itself.
        if position == start { position += 1 }
        append(start..<position, text, to: &output)
        return position
    }

    private static func appendReference(_ text: Span<UInt8>, _ position: Int, to output: inout [UInt8]) -> Int {
        guard let reference = XMLReference(text, at: position), let scalar = Unicode.Scalar(reference.scalar) else {
            preconditionFailure("the scanner checked the reference")
        }
        if reference.scalar < 0x80 {
            output.append(UInt8(reference.scalar))
        } else {
            output.append(contentsOf: UTF8.encode(scalar)!)
        }
        return reference.length
    }
}

/// A predefined entity or a character reference.
struct XMLReference {
    let scalar: UInt32
    /// From `&` to `;`.
    let length: Int

    /// Nil where there is none. Whether the scalar is allowed is for the caller to check.
    init?(_ text: Span<UInt8>, at position: Int) {
        guard position + 1 < text.count, text[position + 1] == UInt8(ascii: "#") else {
            guard let known = Self.entity(text, at: position) else { return nil }
            (scalar, length) = known
            return
        }
        let isHex = position + 2 < text.count && text[position + 2] == UInt8(ascii: "x")
        let start = position + (isHex ? 3 : 2)
        var (value, end) = (UInt32(0), start)
        while end < text.count, end - start < XMLLimits.referenceDigits,
            let digit = JSONText.hexDigit(text[end]), isHex || digit < 10
        {
            // Beyond Unicode the value only has to stay there.
            value = min(value * (isHex ? 16 : 10) + UInt32(digit), 0x110000)
            end += 1
        }
        guard end > start, end < text.count, text[end] == UInt8(ascii: ";") else { return nil }
        (scalar, length) = (value, end + 1 - position)
    }

    private static func entity(_ text: Span<UInt8>, at position: Int) -> (scalar: UInt32, length: Int)? {
        guard position + 1 < text.count else { return nil }
        switch text[position + 1] {
        case UInt8(ascii: "l"): return matches(text, position, "&lt;") ? (0x3C, 4) : nil
        case UInt8(ascii: "g"): return matches(text, position, "&gt;") ? (0x3E, 4) : nil
        case UInt8(ascii: "q"): return matches(text, position, "&quot;") ? (0x22, 6) : nil
        case UInt8(ascii: "a"):
            if matches(text, position, "&amp;") { return (0x26, 5) }
            return matches(text, position, "&apos;") ? (0x27, 6) : nil
        default: return nil
        }
    }

    @inline(__always)
    private static func matches(_ text: Span<UInt8>, _ start: Int, _ word: StaticString) -> Bool {
        guard start + word.utf8CodeUnitCount <= text.count else { return false }
        for index in 0..<word.utf8CodeUnitCount where text[start + index] != word.utf8Start[index] { return false }
        return true
    }
}

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

    /// ASCII without control characters: what an address is made of.
    static func isOfAddress(_ byte: UInt8) -> Bool { (0x20..<0x7F).contains(byte) }

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
