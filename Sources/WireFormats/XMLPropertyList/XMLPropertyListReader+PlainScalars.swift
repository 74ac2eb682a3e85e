extension XMLPropertyListReader {
    @inline(__always)
    mutating func readCommonKey(_ text: Span<UInt8>, _ start: Int) throws(WireFormatError) -> Bool {
        guard builder.isInDictionary, builder.depth > 0, !awaitsValue else { return false }
        let content = start &+ PlainTag.key.count
        let end = SWAR.skipXMLText(text, from: content)
        guard PlainTag.keyEnd.starts(SWAR.word(text, at: end)) else { return false }
        try builder.key(TapeToken(.key, offset: content, length: end &- content), at: content)
        awaitsValue = true
        scanner.position = end &+ PlainTag.keyEnd.count
        return true
    }

    @inline(__always)
    mutating func readCommonString(_ text: Span<UInt8>, _ start: Int) throws(WireFormatError) -> Bool {
        guard mayTakeValue else { return false }
        let content = start &+ PlainTag.string.count
        let end = SWAR.skipXMLText(text, from: content)
        guard PlainScalars.isStringEnd(text, end) else { return try readCommonText(text, content) }
        awaitsValue = false
        try builder.bytes(TapeToken(.string, offset: content, length: end &- content), at: content)
        scanner.position = end &+ 9
        return true
    }

    /// A string with references or characters beyond ASCII, which the scanner checks; still in one piece.
    @inline(never)
    private mutating func readCommonText(_ text: Span<UInt8>, _ content: Int) throws(WireFormatError) -> Bool {
        let before = scanner.position
        scanner.position = content
        _ = try scanner.readText(text)
        let piece = scanner.content
        guard PlainScalars.isStringEnd(text, piece.range.upperBound) else {
            scanner.position = before
            return false
        }
        awaitsValue = false
        scanner.position = piece.range.upperBound &+ 9
        guard piece.resolving != .none else {
            let token = TapeToken(.string, offset: content, length: piece.range.count)
            try builder.bytes(token, at: content)
            return true
        }
        let start = builder.side.count
        XMLText.append(piece, text, to: &builder.side)
        let token = TapeToken(.string, offset: start, length: builder.side.count - start, storage: .side)
        try builder.bytes(token, at: content)
        return true
    }

    @inline(__always)
    mutating func readCommonInteger(_ text: Span<UInt8>, _ start: Int) throws(WireFormatError) -> Bool {
        guard mayTakeValue, let (number, end) = PlainScalars.integer(text, start) else { return false }
        return try takeScalar(TapeToken(.int64, bits: UInt64(bitPattern: number)), start, end: end)
    }

    @inline(__always)
    mutating func readCommonDate(_ text: Span<UInt8>, _ start: Int) throws(WireFormatError) -> Bool {
        guard mayTakeValue, let seconds = PlainScalars.date(text, start) else { return false }
        let token = TapeToken(.date, bits: seconds.bitPattern)
        return try takeScalar(token, start, end: start &+ PlainScalars.dateLength)
    }

    @inline(__always)
    mutating func takeScalar(
        _ token: TapeToken, _ start: Int, end: Int
    ) throws(WireFormatError) -> Bool {
        guard mayTakeValue else { return false }
        awaitsValue = false
        try builder.scalar(token, at: start)
        scanner.position = end
        return true
    }

    /// Whether a value may stand here, and is not the document's only one.
    private var mayTakeValue: Bool { builder.depth > 0 && (awaitsValue || !builder.isInDictionary) }
}
