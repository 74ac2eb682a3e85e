import ValueTree

/// Converts an XML document of any length: elements that fit into a piece are read as a whole, longer ones are opened and
/// their elements taken one by one.
///
/// What a foreign element becomes may depend on all of its content (``UntypedXMLReader``). Where that shows too late in an
/// element that is too long to be held, the document is refused: text between its elements, and elements of one name
/// apart from each other, or behind one that was itself too long.
struct XMLStreamTranscoder {
    private var items: XMLItems
    private var envelope: XMLEnvelope
    private var levels: [Level] = []

    private struct Level {
        /// The last element's key and, unless it is written already, its value: a second one of its name makes a list.
        var key: String?
        var held: Tape?
        var isList = false
        var isEmpty = true
    }

    /// Nil where the document cannot be taken in pieces. `start` is behind the XML declaration.
    init?(_ pieces: StreamedPieces, _ format: XMLFormat, from start: Int) throws(WireFormatError) {
        guard format.untypedRoot == .named else { return nil }
        let source = XMLSource(bytes: pieces.window.bytes, start: start)
        var scanner = XMLScanner(start: start)
        while try scanner.next(source.bytes.span) != .startElement {}
        guard !scanner.closesAtOnce else { return nil }
        envelope = XMLEnvelope(format, isTyped: scanner.valueNamespace(source.bytes.span) != nil)
        items = XMLItems(pieces: pieces)
        items.pieces.window.advance(scanner.eventStart)
    }

    mutating func run(_ output: ([UInt8]) throws -> Void) throws -> Conversion.Report {
        if !envelope.isTyped { try items.pieces.begin(.dictionary) }
        try takeElement()
        while envelope.depth > 0 {
            try takeMemberOrEnd()
            try items.pieces.drain(output)
        }
        if !envelope.isTyped { try items.pieces.end() }
        return try items.finish(output)
    }

    private mutating func takeMemberOrEnd() throws {
        switch try items.next() {
        case .element: try takeElement()
        case .endTag(let length):
            try items.takeEndTag(length, of: envelope.name)
            try closeElement()
        case .text: throw items.pieces.failure(.refused, "text beside of elements in one that is too long to be held")
        case .endOfInput: throw items.pieces.malformed("an element is not closed")
        }
    }

    private mutating func takeElement() throws {
        guard let length = try items.extent(isWhole: try isText()) else { return try openElement() }
        let (envelope, limits) = (envelope, items.pieces.limits)
        let whole = try items.pieces.read(length) { piece throws(WireFormatError) in try envelope.read(piece, limits) }
        let piece = items.pieces.window.peek(length)
        items.pieces.count(whole)
        let (key, value) = whole.innermost(envelope.memberLevels)
        try write(key, whole.part(value)) { error in
            let error = WireFormatError(error.kind, error.message, token: error.token.map { $0 + value })
            return TokenLocation.place(error, in: whole, limits) { limits throws(WireFormatError) in
                try envelope.read(piece, limits)
            }
        }
        items.pieces.window.advance(length)
    }

    /// Whether the element at hand begins with text: then it is held as a whole.
    private mutating func isText() throws -> Bool {
        try items.pieces.window.fill(to: items.pieces.pieceBytes)
        guard items.pieces.window.available >= items.pieces.pieceBytes else { return false }
        let tag = try items.startTag()
        let content = items.pieces.window.bytes[(items.pieces.window.position + tag.count)...]
        guard let first = content.firstIndex(where: { !XMLCharacters.isSpace($0) }) else { return false }
        return content[first] != UInt8(ascii: "<") || content[first...].starts(with: "<![".utf8)
    }
}

extension XMLStreamTranscoder {
    private mutating func openElement() throws {
        let tag = try items.startTag()
        let (outer, limits, name) = (envelope, items.pieces.limits, items.elementName())
        let empty: Tape
        do throws(WireFormatError) { empty = try outer.readEmpty(tag, name, limits) } catch {
            throw items.pieces.placed(error)
        }
        items.pieces.count(empty)
        let (key, value) = empty.innermost(outer.memberLevels)
        let token = empty.tokens[value]
        do throws(WireFormatError) { try envelope.open(tag, isArray: token.kind == .array) } catch {
            throw items.pieces.placed(error)
        }
        guard !envelope.isTyped || token.isContainer else {
            throw items.pieces.malformed("an element where only text may be")
        }
        try beginLong(key, isTop: outer.depth == 0)
        try items.pieces.begin(token.kind == .array ? .array : .dictionary)
        if token.kind == .dictionary { try writeAttributes(of: empty.part(value)) }
        levels.append(Level())
        items.pieces.window.advance(tag.count)
    }

