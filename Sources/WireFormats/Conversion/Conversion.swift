import ValueTree

/// Rewrites a document of one format in another one, or only validates it: what `portico convert` does.
///
/// A document of up to ``heldBytes`` is read as a whole. A longer one is streamed where its format is JSON, an XML
/// property list or XML, the latter two in UTF-8: memory then depends on ``pieceBytes`` and on the target (a binary
/// property list is held until its end, up to ``WritingOptions/bufferedBytes``). A binary property list needs all of its
/// bytes at hand: ``run(mapped:letGo:output:)`` takes them from a mapped file. Others are read as a whole up to
/// ``maximumBytes``.
///
/// Where a dictionary names a key twice, the last value wins and ``Report/droppedDuplicates`` counts it; in a dictionary
/// that is too long to be held, that is an error instead.
public struct Conversion: Sendable {
    /// The largest input where none is given, in bytes.
    public static let defaultMaximumBytes = 2 << 30
    /// Documents up to this size are held in memory.
    public static let defaultHeldBytes = 8 << 20
    /// What is held of a streamed document: its largest value that is converted in one piece.
    public static let defaultPieceBytes = 1 << 20
    /// Values of a binary property list, those that it shares counted each time.
    static let sharedValues = 1 << 20
    static let sharedBytes = 16 << 20
    private static let headBytes = 64 << 10

    /// The format that is read.
    public let from: any WireFormat
    /// Nil: validate only.
    public let to: (any WireFormat)?
    /// How deep the input may be nested.
    public let maximumDepth: Int
    /// How large the input may be, in bytes.
    public let maximumBytes: Int
    /// Documents up to this size, in bytes, are held in memory.
    public let heldBytes: Int
    /// The largest value of a streamed document that is converted in one piece, in bytes.
    public let pieceBytes: Int

    /// What a conversion reports.
    public struct Report: Sendable, Equatable {
        /// How many members were dropped because a later one had the same key.
        public var droppedDuplicates = 0
        /// How many bytes were parsed, what stands around the pieces of a long document included each time: a measure of
        /// the work that is the same on every machine. 0 for a mapped file.
        public var parsedBytes = 0
    }

    /// Creates a conversion with these values.
    public init(
        from: any WireFormat, to: (any WireFormat)? = nil, maximumDepth: Int = 512,
        maximumBytes: Int = Conversion.defaultMaximumBytes, heldBytes: Int = Conversion.defaultHeldBytes,
        pieceBytes: Int = Conversion.defaultPieceBytes
    ) {
        (self.from, self.to, self.heldBytes, self.pieceBytes) = (from, to, heldBytes, pieceBytes)
        self.maximumDepth = min(maximumDepth, ReadingLimits.maximumDepth)
        self.maximumBytes = maximumBytes
    }

    /// - Parameters:
    ///   - input: gives the next bytes, none at the end.
    ///   - output: takes the next bytes of the result. After an error it has a part of it.
    /// - Throws: ``WireFormatError`` with a position where the input is at fault, and whatever the two closures throw.
    public func run(input: @escaping () throws -> [UInt8], output: (([UInt8]) throws -> Void)) throws -> Report {
        var window = InputWindow(source: input, limit: maximumBytes)
        try window.fill(to: heldBytes + 1)
        if window.available > heldBytes, let report = try stream(&window, output) { return report }
        try window.fill(to: .max)
        return try convertWhole(window.takeAll(), output)
    }

    /// The same for a binary property list that lies in memory as a whole, such as a mapped file. Little else is held.
    ///
    /// - Parameters:
    ///   - letGo: called now and then; what was read of the bytes need not stay resident.
    public func run(
        mapped bytes: Span<UInt8>, letGo: @escaping () -> Void, output: ([UInt8]) throws -> Void
    ) throws -> Report {
        guard bytes.count <= maximumBytes else { throw InputWindow.tooLong(maximumBytes) }
        let writer = to?.makeStreamWriter(options: options)
        var transcoder = try BinaryPropertyListTranscoder(
            bytes, writer: writer, limits: limits(sharedWithin: bytes.count), letGo: letGo)
        return try transcoder.run(bytes, output)
    }

    /// Nil where the document cannot be taken in pieces.
    private func stream(_ window: inout InputWindow, _ output: ([UInt8]) throws -> Void) throws -> Report? {
        guard [.json, .plist, .xml].contains(from.name) else { return nil }
        // What stands before the root element.
        try window.fill(to: Self.headBytes)
        let start = from.name == .json ? 0 : try XMLItems.start(of: window.bytes)
        guard let start else { return nil }
        let writer = to?.makeStreamWriter(options: options)
        let pieces = StreamedPieces(window, from, writer: writer, limits: limits, pieceBytes: pieceBytes)
        if let xml = from as? XMLFormat {
            guard var transcoder = try XMLStreamTranscoder(pieces, xml, from: start) else { return nil }
            return try transcoder.run(output)
        }
        if from.name == .plist {
            var transcoder = XMLPropertyListStreamTranscoder(pieces)
            return try transcoder.run(from: start, output)
        }
        var transcoder = JSONStreamTranscoder(pieces)
        return try transcoder.run(output)
    }

    private func convertWhole(_ document: [UInt8], _ output: ([UInt8]) throws -> Void) throws -> Report {
        let limits = limits(sharedWithin: document.count)
        let tape = try from.readTape(document, limits: limits)
        if to == nil { try requireCalendarDates(tape, document, limits) }
        if let to {
            let written: [UInt8]
            do throws(WireFormatError) { written = try to.write(tape, options: options) } catch {
                let place = TokenLocation.place(error, in: tape, limits) { limits throws(WireFormatError) in
                    try from.readTape(document, limits: limits)
                }
                throw WireFormatError(error.kind, error.message, at: place)
            }
            try output(written)
        }
        return Report(droppedDuplicates: tape.droppedDuplicates, parsedBytes: document.count)
    }

