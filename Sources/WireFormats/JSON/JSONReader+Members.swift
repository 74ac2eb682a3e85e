/// The members of a dictionary, most of which are scalars behind plain keys: taken in one loop without a call for each
/// part. Only what stands there without white space and escapes is taken here.
extension JSONReader {
    /// From where a key is due: takes members as long as their values are strings and numbers. Tells whether the last
    /// one's value was taken; otherwise it comes next.
    mutating func readMembers(_ text: Span<UInt8>) throws(WireFormatError) -> Bool {
        repeat {
            if try !takesPlainKey(text) { try readKey(text) }
            guard try takesScalar(text) else { return false }
        } while takesComma(text)
        return true
    }

    @inline(__always)
    private mutating func takesPlainKey(_ text: Span<UInt8>) throws(WireFormatError) -> Bool {
        guard position < text.count, text[position] == UInt8(ascii: "\"") else { return false }
        let start = position &+ 1
        let end = SWAR.skipPlain(text, from: start)
        guard end &+ 1 < text.count, text[end] == UInt8(ascii: "\""), text[end &+ 1] == UInt8(ascii: ":") else {
            return false
        }
        try builder.key(TapeToken(.key, offset: start, length: end &- start), at: start)
        position = end &+ 2
        return true
    }

    @inline(__always)
    private mutating func takesScalar(_ text: Span<UInt8>) throws(WireFormatError) -> Bool {
        guard position < text.count else { return false }
        switch text[position] {
        case UInt8(ascii: "\""): try takeText(text)
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): try readNumber(text)
        default: return false
        }
        return true
    }

    @inline(__always)
    private mutating func takeText(_ text: Span<UInt8>) throws(WireFormatError) {
        let start = position &+ 1
        let end = SWAR.skipPlain(text, from: start)
        guard end < text.count, text[end] == UInt8(ascii: "\"") else { return try readWideString(text) }
        try builder.bytes(TapeToken(.string, offset: start, length: end &- start), at: start)
        position = end &+ 1
    }

    @inline(never)
    private mutating func readWideString(_ text: Span<UInt8>) throws(WireFormatError) {
        try readString(text, .string)
    }

    @inline(__always)
    private mutating func takesComma(_ text: Span<UInt8>) -> Bool {
        guard position < text.count, text[position] == UInt8(ascii: ",") else { return false }
        position &+= 1
        return true
    }
}
