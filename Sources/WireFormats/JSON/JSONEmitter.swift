import ValueTree

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
