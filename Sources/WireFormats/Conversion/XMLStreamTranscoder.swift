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
            try items.takeEndTag(length, of: envelope.names[envelope.depth - 1])
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
        let (key, value) = whole.innermost(memberLevels)
        try write(key, whole.part(value)) { error in
            let error = WireFormatError(error.kind, error.message, token: error.token.map { $0 + value })
            return TokenLocation.place(error, in: whole, limits) { limits throws(WireFormatError) in
                try envelope.read(piece, limits)
            }
        }
        items.pieces.window.advance(length)
    }

    /// How many containers are around a member of the innermost open element.
    private var memberLevels: Int { envelope.isTyped ? envelope.depth : envelope.depth + 1 }

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
        do throws(WireFormatError) {
            empty = try outer.readEmpty(tag, name, limits)
            try envelope.open(tag)
        } catch { throw items.pieces.placed(error) }
        let (key, value) = empty.innermost(envelope.isTyped ? outer.depth : outer.depth + 1)
        let token = empty.tokens[value]
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
        items.pieces.countDuplicates(of: tape)
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

    /// Takes one byte; tells whether the item ends with it.
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

/// The open elements around a piece of a long XML document: a small document is made of them and the piece, so that the
/// ordinary reader gives the piece its namespaces and its types.
struct XMLEnvelope {
    private let format: XMLFormat
    private(set) var names: [[UInt8]] = []
    private var starts: [UInt8] = []
    private var lengths: [Int] = []
    /// The document says its types.
    let isTyped: Bool

    init(_ format: XMLFormat, isTyped: Bool) {
        (self.format, self.isTyped) = (format, isTyped)
    }

    var depth: Int { names.count }

    /// The start tag of an element whose content comes in pieces. What it holds beside of namespaces belongs to typed
    /// documents only: attributes were written when the element was opened.
    mutating func open(_ tag: [UInt8]) throws(WireFormatError) {
        var scanner = XMLScanner(insideOf: XMLName())
        let text = starts + tag
        while scanner.position < text.count { _ = try scanner.next(text.span) }
        let name = Array(text[scanner.name.range])
        lengths.append(starts.count)
        names.append(name)
        starts += isTyped ? tag : Self.bare(name, scanner.declarations, text)
    }

    private static func bare(_ name: [UInt8], _ declarations: [XMLAttribute], _ text: [UInt8]) -> [UInt8] {
        let words = declarations.map { text[$0.name.range.lowerBound...$0.value.range.upperBound] }
        return [UInt8(ascii: "<")] + name + words.flatMap { [0x20] + $0 } + [UInt8(ascii: ">")]
    }

    mutating func close() {
        names.removeLast()
        starts.removeLast(starts.count - lengths.removeLast())
    }

    /// The tape of the document around a piece. Positions in errors are those in the piece.
    func read(_ piece: [UInt8], _ limits: ReadingLimits) throws(WireFormatError) -> Tape {
        let ends = names.reversed().flatMap { Array("</".utf8) + $0 + [UInt8(ascii: ">")] }
        do throws(WireFormatError) { return try format.readTape(starts + piece + ends, limits: limits) } catch {
            guard let position = error.position else { throw error }
            let offset = min(max(position.offset - starts.count, 0), piece.count)
            throw WireFormatError(error.kind, error.message, at: .init(offset: offset, in: piece), token: error.token)
        }
    }

    /// An element without its content.
    func readEmpty(_ tag: [UInt8], _ name: [UInt8], _ limits: ReadingLimits) throws(WireFormatError) -> Tape {
        try read(tag + Array("</".utf8) + name + [UInt8(ascii: ">")], limits)
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
