import ValueTree

/// What writers write, taken without the scanner: whole tags compared as bytes, plain text between them. Whatever is
/// different in the least (attributes, white space in tags, references, CDATA, comments, wrong tags) is left to the
/// scanner, from the same place on. So this file may only take what the scanner would take in the same way.
extension XMLPropertyListReader {
    /// Takes members of the innermost container as long as they are plain.
    mutating func readCommonMembers(_ text: Span<UInt8>) throws(WireFormatError) {
        guard scanner.depth > 0, !scanner.closesAtOnce else { return }
        while true {
            var start = scanner.position
            while start < text.count, XMLCharacters.isSpace(text[start]) { start &+= 1 }
            guard start &+ 9 <= text.count, text[start] == UInt8(ascii: "<") else { return }
            guard try readCommonMember(text, start) else { return }
        }
    }

    /// `start` is at a `<`. Nothing is changed where the member is not taken.
    @inline(__always)
    private mutating func readCommonMember(_ text: Span<UInt8>, _ start: Int) throws(WireFormatError) -> Bool {
        switch text[start &+ 1] {
        case UInt8(ascii: "k"): return try readCommonKey(text, start)
        case UInt8(ascii: "s"): return try readCommonString(text, start)
        case UInt8(ascii: "i"): return try readCommonInteger(text, start)
        case UInt8(ascii: "d"): return try readCommonDate(text, start)
        case UInt8(ascii: "t") where matches(text, start, "<true/>"):
            return try takeScalar(TapeToken(.true), start, end: start &+ 7)
        case UInt8(ascii: "f") where matches(text, start, "<false/>"):
            return try takeScalar(TapeToken(.false), start, end: start &+ 8)
        default: return false
        }
    }

    @inline(__always)
    private mutating func readCommonKey(_ text: Span<UInt8>, _ start: Int) throws(WireFormatError) -> Bool {
        guard builder.isInDictionary, builder.depth > 0, !awaitsValue, matches(text, start, "<key>") else {
            return false
        }
        let content = start &+ 5
        let end = SWAR.skipXML(text, from: content, UInt8(ascii: "<"), UInt8(ascii: "]"))
        guard matches(text, end, "</key>") else { return false }
        try builder.key(TapeToken(.key, offset: content, length: end &- content), at: content)
        awaitsValue = true
        scanner.position = end &+ 6
        return true
    }

    @inline(__always)
    private mutating func readCommonString(_ text: Span<UInt8>, _ start: Int) throws(WireFormatError) -> Bool {
        guard mayTakeValue, matches(text, start, "<string>") else { return false }
        let content = start &+ 8
        let end = SWAR.skipXML(text, from: content, UInt8(ascii: "<"), UInt8(ascii: "]"))
        guard matches(text, end, "</string>") else { return try readCommonText(text, content) }
        awaitsValue = false
        try builder.bytes(TapeToken(.string, offset: content, length: end &- content), at: content)
        scanner.position = end &+ 9
        return true
    }

    /// A string with references or characters beyond ASCII, which the scanner checks; still in one piece.
    private mutating func readCommonText(_ text: Span<UInt8>, _ content: Int) throws(WireFormatError) -> Bool {
        let before = scanner.position
        scanner.position = content
        _ = try scanner.readText(text)
        let piece = scanner.content
        guard matches(text, piece.range.upperBound, "</string>") else {
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

    /// Up to 18 digits, so that there is no overflow.
    @inline(__always)
    private mutating func readCommonInteger(_ text: Span<UInt8>, _ start: Int) throws(WireFormatError) -> Bool {
        guard mayTakeValue, matches(text, start, "<integer>") else { return false }
        var position = start &+ 9
        let isNegative = position < text.count && text[position] == UInt8(ascii: "-")
        if isNegative { position &+= 1 }
        let digits = position
        var number: Int64 = 0
        while position < text.count, text[position] &- 0x30 < 10 {
            number = number &* 10 &+ Int64(text[position] &- 0x30)
            position &+= 1
        }
        guard position > digits, position &- digits <= 18, matches(text, position, "</integer>") else { return false }
        let bits = UInt64(bitPattern: isNegative ? 0 &- number : number)
        return try takeScalar(TapeToken(.int64, bits: bits), start, end: position &+ 10)
    }

    /// Twenty characters in UTC.
    @inline(__always)
    private mutating func readCommonDate(_ text: Span<UInt8>, _ start: Int) throws(WireFormatError) -> Bool {
        guard mayTakeValue, matches(text, start, "<date>"), matches(text, start &+ 26, "</date>"),
            let civil = CivilTime(utc: text, at: start &+ 6)
        else { return false }
        let seconds = Double(civil.secondsSinceReferenceDate)
        return try takeScalar(TapeToken(.date, bits: seconds.bitPattern), start, end: start &+ 33)
    }

    @inline(__always)
    private mutating func takeScalar(
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

    @inline(__always)
    private func matches(_ text: Span<UInt8>, _ start: Int, _ word: StaticString) -> Bool {
        guard start &+ word.utf8CodeUnitCount <= text.count else { return false }
        for index in 0..<word.utf8CodeUnitCount where text[start &+ index] != word.utf8Start[index] { return false }
        return true
    }
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