    private mutating func writeAttributes(of tape: Tape) throws {
        var position = 1
        while tape.tokens[position].kind == .key {
            try items.pieces.key(tape.string(of: tape.tokens[position]))
            try items.pieces.writer?.write(tape.part(position + 1))
            position = tape.position(after: position)
        }
    }

    /// An element that is too long to be held: it is written before anything is known of the next one.
    private mutating func beginLong(_ key: String?, isTop: Bool) throws {
        if isTop || envelope.isTyped {
            if !isTop { levels[levels.count - 1].isEmpty = false }
            if let key { try items.pieces.key(key) }
            return
        }
        levels[levels.count - 1].isEmpty = false
        guard !continuesList(key) else { return try beginList() }
        try closeRun()
        try items.pieces.key(key ?? "")
        levels[levels.count - 1].key = key
    }

    private mutating func write(
        _ key: String?, _ tape: Tape, place: (WireFormatError) -> WireFormatError.Position?
    ) throws {
        guard !levels.isEmpty else {
            if let key { try items.pieces.key(key) }
            return try items.pieces.write(tape, place: place)
        }
        levels[levels.count - 1].isEmpty = false
        if envelope.isTyped {
            if let key { try items.pieces.key(key) }
            return try items.pieces.write(tape, place: place)
        }
        if continuesList(key) {
            try beginList()
            return try items.pieces.write(tape, place: place)
        }
        try closeRun()
        try items.pieces.key(key ?? "")
        levels[levels.count - 1].key = key
        levels[levels.count - 1].held = tape
    }

    private func continuesList(_ key: String?) -> Bool {
        guard let last = levels[levels.count - 1].key, let key else { return false }
        return last.hasSameBytes(as: key)
    }

    /// Before a further element of the last one's name.
    private mutating func beginList() throws {
        guard !levels[levels.count - 1].isList else { return }
        guard let first = levels[levels.count - 1].held else {
            throw items.pieces.failure(.refused, "an element behind one of its name that is too long to be held")
        }
        levels[levels.count - 1].held = nil
        levels[levels.count - 1].isList = true
        try items.pieces.begin(.array)
        try items.pieces.writer?.write(first)
    }

    /// After the last element of a name.
    private mutating func closeRun() throws {
        let last = levels[levels.count - 1]
        if let held = last.held { try items.pieces.writer?.write(held) }
        if last.isList { try items.pieces.end() }
        levels[levels.count - 1] = Level(isEmpty: false)
    }

    private mutating func closeElement() throws {
        guard !levels[levels.count - 1].isEmpty || envelope.isTyped else {
            throw items.pieces.failure(.refused, "white space that is too long to be held")
        }
        try closeRun()
        try items.pieces.end()
        levels.removeLast()
        envelope.close()
    }
}

/// Finds where the next item of an XML document's content ends without reading it: an element with all that is in it, an
/// end tag, a comment, a CDATA section, a processing instruction, or text up to the next markup. What is wrong inside is
/// found when the item is read.
struct XMLExtent: NestedExtent {
    private enum State {
        case text, markup, endTag, startTag, instruction, bang, commentStart, comment, cdata
        case quoted(UInt8)
    }

    private var origin: Int
    private var containers = OpenContainers()
    /// Where the markup under way began, in the whole document.
    private var markup = 0
    private var state = State.text
    /// The bytes before, since the state was entered.
    private var before: (UInt8, UInt8) = (0, 0)
    private(set) var scanned = 0

    init(from origin: Int) { self.origin = origin }

    /// The length of the item that starts at `start`; nil where more bytes are needed.
    mutating func length(_ bytes: [UInt8], from start: Int, isAtEnd: Bool) -> Int? {
        bytes.withUnsafeBufferPointer { bytes in
            while start + scanned < bytes.count {
                let byte = bytes[start + scanned]
                if containers.depth == 0, scanned > 0, case .text = state, byte == UInt8(ascii: "<") { return scanned }
                scanned += 1
                if step(byte) { return scanned }
            }
            return isAtEnd ? scanned : nil
        }
    }

