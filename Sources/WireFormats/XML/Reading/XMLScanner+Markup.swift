extension XMLScanner {
    /// What starts with `<!` inside of the document: a comment or a CDATA section.
    mutating func readDeclaration(_ text: Span<UInt8>) throws(WireFormatError) -> XMLEvent {
        if follows("<!--", text) { return try readComment(text) }
        if follows("<![CDATA[", text), !open.isEmpty { return try readCDATA(text) }
        throw malformed("an unknown declaration", text)
    }

    private mutating func readComment(_ text: Span<UInt8>) throws(WireFormatError) -> XMLEvent {
        position += 4
        let start = position
        let hasLineEnds = try skip(until: "--", "a comment is not closed", text)
        content = XMLContent(range: start..<position, resolving: hasLineEnds ? .lineEnds : .none)
        guard follows("-->", text) else { throw malformed("`--` in a comment", text) }
        position += 3
        return .comment
    }

    private mutating func readCDATA(_ text: Span<UInt8>) throws(WireFormatError) -> XMLEvent {
        position += 9
        let start = position
        let hasLineEnds = try skip(until: "]]>", "a CDATA section is not closed", text)
        content = XMLContent(range: start..<position, resolving: hasLineEnds ? .lineEnds : .none)
        position += 3
        return .cdata
    }

    mutating func readInstruction(_ text: Span<UInt8>) throws(WireFormatError) -> XMLEvent {
        position += 2
        let target = try takeName(text)
        guard target.prefixLength == 0 else { throw malformed("a colon in a processing instruction's target", text) }
        guard !isReserved(target, text) else { throw malformed("a processing instruction named `xml`", text) }
        if !follows("?>", text) {
            guard position < text.count, XMLCharacters.isSpace(text[position]) else {
                throw malformed("a processing instruction's target is not followed by white space", text)
            }
            skipSpace(text)
        }
        let start = position
        let hasLineEnds = try skip(until: "?>", "a processing instruction is not closed", text)
        content = XMLContent(range: start..<position, resolving: hasLineEnds ? .lineEnds : .none)
        position += 2
        name = target
        return .processingInstruction
    }

    /// `xml` in any case: an XML declaration elsewhere than at the start, or a reserved target.
    private func isReserved(_ target: XMLName, _ text: Span<UInt8>) -> Bool {
        target.length == 3 && text[target.offset] | 0x20 == UInt8(ascii: "x")
            && text[target.offset + 1] | 0x20 == UInt8(ascii: "m")
            && text[target.offset + 2] | 0x20 == UInt8(ascii: "l")
    }

    /// Moves to the next `end`, checking the characters; tells whether there was a carriage return.
    private mutating func skip(
        until end: StaticString, _ unclosed: String, _ text: Span<UInt8>
    ) throws(WireFormatError) -> Bool {
        let (start, stop) = (position, end.utf8Start.pointee)
        var hasLineEnds = false
        while true {
            position = SWAR.skipXML(text, from: position, stop, stop)
            guard position < text.count else { throw malformed(unclosed, text, at: start) }
            if follows(end, text) { return hasLineEnds }
            if text[position] == 0x0D { hasLineEnds = true }
            try skipScalar(text)
        }
    }
}
