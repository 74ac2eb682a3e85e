import ValueTree

/// Converts a JSON document of any length: values that fit into a piece are read as a whole, longer arrays and
/// dictionaries are opened and their members taken one by one.
struct JSONStreamTranscoder {
    /// How many keys of one opened dictionary are remembered, to notice one that occurs twice.
    static let rememberedKeys = 4_000_000

    private var window: InputWindow
    private let writer: (any StreamWriter)?
    private let limits: ReadingLimits
    private var open: [Level] = []
    private var report = Conversion.Report()

    private struct Level {
        var kind: ContainerKind
        var isEmpty = true
        /// Hashes, seeded for this process.
        var keys: Set<Int> = []
    }

    init(_ window: InputWindow, writer: (any StreamWriter)?, limits: ReadingLimits) {
        (self.window, self.writer, self.limits) = (window, writer, limits)
    }

    mutating func run(_ output: ([UInt8]) throws -> Void) throws -> Conversion.Report {
        if window.bytes.starts(with: [0xEF, 0xBB, 0xBF]) { window.advance(3) }
        try takeValue()
        while !open.isEmpty {
            try takeMemberOrEnd()
            if let writer, writer.pendingBytes >= ListWriter.defaultChunkSize { try output(writer.drain()) }
        }
        guard try skipSpace() == nil else { throw malformed("something follows the document") }
        try writer?.finish()
        if let writer { try output(writer.drain()) }
        return report
    }

    private mutating func takeMemberOrEnd() throws {
        let level = open[open.count - 1]
        guard let next = try skipSpace() else { throw malformed("the document ends within a container") }
        if next == (level.kind == .array ? UInt8(ascii: "]") : UInt8(ascii: "}")) {
            window.advance(1)
            open.removeLast()
            try writer?.end()
            return
        }
        if !level.isEmpty {
            guard next == UInt8(ascii: ",") else { throw malformed("a comma or the container's end was expected") }
            window.advance(1)
        }
        open[open.count - 1].isEmpty = false
        if level.kind == .dictionary { try takeKey() }
        try takeValue()
    }

    private mutating func takeKey() throws {
        guard try skipSpace() == UInt8(ascii: "\"") else { throw malformed("a key was expected") }
        let tape = try takePiece(try extent(isWhole: true)!)
        let key = tape.string(of: tape.tokens[0])
        try remember(key)
        try writer?.key(key)
        guard try skipSpace() == UInt8(ascii: ":") else { throw malformed("a colon was expected") }
        window.advance(1)
    }

    private mutating func remember(_ key: String) throws {
        var hasher = Hasher()
        for byte in key.utf8 { hasher.combine(byte) }
        guard open[open.count - 1].keys.insert(hasher.finalize()).inserted else {
            throw failure(.duplicateKey, "a key occurs twice in a dictionary that is too long to be held")
        }
        guard open[open.count - 1].keys.count <= Self.rememberedKeys else {
            throw failure(.limitExceeded, "a dictionary has more than \(Self.rememberedKeys) keys")
        }
    }

    private mutating func takeValue() throws {
        guard let first = try skipSpace() else { throw malformed("a value is missing") }
        let isContainer = first == UInt8(ascii: "[") || first == UInt8(ascii: "{")
        if let length = try extent(isWhole: !isContainer) {
            let tape = try takePiece(length)
            report.droppedDuplicates += tape.droppedDuplicates
            try writer?.write(tape)
            return
        }
        guard open.count < limits.depth else { throw failure(.limitExceeded, "the document is nested too deeply") }
        open.append(Level(kind: first == UInt8(ascii: "[") ? .array : .dictionary))
        try writer?.begin(open[open.count - 1].kind)
        window.advance(1)
    }
}

extension JSONStreamTranscoder {
    /// The length of the value at hand; nil for a container that is longer than a piece. A value that must be taken as a
    /// whole is read up to the limit of the stream.
    private mutating func extent(isWhole: Bool) throws -> Int? {
        var extent = JSONExtent()
        while true {
            if let length = extent.length(window.bytes, from: window.position, isAtEnd: window.isAtEnd) {
                return length
            }
            guard isWhole || window.available < Conversion.pieceBytes else { return nil }
            try window.fill(to: window.available + 1)
        }
    }

    private mutating func takePiece(_ length: Int) throws -> Tape {
        var inner = limits
        inner.depth -= open.count
        let piece = Array(window.bytes[window.position..<window.position + length])
        do throws(WireFormatError) {
            let tape = try JSONFormat().readTape(piece, limits: inner)
            window.advance(length)
            return tape
        } catch {
            throw WireFormatError(error.kind, error.message, at: window.place(error.position))
        }
    }

    /// The next byte that is no white space, not consumed; nil at the end.
    private mutating func skipSpace() throws -> UInt8? {
        while true {
            while let byte = window.first {
                guard byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 else { return byte }
                window.advance(1)
            }
            guard !window.isAtEnd else { return nil }
            try window.fill(to: 1)
        }
    }

    private func malformed(_ message: String) -> WireFormatError { failure(.malformed, message) }

    private func failure(_ kind: WireFormatError.Kind, _ message: String) -> WireFormatError {
        WireFormatError(kind, message, at: window.place())
    }
}
