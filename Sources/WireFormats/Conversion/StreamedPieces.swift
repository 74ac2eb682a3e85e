import ValueTree

/// What the transcoders of long documents share: the input's window, the containers that are open, and the target.
struct StreamedPieces {
    /// How many keys of one opened dictionary are remembered, to notice one that occurs twice.
    static let rememberedKeys = 4_000_000

    var window: InputWindow
    let format: any WireFormat
    let writer: (any StreamWriter)?
    let limits: ReadingLimits
    /// What is held of the document: its largest value that is converted in one piece.
    let pieceBytes: Int
    private(set) var open: [Level] = []
    private(set) var report = Conversion.Report()

    struct Level {
        let kind: ContainerKind
        var isEmpty = true
        /// Hashes, seeded for this process.
        fileprivate var keys: Set<Int> = []

        init(_ kind: ContainerKind) { self.kind = kind }
    }

    init(
        _ window: InputWindow, _ format: any WireFormat, writer: (any StreamWriter)?, limits: ReadingLimits,
        pieceBytes: Int
    ) {
        (self.window, self.format, self.writer, self.limits) = (window, format, writer, limits)
        self.pieceBytes = pieceBytes
    }

    /// What a piece inside of the open containers may spend.
    var innerLimits: ReadingLimits {
        var inner = limits
        inner.depth -= open.count
        return inner
    }

    mutating func begin(_ kind: ContainerKind) throws {
        guard open.count < limits.depth else { throw failure(.limitExceeded, "the document is nested too deeply") }
        open.append(Level(kind))
        do throws(WireFormatError) { try writer?.begin(kind) } catch { throw failure(error.kind, error.message) }
    }

    mutating func end() throws {
        open.removeLast()
        do throws(WireFormatError) { try writer?.end() } catch { throw failure(error.kind, error.message) }
    }

    mutating func noteMember() { open[open.count - 1].isEmpty = false }

    mutating func key(_ key: String) throws {
        guard open[open.count - 1].keys.insert(Self.hash(key)).inserted else {
            throw failure(.duplicateKey, "a key occurs twice in a dictionary that is too long to be held")
        }
        guard open[open.count - 1].keys.count <= Self.rememberedKeys else {
            throw failure(.limitExceeded, "a dictionary has more than \(Self.rememberedKeys) keys")
        }
        try writer?.key(key)
    }

    /// Seeded for this process, so that nobody can choose keys that meet.
    static func hash(_ key: String) -> Int {
        var hasher = Hasher()
        var key = key
        key.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
        return hasher.finalize()
    }

    /// Reads the next bytes by themselves; nothing is consumed. Errors are placed in the whole document.
    func read(_ length: Int, _ reader: ([UInt8]) throws(WireFormatError) -> Tape) throws -> Tape {
        do throws(WireFormatError) { return try reader(window.peek(length)) } catch { throw placed(error) }
    }

    /// Writes a tape of the next bytes, and consumes them.
    mutating func write(
        _ tape: Tape, of length: Int, _ reader: (ReadingLimits) throws(WireFormatError) -> Tape
    ) throws {
        try write(tape) { TokenLocation.place($0, in: tape, innerLimits, read: reader) }
        countDuplicates(of: tape)
        window.advance(length)
    }

    /// Writes a tape; `place` tells where in the next bytes an error is.
    func write(_ tape: Tape, place: (WireFormatError) -> WireFormatError.Position?) throws {
        do throws(WireFormatError) { try writer?.write(tape) } catch {
            throw WireFormatError(error.kind, error.message, at: window.place(place(error)))
        }
    }

    mutating func countDuplicates(of tape: Tape) { report.droppedDuplicates += tape.droppedDuplicates }

    func placed(_ error: WireFormatError) -> WireFormatError {
        WireFormatError(error.kind, error.message, at: window.place(error.position))
    }

    func malformed(_ message: String) -> WireFormatError { failure(.malformed, message) }

    func failure(_ kind: WireFormatError.Kind, _ message: String) -> WireFormatError {
        WireFormatError(kind, message, at: window.place())
    }
}

extension StreamedPieces {
    /// The next byte that is no white space, not consumed; nil at the end.
    mutating func skipSpace() throws -> UInt8? {
        while true {
            while let byte = window.first {
                guard byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 else { return byte }
                window.advance(1)
            }
            guard !window.isAtEnd else { return nil }
            try window.fill(to: 1)
        }
    }

    func drain(_ output: ([UInt8]) throws -> Void) throws {
        guard let writer, writer.pendingBytes >= ListWriter.defaultChunkSize else { return }
        try output(writer.drain())
    }

    /// Ends the document.
    func finish(_ output: ([UInt8]) throws -> Void) throws {
        guard let writer else { return }
        do throws(WireFormatError) { try writer.finish() } catch { throw failure(error.kind, error.message) }
        while writer.pendingBytes > 0 { try output(writer.drain(atMost: ListWriter.defaultChunkSize)) }
    }
}
