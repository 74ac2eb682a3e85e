import ValueTree

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
