import ValueTree

/// What writers write, taken without the scanner: whole tags compared as words, plain text between them. Whatever is
/// different in the least (attributes, white space in tags, references, CDATA, comments, wrong tags) is left to the
/// scanner, from the same place on. So these files may only take what the scanner would take in the same way.
extension XMLPropertyListReader {
    /// Takes members of the open containers, and containers, as long as they are plain.
    mutating func readCommonMembers(_ text: Span<UInt8>) throws(WireFormatError) {
        guard scanner.depth > 0, !scanner.closesAtOnce, scanner.namespaces.isEmpty else { return }
        while true {
            let start = SWAR.skipIndentation(text, from: scanner.position)
            guard try readCommonMember(text, start) else { return }
        }
    }

    /// Tells whether something was taken; nothing is changed otherwise.
    @inline(__always)
    private mutating func readCommonMember(_ text: Span<UInt8>, _ start: Int) throws(WireFormatError) -> Bool {
        let word = SWAR.word(text, at: start)
        if PlainTag.key.starts(word) { return try readCommonKey(text, start) }
        if PlainTag.string.starts(word) { return try readCommonString(text, start) }
        if PlainTag.integer.starts(word) { return try readCommonInteger(text, start) }
        if try readCommonContainer(word, start) { return true }
        if PlainTag.date.starts(word) { return try readCommonDate(text, start) }
        if PlainTag.true.starts(word) { return try takeScalar(TapeToken(.true), start, end: start &+ 7) }
        if PlainTag.false.starts(word) { return try takeScalar(TapeToken(.false), start, end: start &+ 8) }
        return false
    }

    @inline(__always)
    private mutating func readCommonContainer(_ word: UInt64, _ start: Int) throws(WireFormatError) -> Bool {
        if PlainTag.dict.starts(word) { return try begin(.dictionary, start) }
        if PlainTag.dictEnd.starts(word), builder.depth > 0, builder.isInDictionary {
            return try end(.dictEnd, start)
        }
        if PlainTag.array.starts(word) { return try begin(.array, start) }
        if PlainTag.arrayEnd.starts(word), builder.depth > 0, !builder.isInDictionary {
            return try end(.arrayEnd, start)
        }
        if PlainTag.emptyDict.starts(word) { return try takeEmpty(.dictionary, .emptyDict, start) }
        if PlainTag.emptyArray.starts(word) { return try takeEmpty(.array, .emptyArray, start) }
        return false
    }

    @inline(__always)
    private mutating func begin(_ kind: ContainerKind, _ start: Int) throws(WireFormatError) -> Bool {
        scanner.eventStart = start
        try enterValue()
        try builder.begin(kind, at: start)
        let length = kind == .array ? 5 : 4
        scanner.adopt(XMLName(offset: start &+ 1, length: Int32(length)))
        scanner.position = start &+ length &+ 2
        return true
    }

    @inline(__always)
    private mutating func end(_ tag: PlainTag, _ start: Int) throws(WireFormatError) -> Bool {
        scanner.eventStart = start
        try closeContainer()
        _ = scanner.closeElement()
        scanner.position = start &+ tag.count
        return true
    }

    private mutating func takeEmpty(
        _ kind: ContainerKind, _ tag: PlainTag, _ start: Int
    ) throws(WireFormatError) -> Bool {
        scanner.eventStart = start
        try enterValue()
        try builder.begin(kind, at: start)
        try builder.end(at: start)
        scanner.position = start &+ tag.count
        return true
    }
}
