import ValueTree

/// Reads an XML property list to a tape. Iterative: open containers are the builder's.
struct XMLPropertyListReader: ~Copyable {
    var scanner: XMLScanner
    var builder: TapeBuilder
    /// A key was read and its value is due.
    var awaitsValue = false
    /// The document's one value was read.
    private var isComplete = false

    init(_ source: XMLSource, limits: ReadingLimits) {
        self.init(source.bytes, start: source.start, limits: limits)
    }

    /// For UTF-8 that begins with the ``XMLPropertyListPrologue``.
    init(behindPrologueOf input: [UInt8], limits: ReadingLimits) {
        self.init(input, start: XMLPropertyListPrologue.text.utf8CodeUnitCount, limits: limits)
        scanner.adoptRoot(XMLName(offset: XMLPropertyListPrologue.rootName, length: 5))
    }

    /// For one element out of a property list.
    init(fragment: [UInt8], limits: ReadingLimits) {
        self.init(fragment, start: 0, limits: limits)
        scanner.adoptRoot(XMLName())
    }

    private init(_ input: [UInt8], start: Int, limits: ReadingLimits) {
        // Beyond the containers: `plist` and the element of a scalar.
        scanner = XMLScanner(start: start, maximumDepth: limits.depth + 2, doctype: .propertyList)
        builder = TapeBuilder(input: input, limits: limits, positions: .text)
    }

    consuming func finish() -> Tape { builder.finish() }

    mutating func readDocument(_ text: Span<UInt8>) throws(WireFormatError) {
        if scanner.depth == 0 { try openRoot(text) }
        while scanner.depth > 0 {
            try readCommonMembers(text)
            try readNext(text)
        }
        try closeRoot(text)
    }

    /// Reads one element, a value or a key, to the end of the fragment.
    mutating func readFragment(_ text: Span<UInt8>, isKey: Bool) throws(WireFormatError) {
        if isKey {
            guard try scanner.next(text) == .startElement, XMLPropertyListElement(scanner.name, text) == .key,
                scanner.attributes.isEmpty
            else { throw malformed("a key was expected") }
            return try readString(.key, text)
        }
        try readCommonMembers(text)
        while scanner.position < text.count || scanner.depth > 1 {
            try readNext(text)
            try readCommonMembers(text)
        }
    }

    private mutating func readNext(_ text: Span<UInt8>) throws(WireFormatError) {
        switch try scanner.next(text) {
        case .startElement: try readElement(text)
        case .endElement:
            if scanner.depth > 0 { try closeContainer() }
        case .text:
            guard XMLText.isSpace(scanner.content, text) else { throw strayText() }
        case .cdata: throw strayText()
        case .comment, .processingInstruction: break
        case .endDocument: preconditionFailure("the root's end comes first")
        }
    }

    mutating func openRoot(_ text: Span<UInt8>) throws(WireFormatError) {
        while try scanner.next(text) != .startElement {}
        guard XMLPropertyListElement(scanner.name, text) == .plist else {
            throw malformed("the root element is not `plist`")
        }
        for attribute in scanner.attributes {
            let name = Array(copying: text, attribute.name.range)
            guard name == Array("version".utf8) else { throw malformed("an attribute that `plist` does not have") }
        }
    }

    private mutating func closeRoot(_ text: Span<UInt8>) throws(WireFormatError) {
        guard isComplete else { throw malformed("the property list holds no value") }
        while try scanner.next(text) != .endDocument {}
    }

    @inline(__always)
    private mutating func readElement(_ text: Span<UInt8>) throws(WireFormatError) {
        guard let element = XMLPropertyListElement(scanner.name, text) else {
            throw malformed("an element that property lists do not have")
        }
        guard scanner.attributes.isEmpty else { throw malformed("an attribute in a property list's value") }
        if element == .key { return try readKey(text) }
        try enterValue()
        switch element {
        case .dict: try builder.begin(.dictionary, at: scanner.eventStart)
        case .array: try builder.begin(.array, at: scanner.eventStart)
        case .string: try readString(.string, text)
        default: try readScalar(element, text)
        }
    }

    @inline(__always)
    private mutating func readString(_ kind: TapeToken.Kind, _ text: Span<UInt8>) throws(WireFormatError) {
        let start = scanner.position
        let token = try scanner.takeText(kind, text, &builder)
        if kind == .key { try builder.key(token, at: start) } else { try builder.bytes(token, at: start) }
    }

    private mutating func readKey(_ text: Span<UInt8>) throws(WireFormatError) {
        guard builder.depth > 0, builder.isInDictionary, !awaitsValue else { throw malformed("a key in a wrong place") }
        try readString(.key, text)
        awaitsValue = true
    }

    @inline(__always)
    mutating func enterValue() throws(WireFormatError) {
        if builder.depth == 0 {
            guard !isComplete else { throw malformed("a second value in a property list") }
            isComplete = true
        } else if builder.isInDictionary {
            guard awaitsValue else { throw malformed("a value without a key") }
            awaitsValue = false
        }
    }

    mutating func closeContainer() throws(WireFormatError) {
        guard !awaitsValue else { throw malformed("a key without a value") }
        if builder.isInDictionary, let number = builder.soleInteger(ofKey: "CF$UID") {
            return builder.replaceContainer(with: TapeToken(.uid, bits: number))
        }
        try builder.end(at: scanner.eventStart)
    }

