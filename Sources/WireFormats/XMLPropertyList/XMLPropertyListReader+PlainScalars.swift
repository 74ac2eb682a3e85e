import ValueTree

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
        guard isStringEnd(text, end) else { return try readCommonText(text, content) }
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
        guard isStringEnd(text, piece.range.upperBound) else {
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
    private func isStringEnd(_ text: Span<UInt8>, _ end: Int) -> Bool {
        PlainTag.stringEnd.starts(SWAR.word(text, at: end)) && end &+ 8 < text.count
            && text[end &+ 8] == UInt8(ascii: ">")
    }

    /// Up to 18 digits, so that there is no overflow.
    @inline(__always)
    mutating func readCommonInteger(_ text: Span<UInt8>, _ start: Int) throws(WireFormatError) -> Bool {
        var position = start &+ 9
        guard mayTakeValue, position < text.count, text[position &- 1] == UInt8(ascii: ">") else { return false }
        let isNegative = text[position] == UInt8(ascii: "-")
        if isNegative { position &+= 1 }
        let digits = position
        var number: Int64 = 0
        while position < text.count, text[position] &- 0x30 < 10 {
            number = number &* 10 &+ Int64(text[position] &- 0x30)
            position &+= 1
        }
        guard position > digits, position &- digits <= 18, isIntegerEnd(text, position) else { return false }
        let bits = UInt64(bitPattern: isNegative ? 0 &- number : number)
        return try takeScalar(TapeToken(.int64, bits: bits), start, end: position &+ 10)
    }

    @inline(__always)
    private func isIntegerEnd(_ text: Span<UInt8>, _ end: Int) -> Bool {
        PlainTag.integerEnd.starts(SWAR.word(text, at: end)) && end &+ 9 < text.count
            && text[end &+ 8] == UInt8(ascii: "r") && text[end &+ 9] == UInt8(ascii: ">")
    }

    /// Twenty characters in UTC.
    @inline(__always)
    mutating func readCommonDate(_ text: Span<UInt8>, _ start: Int) throws(WireFormatError) -> Bool {
        guard mayTakeValue, PlainTag.dateEnd.starts(SWAR.word(text, at: start &+ 26)),
            let civil = CivilTime(utc: text, at: start &+ 6)
        else { return false }
        let seconds = Double(civil.secondsSinceReferenceDate)
        return try takeScalar(TapeToken(.date, bits: seconds.bitPattern), start, end: start &+ 33)
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

extension CivilTime {
    /// `2026-11-21T08:03:02Z`; nil for anything else.
    init?(utc text: Span<UInt8>, at start: Int) {
        func two(_ place: Int) -> Int {
            let (tens, ones) = (text[start &+ place] &- 0x30, text[start &+ place &+ 1] &- 0x30)
            return tens < 10 && ones < 10 ? Int(tens) * 10 + Int(ones) : -1_000_000
        }
        guard start &+ 20 <= text.count, text[start &+ 4] == UInt8(ascii: "-"), text[start &+ 7] == UInt8(ascii: "-"),
            text[start &+ 10] == UInt8(ascii: "T"), text[start &+ 13] == UInt8(ascii: ":"),
            text[start &+ 16] == UInt8(ascii: ":"), text[start &+ 19] == UInt8(ascii: "Z")
        else { return nil }
        self.init(
            year: two(0) * 100 + two(2), month: two(5), day: two(8), hour: two(11), minute: two(14), second: two(17))
    }
}
