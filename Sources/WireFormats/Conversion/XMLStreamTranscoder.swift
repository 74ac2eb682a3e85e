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