    /// Takes one byte; returns whether the item ends with it.
    @inline(__always)
    private mutating func step(_ byte: UInt8) -> Bool {
        switch state {
        case .text:
            if byte == UInt8(ascii: "<") { (state, markup) = (.markup, origin + scanned - 1) }
            return false
        case .quoted(let quote):
            if byte == quote { enter(.startTag) }
            return false
        case .startTag: return stepInStartTag(byte)
        case .endTag:
            guard byte == UInt8(ascii: ">") else { return false }
            containers.close()
            return leave()
        default: return stepElsewhere(byte)
        }
    }

    private mutating func stepInStartTag(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "'"): state = .quoted(byte)
        case UInt8(ascii: ">"):
            if before.1 != UInt8(ascii: "/") { containers.open(at: markup) }
            return leave()
        default: before.1 = byte
        }
        return false
    }

    private mutating func stepElsewhere(_ byte: UInt8) -> Bool {
        switch state {
        case .markup: enterMarkup(byte)
        case .bang: enterBang(byte)
        case .commentStart: enter(byte == UInt8(ascii: "-") ? .comment : .startTag)
        default: return stepInSection(byte)
        }
        return false
    }

    private mutating func enterMarkup(_ byte: UInt8) {
        switch byte {
        case UInt8(ascii: "/"): enter(.endTag)
        case UInt8(ascii: "?"): enter(.instruction)
        case UInt8(ascii: "!"): enter(.bang)
        default: enter(.startTag)
        }
    }

    private mutating func enterBang(_ byte: UInt8) {
        switch byte {
        case UInt8(ascii: "-"): enter(.commentStart)
        case UInt8(ascii: "["): enter(.cdata)
        default: enter(.startTag)
        }
    }

    /// `-->`, `]]>` or `?>` ends it.
    private mutating func stepInSection(_ byte: UInt8) -> Bool {
        var ends = false
        if byte == UInt8(ascii: ">") {
            switch state {
            case .comment: ends = before == (UInt8(ascii: "-"), UInt8(ascii: "-"))
            case .cdata: ends = before == (UInt8(ascii: "]"), UInt8(ascii: "]"))
            default: ends = before.1 == UInt8(ascii: "?")
            }
        }
        if ends { return leave() }
        before = (before.1, byte)
        return false
    }

    private mutating func enter(_ next: State) {
        state = next
        before = (0, 0)
    }

    private mutating func leave() -> Bool {
        state = .text
        return containers.depth == 0
    }

    mutating func resume(at origin: Int) -> Bool {
        guard containers.enter(at: origin) else { return false }
        scanned -= origin - self.origin
        self.origin = origin
        return true
    }
}

/// Takes the content of a long XML document item by item, for the transcoders of property lists and of generic XML.
struct XMLItems {
    var pieces: StreamedPieces
    private var scan: XMLExtent?

    init(pieces: StreamedPieces) { self.pieces = pieces }

    /// What stands next, white space before it skipped.
    enum Next {
        case element
        /// Whole, with its length.
        case endTag(Int)
        /// Text or a CDATA section.
        case text
        case endOfInput
    }

    /// Where the root element stands, if the document can be streamed: UTF-8, after its declaration. Nil otherwise.
    static func start(of bytes: [UInt8]) throws(WireFormatError) -> Int? {
        let text = bytes.span
        var start = 0
        switch XMLEncoding.Mark(text) {
        case .utf8: start = 3
        case nil: break
        default: return nil
        }
        let declaration = try XMLDeclaration(text, at: start)
        guard try declaration.encoding(text) ?? .utf8 == .utf8 else { return nil }
        return declaration.end
    }

    /// Comments and processing instructions on the way are checked and left behind.
    mutating func next() throws -> Next {
        while let first = try pieces.skipSpace() {
            guard first == UInt8(ascii: "<") else { return .text }
            try pieces.window.fill(to: 3)
            switch pieces.window.byte(1) {
            case UInt8(ascii: "/"): return .endTag(try wholeLength())
            case UInt8(ascii: "!") where pieces.window.byte(2) == UInt8(ascii: "["): return .text
            case UInt8(ascii: "!"), UInt8(ascii: "?"): try skipMisc()
            default: return .element
            }
        }
        return .endOfInput
    }

    private mutating func skipMisc() throws {
        let length = try wholeLength()
        let piece = pieces.window.peek(length)
        do throws(WireFormatError) {
            var scanner = XMLScanner(insideOf: XMLName())
            let event = try scanner.next(piece.span)
            guard scanner.position == length, event == .comment || event == .processingInstruction else {
                throw WireFormatError(.malformed, "an unknown declaration")
            }
        } catch { throw pieces.placed(error) }
        pieces.window.advance(length)
    }

