extension XMLScanner {
    /// Takes a qualified name: at most one colon, with a name on both sides of it.
    @inline(__always)
    mutating func takeName(_ text: Span<UInt8>) throws(WireFormatError) -> XMLName {
        let start = position
        try takePart(text)
        var prefix = 0
        if position < text.count, text[position] == UInt8(ascii: ":") {
            prefix = position - start
            position += 1
            try takePart(text)
            if position < text.count, text[position] == UInt8(ascii: ":") {
                throw malformed("a name with two colons", text)
            }
        }
        guard position - start <= XMLLimits.name else { throw exceeded("bytes of a name", XMLLimits.name, text) }
        return XMLName(offset: start, length: Int32(position - start), prefixLength: Int32(prefix))
    }

    /// Takes an `NCName`.
    @inline(__always)
    mutating func takePart(_ text: Span<UInt8>) throws(WireFormatError) {
        let start = position
        guard position < text.count else { throw malformed("the document ends within markup", text) }
        if XMLCharacters.isASCIINameStart(text[position]) {
            position &+= 1
            while position < text.count, XMLCharacters.isASCIINameByte(text[position]) { position &+= 1 }
            if position == text.count || text[position] < 0x80 { return }
        }
        try takeWidePart(text, start)
    }

    /// The rest of a name that is not plain ASCII.
    @inline(never)
    private mutating func takeWidePart(_ text: Span<UInt8>, _ start: Int) throws(WireFormatError) {
        while position < text.count {
            if text[position] < 0x80 {
                guard position > start, XMLCharacters.isASCIINameByte(text[position]) else { break }
                position += 1
                continue
            }
            guard let (value, length) = XMLCharacters.scalar(text, at: position) else { throw badCharacter(text) }
            guard position > start ? XMLCharacters.isName(value) : XMLCharacters.isNameStart(value) else { break }
            position += length
        }
        if position == start { throw malformed("a name was expected", text) }
    }

    @inline(__always)
    mutating func skipSpace(_ text: Span<UInt8>) {
        while position < text.count, XMLCharacters.isSpace(text[position]) { position &+= 1 }
    }

    @inline(__always)
    func follows(_ word: StaticString, _ text: Span<UInt8>) -> Bool {
        let length = word.utf8CodeUnitCount
        guard position + length <= text.count else { return false }
        for index in 0..<length where text[position + index] != word.utf8Start[index] { return false }
        return true
    }
}

extension XMLScanner {
    func malformed(_ message: String, _ text: Span<UInt8>, at offset: Int? = nil) -> WireFormatError {
        WireFormatError(.malformed, message, at: .init(offset: min(offset ?? position, text.count), in: text))
    }

    func exceeded(_ what: String, _ limit: Int, _ text: Span<UInt8>) -> WireFormatError {
        WireFormatError(
            .limitExceeded, "the document exceeds the limit of \(limit) (\(what))",
            at: .init(offset: position, in: text))
    }

    func badCharacter(_ text: Span<UInt8>) -> WireFormatError {
        let isText = UTF8Text.scalarLength(text, at: position) > 0
        return malformed(isText ? "a character that XML does not allow" : "the text is not valid UTF-8", text)
    }
}

extension WireFormatError.Position {
    /// The place of a byte in a text: lines end with LF.
    init(offset: Int, in text: Span<UInt8>) {
        var (line, lineStart) = (1, 0)
        for index in 0..<min(offset, text.count) where text[index] == 0x0A {
            line += 1
            lineStart = index + 1
        }
        self.init(offset: offset, line: line, column: offset - lineStart + 1)
    }
}
