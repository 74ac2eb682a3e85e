extension JSONReader {
    /// Takes a string, from its opening quote to its closing one.
    @inline(__always)
    mutating func readString(_ text: Span<UInt8>, _ kind: TapeToken.Kind) throws(WireFormatError) {
        let start = position + 1
        position = SWAR.skipPlain(text, from: start)
        var storage = TapeToken.Storage.input
        if position >= text.count || text[position] != UInt8(ascii: "\"") { storage = try readSpecial(text) }
        let token = TapeToken(kind, offset: start, length: position - start, storage: storage)
        if kind == .key { try builder.key(token, at: start) } else { try builder.bytes(token, at: start) }
        position += 1
    }

    /// The rest of a string that is not plain ASCII all through.
    @inline(never)
    private mutating func readSpecial(_ text: Span<UInt8>) throws(WireFormatError) -> TapeToken.Storage {
        var storage = TapeToken.Storage.input
        while position < text.count {
            switch text[position] {
            case UInt8(ascii: "\""): return storage
            case UInt8(ascii: "\\"):
                storage = .jsonEscaped
                try skipEscape(text)
            case 0x80...: try skipScalar(text)
            default: throw malformed("a control character in a string must be escaped")
            }
            position = SWAR.skipPlain(text, from: position)
        }
        throw malformed("a string is not closed")
    }

    private mutating func skipScalar(_ text: Span<UInt8>) throws(WireFormatError) {
        let length = UTF8Text.scalarLength(text, at: position)
        guard length > 0 else { throw malformed("a string is not valid UTF-8") }
        position += length
    }

    private mutating func skipEscape(_ text: Span<UInt8>) throws(WireFormatError) {
        guard position + 1 < text.count else { throw malformed("a string is not closed") }
        switch text[position + 1] {
        case UInt8(ascii: "u"): try skipUnicodeEscape(text)
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"), UInt8(ascii: "f"),
            UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
            position += 2
        default: throw malformed("an unknown escape in a string")
        }
    }

    private mutating func skipUnicodeEscape(_ text: Span<UInt8>) throws(WireFormatError) {
        let unit = try unicodeEscape(text)
        guard UTF16.isSurrogate(unit) else {
            position += 6
            return
        }
        guard UTF16.isLeadSurrogate(unit) else { throw malformed("a lone surrogate in a string") }
        position += 6
        guard UTF16.isTrailSurrogate(try unicodeEscape(text)) else { throw malformed("a lone surrogate in a string") }
        position += 6
    }

    /// The unit of `\uXXXX` at the current position.
    private func unicodeEscape(_ text: Span<UInt8>) throws(WireFormatError) -> UInt16 {
        guard position + 6 <= text.count, text[position] == UInt8(ascii: "\\"), text[position + 1] == UInt8(ascii: "u")
        else { throw malformed("a lone surrogate or an incomplete escape in a string") }
        var unit: UInt16 = 0
        for index in 2..<6 {
            guard let digit = JSONText.hexDigit(text[position + index]) else {
                throw malformed("an escape needs four hexadecimal digits")
            }
            unit = unit << 4 | UInt16(digit)
        }
        return unit
    }
}