    private mutating func wholeLength() throws -> Int {
        guard let length = try extent(isWhole: true) else { throw pieces.malformed("the document ends within markup") }
        return length
    }

    /// The length of the item at hand; nil for one that is longer than a piece, unless it is needed as a whole.
    mutating func extent(isWhole: Bool) throws -> Int? {
        try pieces.extent(isWhole: isWhole, &scan)
    }

    /// The name of the element at hand, as it stands there.
    func elementName() -> [UInt8] {
        let bytes = pieces.window.bytes[(pieces.window.position + 1)...]
        return Array(bytes.prefix(XMLLimits.name).prefix { !XMLCharacters.isSpace($0) && $0 != 0x2F && $0 != 0x3E })
    }

    /// The start tag at hand; it is within a piece.
    func startTag() throws -> [UInt8] {
        let bytes = pieces.window.bytes[pieces.window.position...].prefix(pieces.pieceBytes)
        var quote: UInt8?
        for index in bytes.indices {
            if let open = quote {
                if bytes[index] == open { quote = nil }
            } else if bytes[index] == UInt8(ascii: ">") {
                return Array(bytes[...index])
            } else if bytes[index] == UInt8(ascii: "\"") || bytes[index] == UInt8(ascii: "'") {
                quote = bytes[index]
            }
        }
        throw pieces.failure(.limitExceeded, "a start tag is too long")
    }

    /// Leaves the end tag at hand behind; it must be the one of an element of this name.
    mutating func takeEndTag(_ length: Int, of name: [UInt8]) throws {
        let tag = pieces.window.peek(length)
        let end = tag.dropFirst(2 + name.count)
        guard tag.dropFirst(2).starts(with: name), end.last == UInt8(ascii: ">"),
            end.dropLast().allSatisfy(XMLCharacters.isSpace)
        else { throw pieces.malformed("an end tag does not match its start tag") }
        pieces.window.advance(length)
    }

    /// After the root element.
    mutating func finish(_ output: ([UInt8]) throws -> Void) throws -> Conversion.Report {
        guard case .endOfInput = try next() else { throw pieces.malformed("something follows the root element") }
        try pieces.finish(output)
        return pieces.report
    }
}

/// The open elements around a piece of a long XML document: a small document is made of the innermost one and the piece, so
/// that the ordinary reader gives the piece its namespaces and its types.
///
/// Of the elements further out the piece needs the namespaces alone, and of those the ones whose prefixes it has. So what is
/// read around a piece grows with the piece, and neither with the nesting nor with what the start tags hold.
struct XMLEnvelope {
    /// Bytes of a namespace's name that is in force in an element whose content comes in pieces: each piece may repeat it.
    static let longestNamespace = 1 << 10

    private let format: XMLFormat
    private var levels: [Level] = []
    /// By prefix, empty for the default namespace: the declarations in force, as they stand in the document, the innermost
    /// last.
    private var declarations: [ArraySlice<UInt8>: [[UInt8]]] = [:]
    /// The document says its types.
    let isTyped: Bool

    private struct Level {
        let name: [UInt8]
        /// Of the namespaces that its start tag declares.
        let prefixes: [ArraySlice<UInt8>]
        let isArray: Bool
    }

    init(_ format: XMLFormat, isTyped: Bool) {
        (self.format, self.isTyped) = (format, isTyped)
    }

    var depth: Int { levels.count }
    /// The name of the innermost open element; empty where none is open.
    var name: [UInt8] { levels.last?.name ?? [] }
    /// How many containers are around a member of the innermost open element, in the tape of a piece.
    var memberLevels: Int { min(depth, 1) + (isTyped ? 0 : 1) }

