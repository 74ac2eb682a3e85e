import ValueTree

/// Converts a JSON document of any length: values that fit into a piece are read as a whole, longer arrays and
/// dictionaries are opened and their members taken one by one.
struct JSONStreamTranscoder {
    private var pieces: StreamedPieces
    private var scan: JSONExtent?

    init(_ pieces: StreamedPieces) {
        self.pieces = pieces
    }

    mutating func run(_ output: ([UInt8]) throws -> Void) throws -> Conversion.Report {
        if pieces.window.bytes.starts(with: [0xEF, 0xBB, 0xBF]) { pieces.window.advance(3) }
        try takeValue()
        while !pieces.open.isEmpty {
            try takeMemberOrEnd()
            try pieces.drain(output)
        }
        guard try pieces.skipSpace() == nil else { throw pieces.malformed("something follows the document") }
        try pieces.finish(output)
        return pieces.report
    }

    private mutating func takeMemberOrEnd() throws {
        let level = pieces.open[pieces.open.count - 1]
        guard let next = try pieces.skipSpace() else {
            throw pieces.malformed("the document ends within a container")
        }
        if next == (level.kind == .array ? UInt8(ascii: "]") : UInt8(ascii: "}")) {
            try pieces.end()
            return pieces.window.advance(1)
        }
        if !level.isEmpty {
            guard next == UInt8(ascii: ",") else {
                throw pieces.malformed("a comma or the container's end was expected")
            }
            pieces.window.advance(1)
        }
        pieces.noteMember()
        if level.kind == .dictionary { try takeKey() }
        try takeValue()
    }

    private mutating func takeKey() throws {
        guard try pieces.skipSpace() == UInt8(ascii: "\"") else { throw pieces.malformed("a key was expected") }
        guard let length = try extent(isWhole: true) else { throw pieces.malformed("a key is not closed") }
        let tape = try read(length)
        try pieces.key(tape.string(of: tape.tokens[0]))
        pieces.window.advance(length)
        guard try pieces.skipSpace() == UInt8(ascii: ":") else { throw pieces.malformed("a colon was expected") }
        pieces.window.advance(1)
    }

    private mutating func takeValue() throws {
        guard let first = try pieces.skipSpace() else { throw pieces.malformed("a value is missing") }
        let isContainer = first == UInt8(ascii: "[") || first == UInt8(ascii: "{")
        guard let length = try extent(isWhole: !isContainer) else {
            try pieces.begin(first == UInt8(ascii: "[") ? .array : .dictionary)
            return pieces.window.advance(1)
        }
        let tape = try read(length)
        let format = pieces.format
        try pieces.write(tape, of: length) { limits throws(WireFormatError) in
            try format.readTape(tape.input, limits: limits)
        }
    }

    private func read(_ length: Int) throws -> Tape {
        try pieces.read(length) { piece throws(WireFormatError) in
            try pieces.format.readTape(piece, limits: pieces.innerLimits)
        }
    }

    private mutating func extent(isWhole: Bool) throws -> Int? { try pieces.extent(isWhole: isWhole, &scan) }
}
