import ValueTree

/// One wire format: bytes ⇄ tape ⇄ value tree.
///
/// A new format implements this, passes `WireFormatTesting`'s conformance suite, and gets one line in
/// ``FormatCatalogue/standard``. Implementations are values without state; every method may be called from any task.
///
/// Reading goes through a ``Tape``: it validates everything (grammar, text encoding, limits, duplicate keys) without
/// making a single String. The tree is built from the tape on demand, or directly where a format is faster that way;
/// both give the same value and refuse the same documents.
public protocol WireFormat: Sendable {
    var name: FormatName { get }
    /// The media types whose bodies this format reads, the preferred one first.
    var mediaTypesRead: [MediaType] { get }
    /// The structured syntax suffix (RFC 6838, section 4.2.8) that marks further readable types, without its `+`.
    var structuredSuffix: String? { get }
    /// The media type that a written body is labelled with, charset included where the type has one.
    var mediaTypeWritten: MediaType { get }
    /// The bytes that a document starts with, for formats that have such a mark.
    var signature: [UInt8]? { get }
    /// The values of a `charset` parameter that a body may have, in lower case.
    var charsets: Set<String> { get }
    /// What the format carries of the value tree.
    var traits: FormatTraits { get }

    /// Validates a whole document. Memory: at most 16 bytes a value beyond the input and its resolved escapes.
    func readTape(_ input: [UInt8], limits: ReadingLimits) throws(WireFormatError) -> Tape

    /// The same for a body whose media type named a charset, one of ``charsets``. Only formats that are not UTF-8 by
    /// definition look at it.
    func readTape(_ input: [UInt8], charset: String?, limits: ReadingLimits) throws(WireFormatError) -> Tape

    /// The document as a tree.
    func read(_ input: [UInt8], limits: ReadingLimits) throws(WireFormatError) -> WireValue

    /// Appends one document. On an error the output holds a part of it and must be thrown away.
    func write(_ value: WireValue, options: WritingOptions, to output: inout OutputBuffer) throws(WireFormatError)

    /// Appends one document, straight from another document's tape.
    func write(_ tape: Tape, options: WritingOptions, to output: inout OutputBuffer) throws(WireFormatError)

    /// A writer that takes a document piece by piece.
    func makeStreamWriter(options: WritingOptions) -> any StreamWriter
}

extension WireFormat {
    public var structuredSuffix: String? { nil }
    public var signature: [UInt8]? { nil }
    public var charsets: Set<String> { ["utf-8", "utf8", "us-ascii"] }

    public func readTape(
        _ input: [UInt8], charset: String?, limits: ReadingLimits
    ) throws(WireFormatError) -> Tape {
        try readTape(input, limits: limits)
    }

    public func read(_ input: [UInt8], limits: ReadingLimits) throws(WireFormatError) -> WireValue {
        try readTape(input, limits: limits).value()
    }

    public func read(_ input: [UInt8]) throws(WireFormatError) -> WireValue {
        try read(input, limits: ReadingLimits())
    }

    public func write(_ value: WireValue, options: WritingOptions = WritingOptions()) throws(WireFormatError) -> [UInt8]
    {
        var output = OutputBuffer()
        try write(value, options: options, to: &output)
        return output.take()
    }

    public func write(_ tape: Tape, options: WritingOptions = WritingOptions()) throws(WireFormatError) -> [UInt8] {
        var output = OutputBuffer(capacity: tape.input.count + 64)
        try write(tape, options: options, to: &output)
        return output.take()
    }

    /// Rewrites a document of this format in another one, without a tree.
    public func transcode(
        _ input: [UInt8], to format: any WireFormat, limits: ReadingLimits = ReadingLimits(),
        options: WritingOptions = WritingOptions()
    ) throws(WireFormatError) -> [UInt8] {
        try format.write(readTape(input, limits: limits), options: options)
    }
}
