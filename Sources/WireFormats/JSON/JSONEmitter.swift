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
    /// Creates a jSONFormat.
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

/// The escapes of JSON strings (RFC 8259, section 7), and decimals as JSON numbers.
enum JSONText {
    /// A decimal in a form that our own reader takes back: a large integer in full digits (an exponent would make it a
    /// real, and one beyond the doubles at that). Nil where there is none.
    static func number(_ number: WireDecimal) -> String? {
        guard number.exponent > 0, number.digits != "0" else {
            let text = number.description
            guard let double = Double(text), double.isFinite, double != 0 || number.isZero else {
                return number.exponent == 0 ? text : nil
            }
            return text
        }
        guard number.digits.utf8.count + number.exponent <= WireDecimal.maximumDigits else { return nil }
        return (number.isNegative ? "-" : "") + number.digits + String(repeating: "0", count: number.exponent)
    }

    /// The UTF-8 of an escaped string that a reader has validated.
    static func unescaped(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
        var text: [UInt8] = []
        text.reserveCapacity(bytes.count)
        var rest = bytes
        while let escape = rest.firstIndex(of: UInt8(ascii: "\\")) {
            text.append(contentsOf: rest[..<escape])
            rest = rest[(escape + 1)...]
            appendEscape(&rest, to: &text)
        }
        text.append(contentsOf: rest)
        return text
    }

    private static func appendEscape(_ rest: inout ArraySlice<UInt8>, to text: inout [UInt8]) {
        switch rest.removeFirst() {
        case UInt8(ascii: "b"): text.append(0x08)
        case UInt8(ascii: "f"): text.append(0x0C)
        case UInt8(ascii: "n"): text.append(0x0A)
        case UInt8(ascii: "r"): text.append(0x0D)
        case UInt8(ascii: "t"): text.append(0x09)
        case UInt8(ascii: "u"): text.append(contentsOf: UTF8.encode(takeScalar(&rest))!)
        case let literal: text.append(literal)
        }
    }

    /// The scalar of `XXXX` or of `XXXX\uXXXX`, a pair of surrogates.
    private static func takeScalar(_ rest: inout ArraySlice<UInt8>) -> Unicode.Scalar {
        let unit = takeUnit(&rest)
        guard UTF16.isLeadSurrogate(unit) else { return Unicode.Scalar(unit)! }
        rest = rest.dropFirst(2)
        let low = UInt32(takeUnit(&rest) & 0x3FF)
        return Unicode.Scalar(0x10000 + (UInt32(unit & 0x3FF) << 10 | low))!
    }

    private static func takeUnit(_ rest: inout ArraySlice<UInt8>) -> UInt16 {
        defer { rest = rest.dropFirst(4) }
        return rest.prefix(4).reduce(0) { $0 << 4 | UInt16(hexDigit($1)!) }
    }

    static func hexDigit(_ byte: UInt8) -> UInt8? {
        switch byte {
        case 0x30...0x39: byte - 0x30
        case 0x41...0x46: byte - 0x41 + 10
        case 0x61...0x66: byte - 0x61 + 10
        default: nil
        }
    }
}
