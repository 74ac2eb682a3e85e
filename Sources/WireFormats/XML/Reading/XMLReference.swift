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