    /// Where nothing is written, no target can refuse a date that has no text form.
    private func requireCalendarDates(
        _ tape: Tape, _ document: [UInt8], _ limits: ReadingLimits
    ) throws(WireFormatError) {
        for index in tape.tokens.indices where tape.tokens[index].kind == .date {
            let date = WireDate(secondsSinceReferenceDate: tape.tokens[index].double)
            guard date.rfc3339 == nil else { continue }
            let error = WireFormatError(.refused, "a date outside of the years 0 to 9999", token: index)
            let place = TokenLocation.place(error, in: tape, limits) { limits throws(WireFormatError) in
                try from.readTape(document, limits: limits)
            }
            throw WireFormatError(error.kind, error.message, at: place)
        }
    }

    private var options: WritingOptions { WritingOptions(depth: maximumDepth) }

    /// A text has no more tokens than bytes, so its size is the limit.
    private var limits: ReadingLimits {
        ReadingLimits(
            depth: maximumDepth, values: maximumBytes, expandedBytes: maximumBytes, duplicateKeys: .keepLast)
    }

    /// What a binary property list shares is counted each time: it may multiply into as much as a document without
    /// sharing could have, and some more.
    private func limits(sharedWithin size: Int) -> ReadingLimits {
        var limits = limits
        guard from.name == .bplist else { return limits }
        limits.values = Self.sharedValues + size
        limits.expandedBytes = Self.sharedBytes + 4 * size
        return limits
    }
}

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

    /// Seeded for this process, so that an attacker cannot choose keys that collide.
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
        count(tape)
        window.advance(length)
    }

    /// Writes a tape; `place` returns where in the next bytes an error is.
    func write(_ tape: Tape, place: (WireFormatError) -> WireFormatError.Position?) throws {
        do throws(WireFormatError) { try writer?.write(tape) } catch {
            throw WireFormatError(error.kind, error.message, at: window.place(place(error)))
        }
    }

    mutating func count(_ tape: Tape) {
        report.droppedDuplicates += tape.droppedDuplicates
        report.parsedBytes += tape.input.count
    }

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

/// The part of a stream that is held: a buffer that is filled on demand and whose consumed start is given up.
struct InputWindow {
    private let source: () throws -> [UInt8]
    private let limit: Int
    private(set) var bytes: [UInt8] = []
    /// What is consumed of ``bytes``.
    private(set) var position = 0
    private(set) var isAtEnd = false
    /// The place of ``position`` in the whole stream.
    private(set) var offset = 0
    private var line = 1
    private var lineStart = 0

    init(source: @escaping () throws -> [UInt8], limit: Int) {
        (self.source, self.limit) = (source, limit)
    }

    var available: Int { bytes.count - position }
    /// A byte from the current one on; nil beyond what is held.
    func byte(_ index: Int) -> UInt8? { index < available ? bytes[position + index] : nil }
    var first: UInt8? { position < bytes.count ? bytes[position] : nil }

    /// Reads until so many bytes are available, or to the end.
    mutating func fill(to count: Int) throws {
        while available < count, !isAtEnd {
            let chunk = try source()
            isAtEnd = chunk.isEmpty
            guard offset + available + chunk.count <= limit else {
                throw Self.tooLong(limit)
            }
            if position > bytes.count / 2 {
                bytes.removeSubrange(..<position)
                position = 0
            }
            bytes.append(contentsOf: chunk)
        }
    }

    static func tooLong(_ limit: Int) -> WireFormatError {
        WireFormatError(
            .limitExceeded, "the document exceeds the limit of \(limit) bytes", at: .init(offset: limit))
    }

    mutating func advance(_ count: Int) {
        for index in position..<position + count where bytes[index] == 0x0A {
            line += 1
            lineStart = offset + index - position + 1
        }
        position += count
        offset += count
    }

    /// The next bytes, consumed.
    mutating func take(_ count: Int) -> [UInt8] {
        let piece = Array(bytes[position..<position + count])
        advance(count)
        return piece
    }

    mutating func takeAll() -> [UInt8] {
        position == 0 ? bytes : take(available)
    }

    /// The next bytes, not consumed.
    func peek(_ count: Int) -> [UInt8] {
        Array(bytes[position..<position + count])
    }

    /// The current place, or the one of an error in a piece that starts at it.
    func place(_ inner: WireFormatError.Position? = nil) -> WireFormatError.Position {
        let innerLine = inner?.line ?? 1
        let innerColumn = inner?.column ?? 1
        let column = innerLine == 1 ? offset - lineStart + innerColumn : innerColumn
        return .init(offset: offset + (inner?.offset ?? 0), line: line + innerLine - 1, column: column)
    }
}

/// Finds where in a document a token of its tape came from. Tapes do not keep that, as only an error asks for it.
enum TokenLocation {
    /// Where the token is that an error of writing the tape names.
    ///
    /// Has the document read once more with room for just the tokens before: the reader stops at the one that is asked
    /// for and says where. A key or a container's end counts as the value next to it.
    static func place(
        _ error: WireFormatError, in tape: Tape, _ limits: ReadingLimits,
        read: (ReadingLimits) throws(WireFormatError) -> Tape
    ) -> WireFormatError.Position? {
        guard let token = error.token, tape.tokens.indices.contains(token) else { return error.position }
        let value = tape.tokens[token].kind == .end ? token - 1 : token
        var limits = limits
        limits.values = tape.origins.isEmpty ? value : tape.origins[value]
        do throws(WireFormatError) {
            _ = try read(limits)
            return nil
        } catch { return error.position }
    }
}
