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

extension PlainPropertyListTree {
    @inline(__always)
    static func string(_ text: Span<UInt8>, _ range: Range<Int>) -> String {
        text.extracting(range).withUnsafeBufferPointer { String(decoding: $0, as: UTF8.self) }
    }

    @inline(__always)
    mutating func string(_ text: Span<UInt8>) -> String? {
        let start = position &+ PlainTag.string.count
        let end = SWAR.skipXMLText(text, from: start)
        guard PlainScalars.isStringEnd(text, end) else { return wideString(text, start) }
        position = end &+ 9
        return spends(end &- start) ? Self.string(text, start..<end) : nil
    }

    /// With references or characters beyond ASCII, which the scanner checks.
    @inline(never)
    private mutating func wideString(_ text: Span<UInt8>, _ start: Int) -> String? {
        scanner.position = start
        guard (try? scanner.readText(text)) != nil else { return nil }
        let content = scanner.content
        guard PlainScalars.isStringEnd(text, content.range.upperBound) else { return nil }
        position = content.range.upperBound &+ 9
        if content.resolving == .none {
            return spends(content.range.count) ? Self.string(text, content.range) : nil
        }
        var resolved: [UInt8] = []
        XMLText.append(content, text, to: &resolved)
        return spends(resolved.count) ? String(decoding: resolved, as: UTF8.self) : nil
    }

    @inline(__always)
    mutating func integer(_ text: Span<UInt8>) -> WireValue? {
        guard let (number, end) = PlainScalars.integer(text, position) else { return nil }
        position = end
        return .int64(number)
    }

    mutating func scalar(_ text: Span<UInt8>, _ word: UInt64) -> WireValue? {
        if PlainTag.date.starts(word) {
            guard let instant = PlainScalars.date(text, position) else { return nil }
            position &+= PlainScalars.dateLength
            return .date(instant)
        }
        if PlainTag.true.starts(word) {
            position &+= PlainTag.true.count
            return .bool(true)
        }
        if PlainTag.false.starts(word) {
            position &+= PlainTag.false.count
            return .bool(false)
        }
        if PlainTag.real.starts(word) { return real(text) }
        return PlainTag.data.starts(word) ? data(text) : nil
    }

    private mutating func real(_ text: Span<UInt8>) -> WireValue? {
        guard let words = content(text, PlainTag.real, PlainTag.realEnd),
            case .double(let number)? = XMLNumbers.Real(words)
        else { return nil }
        return .double(number)
    }

    private mutating func data(_ text: Span<UInt8>) -> WireValue? {
        guard let words = content(text, PlainTag.data, PlainTag.dataEnd),
            let data = Base64.decode(words.filter { !XMLCharacters.isSpace($0) }), spends(data.count)
        else { return nil }
        return .data(data)
    }

    /// Takes an element with plain text only.
    private mutating func content(_ text: Span<UInt8>, _ tag: PlainTag, _ endTag: PlainTag) -> [UInt8]? {
        let start = position &+ tag.count
        var end = SWAR.skipXMLText(text, from: start)
        // The indentation of data.
        while end < text.count, text[end] == 0x09 { end = SWAR.skipXMLText(text, from: end &+ 1) }
        guard endTag.starts(SWAR.word(text, at: end)) else { return nil }
        position = end &+ endTag.count
        return Array(copying: text, start..<end)
    }
}

/// The scalars of a property list as writers write them.
enum PlainScalars {
    /// `<date>`, twenty characters, `</date>`.
    static let dateLength = 33

    @inline(__always)
    static func isStringEnd(_ text: Span<UInt8>, _ end: Int) -> Bool {
        PlainTag.stringEnd.starts(SWAR.word(text, at: end)) && end &+ 8 < text.count
            && text[end &+ 8] == UInt8(ascii: ">")
    }

    /// The number of the `<integer` at `start` and where its element ends. Up to 18 digits, so that there is no overflow.
    @inline(__always)
    static func integer(_ text: Span<UInt8>, _ start: Int) -> (number: Int64, end: Int)? {
        var position = start &+ 9
        guard position < text.count, text[position &- 1] == UInt8(ascii: ">") else { return nil }
        let isNegative = text[position] == UInt8(ascii: "-")
        if isNegative { position &+= 1 }
        let digits = position
        var number: Int64 = 0
        while position < text.count, text[position] &- 0x30 < 10 {
            number = number &* 10 &+ Int64(text[position] &- 0x30)
            position &+= 1
        }
        guard position > digits, position &- digits <= 18, isIntegerEnd(text, position) else { return nil }
        return (isNegative ? 0 &- number : number, position &+ 10)
    }

