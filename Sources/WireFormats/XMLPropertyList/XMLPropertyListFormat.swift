import ValueTree

/// XML property lists, strictly.
///
/// Reading: Apple's DOCTYPE in both its forms, or none; one value in `plist`. Comments and processing instructions are
/// skipped, inside of a string too; CDATA is text. Element names that property lists do not have, attributes other than
/// `version` of `plist`, and text between elements are refused.
///
/// | element | value |
/// |---|---|
/// | `integer` | decimal or `0x…`, with a sign; beyond 64 bits refused |
/// | `real` | decimal, `nan`, `inf`, `infinity` in any case; `1e400` refused |
/// | `date` | RFC 3339, an offset honoured; written in whole seconds, UTC |
/// | `data` | strict base64, white space skipped |
/// | `dict` with the one key `CF$UID` and an integer | a keyed archiver's uid, as Apple's tools write it |
///
/// Writing: Apple's own layout, tabs included, UTF-8. Null cannot be carried, nor can a dictionary that would read as a
/// uid. A decimal is an integer or a real where one is the same number, otherwise the string of its digits; an integer
/// beyond 64 bits is an error unless ``WritingOptions/largeIntegers`` says otherwise.
public struct XMLPropertyListFormat: WireFormat {
    public init() {}

    public let name = FormatName.plist
    public let mediaTypesRead = [
        MediaType.plist, MediaType.applePlistXML, MediaType.applePlist, MediaType.plainPlist,
    ]
    public let mediaTypeWritten = MediaType.plist
    public let charsets: Set<String> = XMLEncoding.charsets
    public let traits = FormatTraits(
        null: false, decimal: .text, nonFinite: true, data: true, date: .wholeSeconds, uid: true, allScalars: false)

    public func readTape(_ input: [UInt8], limits: ReadingLimits) throws(WireFormatError) -> Tape {
        try readTape(input, charset: nil, limits: limits)
    }

    public func readTape(
        _ input: [UInt8], charset: String?, limits: ReadingLimits
    ) throws(WireFormatError) -> Tape {
        if charset == nil || charset == "utf-8", XMLPropertyListPrologue.begins(input) {
            var reader = XMLPropertyListReader(behindPrologueOf: input, limits: limits)
            try reader.readDocument(input.span)
            return reader.finish()
        }
        let source = try XMLSource(input, charset: charset)
        var reader = XMLPropertyListReader(source, limits: limits)
        try reader.readDocument(source.bytes.span)
        return reader.finish()
    }

    public func read(_ input: [UInt8], limits: ReadingLimits) throws(WireFormatError) -> WireValue {
        if let plain = PlainPropertyListTree.read(input, limits: limits) { return plain }
        return try readTape(input, limits: limits).value()
    }

    public func write(
        _ value: WireValue, options: WritingOptions, to output: inout OutputBuffer
    ) throws(WireFormatError) {
        try XMLPropertyListEmitter.write(value, options: options, to: &output)
    }

    public func write(_ tape: Tape, options: WritingOptions, to output: inout OutputBuffer) throws(WireFormatError) {
        try XMLPropertyListEmitter.write(tape, options: options, to: &output)
    }

    public func makeStreamWriter(options: WritingOptions) -> any StreamWriter {
        EmitterStreamWriter<XMLPropertyListEmitter>(options: options)
    }
}
