/// Elements that hold text only: for readers that put it on a tape.
extension XMLScanner {
    /// The text of the current element, up to its end tag: in the input where it stands there in one piece, otherwise put
    /// together aside.
    @inline(__always)
    mutating func takeText(
        _ kind: TapeToken.Kind, _ text: Span<UInt8>, _ builder: inout TapeBuilder
    ) throws(WireFormatError) -> TapeToken {
        var event = try next(text)
        if event == .endElement { return TapeToken(kind, offset: eventStart, length: 0) }
        guard event == .text, content.resolving == .none else { return try takePieces(kind, event, [], text, &builder) }
        let range = content.range
        event = try next(text)
        if event == .endElement { return TapeToken(kind, offset: range.lowerBound, length: range.count) }
        return try takePieces(kind, event, Array(copying: text, range), text, &builder)
    }

    @inline(never)
    private mutating func takePieces(
        _ kind: TapeToken.Kind, _ first: XMLEvent, _ pieces: [UInt8], _ text: Span<UInt8>, _ builder: inout TapeBuilder
    ) throws(WireFormatError) -> TapeToken {
        var pieces = pieces
        try takePieces(first, &pieces, text)
        return builder.aside(kind, pieces)
    }

    /// Text in several pieces, from the event at hand up to the end tag; comments and instructions are left out.
    private mutating func takePieces(
        _ first: XMLEvent, _ pieces: inout [UInt8], _ text: Span<UInt8>
    ) throws(WireFormatError) {
        var event = first
        while event != .endElement {
            switch event {
            case .text, .cdata: XMLText.append(content, text, to: &pieces)
            case .comment, .processingInstruction: break
            default: throw malformed("an element where only text may be", text, at: eventStart)
            }
            event = try next(text)
        }
    }

    /// The text of the current element, white space included.
    mutating func takeWholeText(_ text: Span<UInt8>) throws(WireFormatError) -> [UInt8] {
        var pieces: [UInt8] = []
        try takePieces(try next(text), &pieces, text)
        return pieces
    }

    /// The text of a scalar, without the white space around it.
    mutating func takeScalarText(_ text: Span<UInt8>) throws(WireFormatError) -> [UInt8] {
        var pieces: [UInt8] = []
        try takePieces(try next(text), &pieces, text)
        guard let first = pieces.firstIndex(where: { !XMLCharacters.isSpace($0) }),
            let last = pieces.lastIndex(where: { !XMLCharacters.isSpace($0) })
        else { return [] }
        return first == 0 && last == pieces.count - 1 ? pieces : Array(pieces[first...last])
    }
}