    /// The start tag of an element whose content comes in pieces. What it holds beside of namespaces belongs to typed
    /// documents only: attributes were written when the element was opened.
    mutating func open(_ tag: [UInt8], isArray: Bool) throws(WireFormatError) {
        let start = startTag(around: tag)
        let text = start + tag
        var scanner = XMLScanner(maximumDepth: 3)
        while scanner.position < text.count { _ = try scanner.next(text.span) }
        var prefixes: [ArraySlice<UInt8>] = []
        for declaration in scanner.declarations where declaration.name.offset >= start.count {
            guard declaration.value.range.count <= Self.longestNamespace else {
                throw WireFormatError(
                    .limitExceeded, "a namespace of more than \(Self.longestNamespace) bytes, in a long element")
            }
            let prefix = declaration.name.prefixLength > 0 ? text[declaration.name.localRange] : []
            prefixes.append(prefix)
            // With its quotes.
            declarations[prefix, default: []].append(
                Array(text[declaration.name.range.lowerBound...declaration.value.range.upperBound]))
        }
        levels.append(Level(name: Array(text[scanner.name.range]), prefixes: prefixes, isArray: isArray))
    }

    mutating func close() {
        for prefix in levels.removeLast().prefixes {
            declarations[prefix]?.removeLast()
            if declarations[prefix]?.isEmpty ?? false { declarations[prefix] = nil }
        }
    }

    /// The tape of the document around a piece. Positions in errors are those in the
    /// piece.
    func read(_ piece: [UInt8], _ limits: ReadingLimits) throws(WireFormatError) -> Tape {
        var limits = limits
        // The elements further out are not there.
        limits.depth -= max(0, depth - 1)
        let start = startTag(around: piece)
        let end = levels.isEmpty ? [] : Array("</".utf8) + name + [UInt8(ascii: ">")]
        do throws(WireFormatError) { return try format.readTape(start + piece + end, limits: limits) } catch {
            guard let position = error.position else { throw error }
            let offset = min(max(position.offset - start.count, 0), piece.count)
            throw WireFormatError(error.kind, error.message, at: .init(offset: offset, in: piece), token: error.token)
        }
    }

    /// An element without its content.
    func readEmpty(_ tag: [UInt8], _ name: [UInt8], _ limits: ReadingLimits) throws(WireFormatError) -> Tape {
        try read(tag + Array("</".utf8) + name + [UInt8(ascii: ">")], limits)
    }

    /// The innermost open element, with the namespaces that may be named in the piece; none where no element is open.
    func startTag(around piece: [UInt8]) -> [UInt8] {
        guard let level = levels.last else { return [] }
        var tag = [UInt8(ascii: "<")] + level.name
        if !declarations.isEmpty {
            var prefixes: Set<ArraySlice<UInt8>> = [[]]
            Self.addPrefixes(in: level.name, to: &prefixes)
            Self.addPrefixes(in: piece, to: &prefixes)
            for prefix in prefixes {
                if let declaration = declarations[prefix]?.last { tag += [UInt8(ascii: " ")] + declaration }
            }
        }
        if isTyped { tag += typeAttribute(level) }
        return tag + [UInt8(ascii: ">")]
    }

    /// Under a prefix of its own: those of the document may stand for other namespaces by now.
    private func typeAttribute(_ level: Level) -> [UInt8] {
        var prefix = "portico-piece"
        while declarations[ArraySlice(prefix.utf8)] != nil { prefix += "_" }
        let type = level.isArray ? "array" : "dictionary"
        return Array(" xmlns:\(prefix)='\(XMLFormat.valueNamespace)' \(prefix):type='\(type)'".utf8)
    }

    /// What stands before each colon, as far as it may be a part of a name: the prefixes of names and, in texts, others.
    private static func addPrefixes(in bytes: [UInt8], to prefixes: inout Set<ArraySlice<UInt8>>) {
        var start = bytes.startIndex
        for index in bytes.indices {
            let byte = bytes[index]
            guard byte < 0x80, !XMLCharacters.isASCIINameByte(byte) else { continue }
            if byte == UInt8(ascii: ":"), index > start { prefixes.insert(bytes[start..<index]) }
            start = index + 1
        }
    }
}

extension Tape {
    /// The only member of the only member of … a tape, so many levels deep: its key, if it stands in a dictionary, and
    /// where its value is.
    func innermost(_ levels: Int) -> (key: String?, value: Int) {
        var (position, key) = (0, String?.none)
        for _ in 0..<levels {
            key = nil
            position += 1
            guard tokens[position].kind == .key else { continue }
            key = string(of: tokens[position])
            position += 1
        }
        return (key, position)
    }

    /// One value by itself.
    func part(_ position: Int) -> Tape {
        let end = self.position(after: position)
        var buffer = TokenBuffer(capacity: end - position)
        for index in position..<end { buffer.append(tokens[index]) }
        return Tape(tokens: buffer.finish(), input: input, side: side, droppedDuplicates: droppedDuplicates)
    }
}