    func malformed(_ message: String) -> WireFormatError {
        builder.failure(.malformed, message, at: scanner.eventStart)
    }

    func strayText() -> WireFormatError { malformed("text between the elements of a property list") }
}

extension XMLPropertyListReader {
    mutating func readScalar(_ element: XMLPropertyListElement, _ text: Span<UInt8>) throws(WireFormatError) {
        let start = scanner.position
        let words = try scanner.takeScalarText(text)
        switch element {
        case .integer: try builder.scalar(try integer(words, at: start), at: start)
        case .real: try builder.scalar(try real(words, at: start), at: start)
        case .date: try builder.scalar(try date(words, at: start), at: start)
        case .data: try readData(words, at: start)
        case .true, .false:
            guard words.isEmpty else { throw builder.failure(.malformed, "text in a boolean", at: start) }
            try builder.scalar(TapeToken(element == .true ? .true : .false), at: start)
        case .plist, .dict, .key, .array, .string: throw malformed("`plist` inside of a property list")
        }
    }

    private func integer(_ words: [UInt8], at offset: Int) throws(WireFormatError) -> TapeToken {
        guard let number = XMLNumbers.Integer(words) else {
            throw builder.failure(.malformed, "an integer is malformed", at: offset)
        }
        switch number {
        case .int64(let value): return TapeToken(.int64, bits: UInt64(bitPattern: value))
        case .uint64(let value): return TapeToken(.uint64, bits: value)
        case .larger: throw builder.failure(.refused, "an integer is beyond 64 bits", at: offset)
        }
    }

    private func real(_ words: [UInt8], at offset: Int) throws(WireFormatError) -> TapeToken {
        switch XMLNumbers.Real(words) {
        case .double(let number): return TapeToken(.double, bits: number.bitPattern)
        case .outOfRange: throw builder.failure(.refused, "a real is beyond the range of a double", at: offset)
        case nil: throw builder.failure(.malformed, "a real is malformed", at: offset)
        }
    }

    private func date(_ words: [UInt8], at offset: Int) throws(WireFormatError) -> TapeToken {
        guard let instant = WireDate(rfc3339: String(decoding: words, as: UTF8.self)) else {
            throw builder.failure(.malformed, "a date is malformed", at: offset)
        }
        return TapeToken(date: instant)
    }

    private mutating func readData(_ words: [UInt8], at offset: Int) throws(WireFormatError) {
        let digits = words.contains(where: XMLCharacters.isSpace) ? words.filter { !XMLCharacters.isSpace($0) } : words
        guard let data = Base64.decode(digits) else {
            throw builder.failure(.malformed, "data is not strict base64", at: offset)
        }
        try builder.bytes(builder.aside(.data, data), at: offset)
    }
}

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
        guard mayTakeValue, let instant = PlainScalars.date(text, start) else { return false }
        return try takeScalar(TapeToken(date: instant), start, end: start &+ PlainScalars.dateLength)
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

/// The elements of a property list.
enum XMLPropertyListElement {
    case plist, dict, key, array, string, integer, real, date, data, `true`, `false`

    /// Nil for any other name, and for one in a namespace.
    @inline(__always)
    init?(_ name: XMLName, _ text: Span<UInt8>) {
        guard name.namespace == XMLNamespaces.none, name.prefixLength == 0 else { return nil }
        let at = name.offset
        switch name.length {
        case 3 where Self.matches(text, at, "key"): self = .key
        case 4 where Self.matches(text, at, "dict"): self = .dict
        case 4 where Self.matches(text, at, "real"): self = .real
        case 4 where Self.matches(text, at, "true"): self = .true
        case 4 where Self.matches(text, at, "date"): self = .date
        case 4 where Self.matches(text, at, "data"): self = .data
        case 5 where Self.matches(text, at, "array"): self = .array
        case 5 where Self.matches(text, at, "false"): self = .false
        case 5 where Self.matches(text, at, "plist"): self = .plist
        case 6 where Self.matches(text, at, "string"): self = .string
        case 7 where Self.matches(text, at, "integer"): self = .integer
        default: return nil
        }
    }

    @inline(__always)
    private static func matches(_ text: Span<UInt8>, _ offset: Int, _ word: StaticString) -> Bool {
        for index in 0..<word.utf8CodeUnitCount where text[offset + index] != word.utf8Start[index] { return false }
        return true
    }
}

/// How a property list begins as Apple's tools and ours write it. A short one consists of it to a fifth.
enum XMLPropertyListPrologue {
    static let text: StaticString = """
        <?xml version="1.0" encoding="UTF-8"?>
        <!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
        <plist version="1.0">

        """

    /// Where the root's name stands in it.
    static let rootName = text.utf8CodeUnitCount - #"plist version="1.0">"#.utf8.count - 1

    /// Whether a document begins so; then it is UTF-8 unless its media type says otherwise.
    static func begins(_ input: [UInt8]) -> Bool {
        let count = text.utf8CodeUnitCount
        guard input.count >= count else { return false }
        return input.withUnsafeBufferPointer { input in
            SWAR.areEqual(
                UnsafeBufferPointer(rebasing: input[..<count]),
                UnsafeBufferPointer(start: text.utf8Start, count: count))
        }
    }
}
