import ValueTree

/// Rewrites a document of one format in another one, or only validates it: what `portico convert` does.
///
/// A document of up to ``wholeBytes`` is read as a whole. A longer one is streamed where its format is JSON: memory then
/// depends on ``pieceBytes`` and on the target (a binary property list is held until its end, up to
/// ``WritingOptions/bufferedBytes``). Other formats are read as a whole up to ``maximumBytes``.
///
/// Where a dictionary names a key twice, the last value wins and ``Report/droppedDuplicates`` counts it; in a dictionary
/// that is too long to be held, that is an error instead.
public struct Conversion: Sendable {
    public static let defaultMaximumBytes = 2 << 30
    /// Documents up to this size are held in memory.
    static let wholeBytes = 8 << 20
    /// What is held of a streamed document: its largest value that is converted in one piece.
    static let pieceBytes = 1 << 20

    public let from: any WireFormat
    /// Nil: validate only.
    public let to: (any WireFormat)?
    public let maximumDepth: Int
    public let maximumBytes: Int

    public struct Report: Sendable, Equatable {
        public var droppedDuplicates = 0
    }

    public init(
        from: any WireFormat, to: (any WireFormat)? = nil, maximumDepth: Int = 512,
        maximumBytes: Int = Conversion.defaultMaximumBytes
    ) {
        (self.from, self.to) = (from, to)
        self.maximumDepth = min(maximumDepth, ReadingLimits.maximumDepth)
        self.maximumBytes = maximumBytes
    }

    /// - Parameters:
    ///   - input: gives the next bytes, none at the end.
    ///   - output: takes the next bytes of the result. After an error it has a part of it.
    /// - Throws: ``WireFormatError`` with a position where the input is at fault, and whatever the two closures throw.
    public func run(input: @escaping () throws -> [UInt8], output: (([UInt8]) throws -> Void)) throws -> Report {
        var window = InputWindow(source: input, limit: maximumBytes)
        try window.fill(to: Self.wholeBytes + 1)
        if window.available > Self.wholeBytes, from.name == .json {
            var transcoder = JSONStreamTranscoder(window, writer: writer, limits: limits)
            return try transcoder.run(output)
        }
        return try convertWhole(window.takeAll(), output)
    }

    private func convertWhole(_ document: [UInt8], _ output: ([UInt8]) throws -> Void) throws -> Report {
        let tape = try from.readTape(document, limits: limits)
        if let to { try output(to.write(tape, options: options)) }
        return Report(droppedDuplicates: tape.droppedDuplicates)
    }

    private var writer: (any StreamWriter)? { to?.makeStreamWriter(options: options) }

    private var options: WritingOptions { WritingOptions(depth: maximumDepth) }

    /// A text has no more tokens than bytes, so its size is the limit; what a binary property list shares keeps its own.
    private var limits: ReadingLimits {
        var limits = ReadingLimits(depth: maximumDepth, duplicateKeys: .keepLast)
        if from.name != .bplist { limits.values = maximumBytes }
        limits.expandedBytes = from.name == .bplist ? limits.expandedBytes : maximumBytes
        return limits
    }
}
