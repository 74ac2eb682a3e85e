import ValueTree

/// The tree of a property list that stands as writers write it, without a tape in between: half of the time that reading
/// takes otherwise. Whatever is different in the least, or would be refused, gives nil: the tape decides then.
struct PlainPropertyListTree: ~Copyable {
    var scanner: XMLScanner
    var position: Int
    private let limits: ReadingLimits
    private var tokens = 0
    private var remainingBytes: Int
    /// The dictionaries read last, by depth: the records of a list have the same keys.
    private var shapes: [PlainShape] = []
    private static let rememberedDepth = 8

    /// The input is UTF-8.
    static func read(_ input: [UInt8], limits: ReadingLimits) -> WireValue? {
        guard XMLPropertyListPrologue.begins(input) else { return nil }
        var reader = PlainPropertyListTree(limits)
        let text = input.span
        guard let value = reader.value(text, 0), reader.takesEnd(text) else { return nil }
        return value
    }

    private init(_ limits: ReadingLimits) {
        self.limits = limits
        remainingBytes = limits.expandedBytes
        position = XMLPropertyListPrologue.text.utf8CodeUnitCount
        scanner = XMLScanner(insideOf: XMLName())
        shapes.reserveCapacity(Self.rememberedDepth)
        for _ in 0..<Self.rememberedDepth { shapes.append(PlainShape()) }
    }

    private mutating func value(_ text: Span<UInt8>, _ depth: Int) -> WireValue? {
        position = SWAR.skipIndentation(text, from: position)
        guard tokens < limits.values else { return nil }
        tokens &+= 1
        let word = SWAR.word(text, at: position)
        if PlainTag.string.starts(word) { return string(text).map { .string($0) } }
        if PlainTag.integer.starts(word) { return integer(text) }
        if PlainTag.dict.starts(word) { return dictionary(text, depth) }
        if PlainTag.array.starts(word) { return array(text, depth) }
        return rare(text, word, depth)
    }

    private mutating func array(_ text: Span<UInt8>, _ depth: Int) -> WireValue? {
        guard depth < limits.depth else { return nil }
        position &+= PlainTag.array.count
        var items: [WireValue] = []
        while true {
            position = SWAR.skipIndentation(text, from: position)
            if PlainTag.arrayEnd.starts(SWAR.word(text, at: position)) { break }
            guard let item = value(text, depth &+ 1) else { return nil }
            items.append(item)
        }
        position &+= PlainTag.arrayEnd.count
        tokens &+= 1
        return .array(items)
    }

    private mutating func dictionary(_ text: Span<UInt8>, _ depth: Int) -> WireValue? {
        guard depth < limits.depth else { return nil }
        position &+= PlainTag.dict.count
        let known = depth < Self.rememberedDepth ? shapes[depth] : PlainShape()
        var isKnown = depth < Self.rememberedDepth
        var entries: [WireDictionary.Entry] = []
        entries.reserveCapacity(known.keys.count)
        while true {
            position = SWAR.skipIndentation(text, from: position)
            let word = SWAR.word(text, at: position)
            if PlainTag.dictEnd.starts(word) { break }
            guard PlainTag.key.starts(word) else { return nil }
            position &+= PlainTag.key.count
            guard let key = key(text, entries.count, of: known, &isKnown), let value = value(text, depth &+ 1) else {
                return nil
            }
            entries.append(.init(key: key, value: value))
        }
        position &+= PlainTag.dictEnd.count
        tokens &+= 1
        return finish(entries, depth, isKnown && entries.count == known.keys.count)
    }

    private mutating func finish(_ entries: [WireDictionary.Entry], _ depth: Int, _ isKnown: Bool) -> WireValue? {
        if !isKnown {
            let keys = entries.map(\.key)
            guard DictionaryShape.areDistinct(keys) else { return nil }
            if depth < Self.rememberedDepth { shapes[depth] = PlainShape(keys: keys) }
        }
        if entries.count == 1, entries[0].key == "CF$UID" { return nil }
        return .dictionary(WireDictionary(uncheckedUniqueKeys: entries))
    }

    /// Takes the rest of a key; the one that the last dictionary had at this place, if it is the same.
    @inline(__always)
    private mutating func key(
        _ text: Span<UInt8>, _ index: Int, of known: PlainShape, _ isKnown: inout Bool
    ) -> String? {
        tokens &+= 1
        if isKnown, index < known.keys.count, let end = known.end(of: index, in: text, at: position) {
            remainingBytes &-= end &- position
            position = end &+ PlainTag.keyEnd.count
            return remainingBytes >= 0 ? known.keys[index] : nil
        }
        isKnown = false
        let start = position
        position = SWAR.skipXMLText(text, from: start)
        guard PlainTag.keyEnd.starts(SWAR.word(text, at: position)), spends(position &- start) else { return nil }
        let key = Self.string(text, start..<position)
        position &+= PlainTag.keyEnd.count
        return key
    }
}

extension PlainPropertyListTree {
    @inline(__always)
    mutating func spends(_ count: Int) -> Bool {
        remainingBytes &-= count
        return remainingBytes >= 0
    }

    private mutating func rare(_ text: Span<UInt8>, _ word: UInt64, _ depth: Int) -> WireValue? {
        let isEmptyDictionary = PlainTag.emptyDict.starts(word)
        guard isEmptyDictionary || PlainTag.emptyArray.starts(word) else { return scalar(text, word) }
        guard depth < limits.depth else { return nil }
        tokens &+= 1
        position &+= isEmptyDictionary ? PlainTag.emptyDict.count : PlainTag.emptyArray.count
        return isEmptyDictionary ? .dictionary([:]) : .array([])
    }

    /// `</plist>` and white space.
    private mutating func takesEnd(_ text: Span<UInt8>) -> Bool {
        position = SWAR.skipIndentation(text, from: position)
        guard PlainTag.plistEnd.starts(SWAR.word(text, at: position)) else { return false }
        position &+= PlainTag.plistEnd.count
        while position < text.count, XMLCharacters.isSpace(text[position]) { position &+= 1 }
        return position == text.count
    }
}
