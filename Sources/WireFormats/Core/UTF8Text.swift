/// Validation of UTF-8 (RFC 3629): no overlong forms, no surrogates, nothing above U+10FFFF.
enum UTF8Text {
    /// The length of the scalar that starts at `position`, or 0 where the bytes are not valid.
    static func scalarLength(_ text: Span<UInt8>, at position: Int) -> Int {
        let lead = text[position]
        switch lead {
        case 0..<0x80: return 1
        case 0xC2...0xDF: return continues(text, position, 1, 0x80...0xBF) ? 2 : 0
        case 0xE0: return continues(text, position, 2, 0xA0...0xBF) ? 3 : 0
        case 0xED: return continues(text, position, 2, 0x80...0x9F) ? 3 : 0
        case 0xE1...0xEF: return continues(text, position, 2, 0x80...0xBF) ? 3 : 0
        case 0xF0: return continues(text, position, 3, 0x90...0xBF) ? 4 : 0
        case 0xF1...0xF3: return continues(text, position, 3, 0x80...0xBF) ? 4 : 0
        case 0xF4: return continues(text, position, 3, 0x80...0x8F) ? 4 : 0
        default: return 0
        }
    }

    /// The position of the first invalid byte, or nil.
    static func firstInvalid(_ text: Span<UInt8>, in range: Range<Int>) -> Int? {
        var position = range.lowerBound
        while position < range.upperBound {
            let length = scalarLength(text, at: position)
            guard length > 0, position + length <= range.upperBound else { return position }
            position += length
        }
        return nil
    }

    private static func continues(
        _ text: Span<UInt8>, _ position: Int, _ count: Int, _ second: ClosedRange<UInt8>
    ) -> Bool {
        guard position + count < text.count, second.contains(text[position + 1]) else { return false }
        for index in 1..<count where text[position + 1 + index] & 0xC0 != 0x80 { return false }
        return true
    }
}
