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