    @inline(__always)
    private static func isIntegerEnd(_ text: Span<UInt8>, _ end: Int) -> Bool {
        PlainTag.integerEnd.starts(SWAR.word(text, at: end)) && end &+ 9 < text.count
            && text[end &+ 8] == UInt8(ascii: "r") && text[end &+ 9] == UInt8(ascii: ">")
    }

    /// The instant of the `<date>` at `start`, in UTC.
    @inline(__always)
    static func date(_ text: Span<UInt8>, _ start: Int) -> WireDate? {
        guard PlainTag.dateEnd.starts(SWAR.word(text, at: start &+ 26)),
            let civil = CivilTime(utc: text, at: start &+ 6)
        else { return nil }
        return WireDate(ticks: Int64(civil.secondsSinceReferenceDate) &* WireDate.ticksPerSecond)
    }
}

extension CivilTime {
    /// `2026-11-21T08:03:02Z`; nil for anything else.
    fileprivate init?(utc text: Span<UInt8>, at start: Int) {
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

/// A tag as writers write it, without white space or attributes: its first eight bytes as one word, the first byte lowest.
struct PlainTag {
    let bits: UInt64
    /// How many of the eight bytes belong to it.
    let count: Int

    @inline(__always)
    private init(_ bits: UInt64, _ count: Int) {
        (self.bits, self.count) = (bits, count)
    }

    @inline(__always)
    func starts(_ word: UInt64) -> Bool {
        word & (.max &>> UInt64(64 &- 8 &* count)) == bits
    }

    // Computed, so that a comparison is one with a constant.
    static var key: PlainTag { .init(0x3E_7965_6B3C, 5) }
    static var keyEnd: PlainTag { .init(0x3E79_656B_2F3C, 6) }
    static var string: PlainTag { .init(0x3E67_6E69_7274_733C, 8) }
    /// `</string`
    static var stringEnd: PlainTag { .init(0x676E_6972_7473_2F3C, 8) }
    /// `<integer`
    static var integer: PlainTag { .init(0x7265_6765_746E_693C, 8) }
    /// `</intege`
    static var integerEnd: PlainTag { .init(0x6567_6574_6E69_2F3C, 8) }
    static var date: PlainTag { .init(0x3E65_7461_643C, 6) }
    static var dateEnd: PlainTag { .init(0x3E_6574_6164_2F3C, 7) }
    static var dict: PlainTag { .init(0x3E74_6369_643C, 6) }
    static var dictEnd: PlainTag { .init(0x3E_7463_6964_2F3C, 7) }
    static var emptyDict: PlainTag { .init(0x3E_2F74_6369_643C, 7) }
    static var array: PlainTag { .init(0x3E_7961_7272_613C, 7) }
    static var arrayEnd: PlainTag { .init(0x3E79_6172_7261_2F3C, 8) }
    static var emptyArray: PlainTag { .init(0x3E2F_7961_7272_613C, 8) }
    static var real: PlainTag { .init(0x3E6C_6165_723C, 6) }
    static var realEnd: PlainTag { .init(0x3E_6C61_6572_2F3C, 7) }
    static var data: PlainTag { .init(0x3E61_7461_643C, 6) }
    static var dataEnd: PlainTag { .init(0x3E_6174_6164_2F3C, 7) }
    static var plistEnd: PlainTag { .init(0x3E74_7369_6C70_2F3C, 8) }
    static var `true`: PlainTag { .init(0x3E_2F65_7572_743C, 7) }
    static var `false`: PlainTag { .init(0x3E2F_6573_6C61_663C, 8) }
}

/// The keys of a dictionary, as the next one may have them too.
struct PlainShape {
    var keys: [String] = []

    /// Where the key with this index ends, if it is what stands at `start` in front of its end tag.
    @inline(__always)
    func end(of index: Int, in text: Span<UInt8>, at start: Int) -> Int? {
        let key = keys[index].utf8
        let end = start &+ key.count
        guard PlainTag.keyEnd.starts(SWAR.word(text, at: end)) else { return nil }
        let isSame = key.withContiguousStorageIfAvailable { key in
            text.extracting(start..<end).withUnsafeBufferPointer { SWAR.areEqual(key, $0) }
        }
        return isSame == true ? end : nil
    }
}
