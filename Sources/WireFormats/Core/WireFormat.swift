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
    /// The format's name.
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

/// The name by which a format is asked for: `?format=`, `portico convert --to`, a resource's declaration.
public struct FormatName: Sendable, Hashable {
    public let text: String

    /// A lower-case ASCII name of letters and digits, at most 32 of them; nil otherwise.
    public init?(_ text: String) {
        let isName = text.utf8.allSatisfy { (0x61...0x7A).contains($0) || (0x30...0x39).contains($0) }
        guard isName, !text.isEmpty, text.utf8.count <= 32 else { return nil }
        self.text = text
    }

    private init(known text: StaticString) {
        self.text = "\(text)"
    }
}

extension FormatName {
    /// JSON (RFC 8259).
    public static let json = FormatName(known: "json")
    /// The XML encoding of property lists.
    public static let plist = FormatName(known: "plist")
    /// The binary encoding of property lists.
    public static let bplist = FormatName(known: "bplist")
    /// Generic XML.
    public static let xml = FormatName(known: "xml")
    /// CBOR (RFC 8949).
    public static let cbor = FormatName(known: "cbor")
}

extension FormatName: CustomStringConvertible {
    public var description: String { text }
}

/// What a format carries of the value tree. What it does not carry is an error when written
/// (``WireFormatError/Kind/notRepresentable``), except for null where ``WritingOptions/nulls`` omits it.
public struct FormatTraits: Sendable, Equatable {
    /// Whether null can be written.
    public var null: Bool
    /// Numbers beyond 64-bit integers and doubles.
    public var decimal: DecimalSupport
    /// NaN and infinities.
    public var nonFinite: Bool
    /// Byte strings as a type of their own; otherwise they are written as base64 text and read back as a string.
    public var data: Bool
    /// How instants are written.
    public var date: DateSupport
    /// Whether a keyed archiver's references can be written.
    public var uid: Bool
    /// Every Unicode scalar in strings and keys, U+0000 and other controls included.
    public var allScalars: Bool

    /// How decimal numbers are written.
    public enum DecimalSupport: Sendable, Equatable {
        /// As a type of its own.
        case exact
        /// As an integer or a real where one is the same number, otherwise as the string of its digits.
        case text
        /// Not at all: a decimal is written as another kind.
        case none
    }

    /// How instants are written.
    public enum DateSupport: Sendable, Equatable {
        /// With every digit, as a type of its own.
        case exact
        /// The instants that are the shortest digits of a double, as a type of its own.
        case double
        /// Whole seconds, as a type of its own.
        case wholeSeconds
        /// Written as RFC 3339 text and read back as a string.
        case text
    }

    /// Creates format traits with these values.
    public init(
        null: Bool, decimal: DecimalSupport, nonFinite: Bool, data: Bool, date: DateSupport, uid: Bool, allScalars: Bool
    ) {
        self.null = null
        self.decimal = decimal
        self.nonFinite = nonFinite
        self.data = data
        self.date = date
        self.uid = uid
        self.allScalars = allScalars
    }
}
