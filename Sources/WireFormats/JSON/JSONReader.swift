/// Reads one JSON text onto a tape: a loop over values and what follows them, without recursion.
///
/// The input is passed as a `Span` to every function: it is bounds-checked, and the checks cost at most a tenth.
struct JSONReader: ~Copyable {
    var builder: TapeBuilder
    var position = 0

    init(_ input: [UInt8], limits: ReadingLimits) {
        builder = TapeBuilder(input: input, limits: limits, positions: .text)
    }

    mutating func readDocument(_ text: Span<UInt8>) throws(WireFormatError) {
        if text.count >= 3, text[0] == 0xEF, text[1] == 0xBB, text[2] == 0xBF { position = 3 }
        repeat {
            if try readValue(text) { try readUntilNextValue(text) }
        } while builder.depth > 0
        if try nextCharacter(text) != 0 { throw malformed("something follows the value") }
    }

    consuming func finish() -> Tape { builder.finish() }

    /// Puts a scalar or an empty container on the tape, or opens a container (false: its first value comes next).
    private mutating func readValue(_ text: Span<UInt8>) throws(WireFormatError) -> Bool {
        switch try nextCharacter(text) {
        case UInt8(ascii: "\""): try readString(text, .string)
        case UInt8(ascii: "{"): return try beginDictionary(text)
        case UInt8(ascii: "["): return try beginArray(text)
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): try readNumber(text)
        case UInt8(ascii: "t"): try readLiteral("true", .true, text)
        case UInt8(ascii: "f"): try readLiteral("false", .false, text)
        case UInt8(ascii: "n"): try readLiteral("null", .null, text)
        default: throw malformed("a value is expected", text)
        }
        return true
    }

    private mutating func beginArray(_ text: Span<UInt8>) throws(WireFormatError) -> Bool {
        try builder.begin(.array, at: position)
        position += 1
        guard try nextCharacter(text) == UInt8(ascii: "]") else { return false }
        try end()
        return true
    }

    private mutating func beginDictionary(_ text: Span<UInt8>) throws(WireFormatError) -> Bool {
        try builder.begin(.dictionary, at: position)
        position += 1
        if try nextCharacter(text) == UInt8(ascii: "}") {
            try end()
            return true
        }
        return try readMembers(text)
    }

    private mutating func end() throws(WireFormatError) {
        try builder.end(at: position)
        position += 1
    }

    /// After a value: closes containers, takes a comma and a key.
    private mutating func readUntilNextValue(_ text: Span<UInt8>) throws(WireFormatError) {
        while builder.depth > 0 {
            let isInDictionary = builder.isInDictionary
            switch try nextCharacter(text) {
            case UInt8(ascii: ","):
                position += 1
                guard isInDictionary, try readMembers(text) else { return }
            case UInt8(ascii: "}") where isInDictionary, UInt8(ascii: "]") where !isInDictionary: try end()
            default: throw malformed(isInDictionary ? "',' or '}' is expected" : "',' or ']' is expected", text)
            }
        }
    }

    mutating func readKey(_ text: Span<UInt8>) throws(WireFormatError) {
        guard try nextCharacter(text) == UInt8(ascii: "\"") else { throw malformed("a key is expected", text) }
        try readString(text, .key)
        guard try nextCharacter(text) == UInt8(ascii: ":") else { throw malformed("':' is expected", text) }
        position += 1
    }

    private mutating func readLiteral(
        _ literal: StaticString, _ kind: TapeToken.Kind, _ text: Span<UInt8>
    ) throws(WireFormatError) {
        let length = literal.utf8CodeUnitCount
        guard position + length <= text.count else { throw malformed("a value is expected") }
        for index in 0..<length where text[position + index] != literal.utf8Start[index] {
            throw malformed("a value is expected")
        }
        try builder.scalar(TapeToken(kind), at: position)
        position += length
    }

    /// Skips white space; 0 at the end. A NUL in the input is refused here, so the two cannot be mixed up.
    @inline(__always)
    private mutating func nextCharacter(_ text: Span<UInt8>) throws(WireFormatError) -> UInt8 {
        while position < text.count {
            let character = text[position]
            if character > 0x20 { return character }
            guard character == 0x20 || character == 0x0A || character == 0x0D || character == 0x09 else {
                throw malformed("a control character stands between values")
            }
            position &+= 1
        }
        return 0
    }

    func malformed(_ message: String) -> WireFormatError {
        builder.failure(.malformed, message, at: position)
    }

    private func malformed(_ message: String, _ text: Span<UInt8>) -> WireFormatError {
        malformed(position < text.count ? message : "the document ends too early")
    }
}
