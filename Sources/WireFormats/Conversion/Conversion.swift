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
    public static let defaultMaximumBytes = 2 << 30
    /// Documents up to this size are held in memory.
    public static let defaultHeldBytes = 8 << 20
    /// What is held of a streamed document: its largest value that is converted in one piece.
    public static let defaultPieceBytes = 1 << 20
    /// Values of a binary property list, those that it shares counted each time.
    static let sharedValues = 1 << 20
    static let sharedBytes = 16 << 20
    private static let headBytes = 64 << 10

    public let from: any WireFormat
    /// Nil: validate only.
    public let to: (any WireFormat)?
    public let maximumDepth: Int
    public let maximumBytes: Int
    public let heldBytes: Int
    public let pieceBytes: Int

    public struct Report: Sendable, Equatable {
        public var droppedDuplicates = 0
    }

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
        return Report(droppedDuplicates: tape.droppedDuplicates)
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
