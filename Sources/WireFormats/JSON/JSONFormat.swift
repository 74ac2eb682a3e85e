import ValueTree

/// JSON (RFC 8259), strictly: UTF-8 (a byte order mark is skipped, none is written), no comments, no trailing commas,
/// no lone surrogates, one value and nothing behind it.
///
/// - Integers that fit 64 bits stay integers, larger ones become decimals. A number with a fraction or an exponent is a
///   double, or a decimal where it has more than the 17 digits that a double can tell apart. One that a double cannot
///   reach (`1e400`, `1e-400`) is refused.
/// - Data is written as base64 text and a date as RFC 3339 text; both are read as strings, typed later by a schema
///   (``ValueTree/Base64``, ``ValueTree/WireDate/init(rfc3339:)``).
/// - NaN, infinities and a keyed archiver's uid have no form and are errors
///   (docs/decisions/0010).
public struct JSONFormat: WireFormat {
    public init() {}

    public let name = FormatName.json
    public let mediaTypesRead = [MediaType.json]
    public let structuredSuffix: String? = "json"
    public let mediaTypeWritten = MediaType.json
    public let traits = FormatTraits(
        null: true, decimal: .exact, nonFinite: false, data: false, date: .text, uid: false, allScalars: true)

    public func readTape(_ input: [UInt8], limits: ReadingLimits) throws(WireFormatError) -> Tape {
        var reader = JSONReader(input, limits: limits)
        try reader.readDocument(input.span)
        return reader.finish()
    }

    public func write(
        _ value: WireValue, options: WritingOptions, to output: inout OutputBuffer
    ) throws(WireFormatError) {
        try JSONEmitter.write(value, options: options, to: &output)
    }

    public func write(_ tape: Tape, options: WritingOptions, to output: inout OutputBuffer) throws(WireFormatError) {
        try JSONEmitter.write(tape, options: options, to: &output)
    }

    public func makeStreamWriter(options: WritingOptions) -> any StreamWriter {
        EmitterStreamWriter<JSONEmitter>(options: options)
    }
}
