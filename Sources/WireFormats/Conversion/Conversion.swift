import ValueTree

/// Rewrites a document of one format in another one, or only validates it: what `portico convert` does. Documents are read as
/// a whole (docs/decisions/0475).
///
/// Where a dictionary names a key twice, the last value wins and ``Report/droppedDuplicates`` counts it.
public struct Conversion: Sendable {
    /// The largest input where none is given, in bytes.
    public static let defaultMaximumBytes = 256 << 20
    /// Values of a binary property list, those that it shares counted each time.
    static let sharedValues = 1 << 20
    static let sharedBytes = 16 << 20

    /// The format that is read.
    public let from: any WireFormat
    /// Nil: validate only.
    public let to: (any WireFormat)?
    /// How deep the input may be nested.
    public let maximumDepth: Int
    /// How large the input may be, in bytes.
    public let maximumBytes: Int
    /// Dates with a fraction of a second in a format that carries whole seconds.
    public let dateFractions: WritingOptions.DateFractionPolicy

    /// What a conversion reports.
    public struct Report: Sendable, Equatable {
        /// How many members were dropped because a later one had the same key.
        public var droppedDuplicates = 0
    }

    /// Creates a conversion with these values. `maximumDepth` is at most ``ReadingLimits/maximumDepth``.
    public init(
        from: any WireFormat, to: (any WireFormat)? = nil, maximumDepth: Int = 512,
        maximumBytes: Int = Conversion.defaultMaximumBytes,
        dateFractions: WritingOptions.DateFractionPolicy = .error
    ) {
        (self.from, self.to, self.dateFractions) = (from, to, dateFractions)
        self.maximumDepth = min(maximumDepth, ReadingLimits.maximumDepth)
        self.maximumBytes = maximumBytes
    }

    /// The document in the other format, empty where it is only validated. Throws with a position where the input is at
    /// fault.
    public func run(_ document: [UInt8]) throws(WireFormatError) -> (output: [UInt8], report: Report) {
        guard document.count <= maximumBytes else { throw Self.tooLong(maximumBytes) }
        let limits = limits(sharedWithin: document.count)
        let tape = try from.readTape(document, limits: limits)
        let report = Report(droppedDuplicates: tape.droppedDuplicates)
        guard let to else {
            try requireCalendarDates(tape, document, limits)
            return ([], report)
        }
        do throws(WireFormatError) { return (try to.write(tape, options: options), report) } catch {
            let place = TokenLocation.place(error, in: tape, limits) { limits throws(WireFormatError) in
                try from.readTape(document, limits: limits)
            }
            throw WireFormatError(error.kind, error.message, at: place)
        }
    }

    /// The error of a document that is longer than that.
    public static func tooLong(_ limit: Int) -> WireFormatError {
        WireFormatError(
            .limitExceeded, "the document exceeds the limit of \(limit) bytes", at: .init(offset: limit))
    }

    /// Where nothing is written, no target can refuse a date that has no text form.
    private func requireCalendarDates(
        _ tape: Tape, _ document: [UInt8], _ limits: ReadingLimits
    ) throws(WireFormatError) {
        for index in tape.tokens.indices where tape.tokens[index].kind == .date {
            guard !tape.tokens[index].date.isInCalendar else { continue }
            let error = WireFormatError(.refused, "a date outside of the years 0 to 9999", token: index)
            let place = TokenLocation.place(error, in: tape, limits) { limits throws(WireFormatError) in
                try from.readTape(document, limits: limits)
            }
            throw WireFormatError(error.kind, error.message, at: place)
        }
    }

    private var options: WritingOptions { WritingOptions(dateFractions: dateFractions, depth: maximumDepth) }

    /// A text has no more tokens than bytes, so its size is the limit. What a binary property list shares is counted each
    /// time: it may multiply into as much as a document without sharing could have, and some more.
    private func limits(sharedWithin size: Int) -> ReadingLimits {
        var limits = ReadingLimits(
            depth: maximumDepth, values: maximumBytes, expandedBytes: maximumBytes, duplicateKeys: .keepLast)
        guard from.name == .bplist else { return limits }
        limits.values = Self.sharedValues + size
        limits.expandedBytes = Self.sharedBytes + 4 * size
        return limits
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
