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
    /// Creates the format; it has no state.
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

/// Writes JSON: compact, or indented by two spaces a level.
struct JSONEmitter: ValueEmitter {
    static let carriesNull = true
    private let isPretty: Bool
    private var needsComma = false
    private var followsKey = false
    private var depth = 0

    init(options: WritingOptions) {
        isPretty = options.layout == .pretty
    }

    mutating func begin(_ container: ContainerKind, count: Int?, to output: inout OutputBuffer) {
        separate(&output)
        output.append(container == .array ? UInt8(ascii: "[") : UInt8(ascii: "{"))
        depth += 1
        needsComma = false
    }

    mutating func end(_ container: ContainerKind, to output: inout OutputBuffer) {
        depth -= 1
        if isPretty, needsComma { breakLine(&output) }
        output.append(container == .array ? UInt8(ascii: "]") : UInt8(ascii: "}"))
        needsComma = true
    }

    mutating func key(_ text: UnsafeBufferPointer<UInt8>, to output: inout OutputBuffer) {
        separate(&output)
        output.appendJSONString(text)
        output.append(UInt8(ascii: ":"))
        if isPretty { output.append(0x20) }
        followsKey = true
    }

    /// What stands before a value or a key.
    @inline(__always)
    private mutating func separate(_ output: inout OutputBuffer) {
        if followsKey {
            followsKey = false
            return
        }
        if needsComma { output.append(UInt8(ascii: ",")) }
        if isPretty, depth > 0 { breakLine(&output) }
        needsComma = true
    }

    private func breakLine(_ output: inout OutputBuffer) {
        output.append(0x0A)
        for _ in 0..<depth { output.append("  ") }
    }
}

extension JSONEmitter {
    mutating func null(to output: inout OutputBuffer) {
        separate(&output)
        output.append("null")
    }

    mutating func bool(_ flag: Bool, to output: inout OutputBuffer) {
        separate(&output)
        output.append(flag ? "true" : "false")
    }

    mutating func int64(_ number: Int64, to output: inout OutputBuffer) {
        separate(&output)
        output.appendDecimal(number)
    }

    mutating func uint64(_ number: UInt64, to output: inout OutputBuffer) {
        separate(&output)
        output.appendDecimal(number)
    }

    mutating func double(_ number: Double, to output: inout OutputBuffer) throws(WireFormatError) {
        guard number.isFinite else {
            throw WireFormatError(.notRepresentable, "JSON cannot carry a number that is not finite")
        }
        separate(&output)
        output.append(utf8: number.description)
    }

    mutating func decimal(_ number: WireDecimal, to output: inout OutputBuffer) throws(WireFormatError) {
        guard let text = JSONText.number(number) else {
            throw WireFormatError(.notRepresentable, "JSON readers cannot be expected to take a decimal of this size")
        }
        separate(&output)
        output.append(utf8: text)
    }

    mutating func string(_ text: UnsafeBufferPointer<UInt8>, to output: inout OutputBuffer) {
        separate(&output)
        output.appendJSONString(text)
    }

    mutating func data(_ bytes: UnsafeBufferPointer<UInt8>, to output: inout OutputBuffer) {
        separate(&output)
        output.append(UInt8(ascii: "\""))
        output.append(Base64.encode(bytes))
        output.append(UInt8(ascii: "\""))
    }

    mutating func date(_ instant: WireDate, to output: inout OutputBuffer) throws(WireFormatError) {
        separate(&output)
        output.append(UInt8(ascii: "\""))
        try output.appendRFC3339(instant)
        output.append(UInt8(ascii: "\""))
    }

    mutating func uid(_ number: UInt64, to output: inout OutputBuffer) throws(WireFormatError) {
        throw WireFormatError(.notRepresentable, "JSON cannot carry a keyed archiver's uid")
    }
}
