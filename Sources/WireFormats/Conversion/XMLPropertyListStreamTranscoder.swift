import ValueTree

/// Converts an XML property list of any length: elements that fit into a piece are read as a whole, longer arrays and
/// dictionaries are opened and their members taken one by one.
struct XMLPropertyListStreamTranscoder {
    private var items: XMLItems

    init(_ pieces: StreamedPieces) {
        items = XMLItems(pieces: pieces)
    }

    /// `start` is behind the XML declaration.
    mutating func run(from start: Int, _ output: ([UInt8]) throws -> Void) throws -> Conversion.Report {
        try openRoot(start)
        try takeValue("the property list holds no value")
        while !items.pieces.open.isEmpty {
            try takeMemberOrEnd()
            try items.pieces.drain(output)
        }
        guard case .endTag(let length) = try items.next() else {
            throw items.pieces.malformed("a second value in a property list")
        }
        try items.takeEndTag(length, of: Array("plist".utf8))
        return try items.finish(output)
    }

    private mutating func openRoot(_ start: Int) throws {
        let source = XMLSource(bytes: items.pieces.window.bytes, start: start)
        var reader = XMLPropertyListReader(source, limits: ReadingLimits(values: 0))
        try reader.openRoot(source.bytes.span)
        items.pieces.window.advance(reader.scanner.position)
    }

    private mutating func takeMemberOrEnd() throws {
        let kind = items.pieces.open[items.pieces.open.count - 1].kind
        switch try items.next() {
        case .endTag(let length):
            try items.takeEndTag(length, of: Array((kind == .array ? "array" : "dict").utf8))
            try items.pieces.end()
        case .text: throw items.pieces.malformed("text between the elements of a property list")
        case .endOfInput: throw items.pieces.malformed("the document ends within a container")
        case .element:
            guard kind == .dictionary else { return try takeElement() }
            try takeKey()
            try takeValue("a key without a value")
        }
    }

    private mutating func takeKey() throws {
        guard items.elementName() == Array("key".utf8) else { throw items.pieces.malformed("a value without a key") }
        guard let length = try items.extent(isWhole: true) else { throw items.pieces.malformed("a key is not closed") }
        let tape = try items.pieces.read(length) { piece throws(WireFormatError) in
            var reader = XMLPropertyListReader(fragment: piece, limits: ReadingLimits())
            try reader.readFragment(piece.span, isKey: true)
            return reader.finish()
        }
        try items.pieces.key(tape.string(of: tape.tokens[0]))
        items.pieces.window.advance(length)
    }

    private mutating func takeValue(_ missing: String) throws {
        guard case .element = try items.next() else { throw items.pieces.malformed(missing) }
        try takeElement()
    }

    private mutating func takeElement() throws {
        let name = String(decoding: items.elementName(), as: UTF8.self)
        let isContainer = name == "dict" || name == "array"
        guard let length = try items.extent(isWhole: !isContainer) else {
            return try open(name == "dict" ? .dictionary : .array)
        }
        let read = { (piece: [UInt8], limits: ReadingLimits) throws(WireFormatError) -> Tape in
            var reader = XMLPropertyListReader(fragment: piece, limits: limits)
            try reader.readFragment(piece.span, isKey: false)
            return reader.finish()
        }
        let inner = items.pieces.innerLimits
        let tape = try items.pieces.read(length) { piece throws(WireFormatError) in try read(piece, inner) }
        try items.pieces.write(tape, of: length) { limits throws(WireFormatError) in try read(tape.input, limits) }
    }

    private mutating func open(_ kind: ContainerKind) throws {
        let tag = try items.startTag()
        do throws(WireFormatError) {
            var scanner = XMLScanner(insideOf: XMLName())
            let event = try scanner.next(tag.span)
            guard event == .startElement, scanner.position == tag.count, scanner.attributes.isEmpty else {
                throw WireFormatError(.malformed, "an attribute in a property list's value")
            }
        } catch { throw items.pieces.placed(error) }
        try items.pieces.begin(kind)
        items.pieces.window.advance(tag.count)
    }
}
