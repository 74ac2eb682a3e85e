import ValueTree

/// Writes CBOR in its preferred serialization.
struct CBOREmitter: ValueEmitter {
    static let carriesNull = true
    /// For each open container whether its length is indefinite.
    private var open: [Bool] = []

    init(options: WritingOptions) {}

    mutating func begin(_ container: ContainerKind, count: Int?, to output: inout OutputBuffer) {
        let major: UInt8 = container == .array ? 4 : 5
        if let count { output.appendHead(major, UInt64(count)) } else { output.append(major << 5 | 31) }
        open.append(count == nil)
    }

    mutating func end(_ container: ContainerKind, to output: inout OutputBuffer) {
        if open.removeLast() { output.append(0xFF) }
    }

    mutating func key(_ text: UnsafeBufferPointer<UInt8>, to output: inout OutputBuffer) {
        string(text, to: &output)
    }

    mutating func null(to output: inout OutputBuffer) { output.append(0xF6) }
    mutating func bool(_ flag: Bool, to output: inout OutputBuffer) { output.append(flag ? 0xF5 : 0xF4) }

    mutating func int64(_ number: Int64, to output: inout OutputBuffer) {
        if number < 0 { output.appendHead(1, UInt64(-1 - number)) } else { output.appendHead(0, UInt64(number)) }
    }

    mutating func uint64(_ number: UInt64, to output: inout OutputBuffer) { output.appendHead(0, number) }
    mutating func double(_ number: Double, to output: inout OutputBuffer) { output.appendShortestFloat(number) }

    mutating func decimal(_ number: WireDecimal, to output: inout OutputBuffer) {
        if number.exponent != 0 {
            output.appendHead(6, CBORTag.decimal)
            output.appendHead(4, 2)
            int64(Int64(number.exponent), to: &output)
        }
        output.appendInteger(LargeInteger(digits: number.digits), isNegative: number.isNegative && !number.isZero)
    }

    mutating func string(_ text: UnsafeBufferPointer<UInt8>, to output: inout OutputBuffer) {
        output.appendHead(3, UInt64(text.count))
        output.append(text)
    }

    mutating func data(_ bytes: UnsafeBufferPointer<UInt8>, to output: inout OutputBuffer) {
        output.appendHead(2, UInt64(bytes.count))
        output.append(bytes)
    }

    mutating func date(_ instant: WireDate, to output: inout OutputBuffer) throws(WireFormatError) {
        let seconds = instant.secondsSinceReferenceDate
        if let whole = Int64(exactly: seconds), whole.magnitude < 1 << 53 {
            output.appendHead(6, CBORTag.dateNumber)
            int64(whole + Int64(WireDate.unixEpochOffset), to: &output)
        } else if let text = instant.rfc3339 {
            output.appendHead(6, CBORTag.dateText)
            output.appendHead(3, UInt64(text.utf8.count))
            output.append(utf8: text)
        } else if seconds.isFinite, WireDate(secondsSince1970: instant.secondsSince1970) == instant {
            output.appendHead(6, CBORTag.dateNumber)
            output.appendShortestFloat(instant.secondsSince1970)
        } else {
            throw WireFormatError(.notRepresentable, "CBOR cannot carry this date exactly")
        }
    }

    mutating func uid(_ number: UInt64, to output: inout OutputBuffer) throws(WireFormatError) {
        throw WireFormatError(.notRepresentable, "CBOR cannot carry a keyed archiver's uid")
    }
}

extension OutputBuffer {
    /// An initial byte with the shortest argument.
    mutating func appendHead(_ major: UInt8, _ argument: UInt64) {
        guard argument >= 24 else { return append(major << 5 | UInt8(argument)) }
        let width = ByteWidth.ofInteger(argument)
        appendMarked(major << 5 | UInt8(24 + width.trailingZeroBitCount), argument, width: width)
    }

    fileprivate mutating func appendShortestFloat(_ number: Double) {
        if let half = HalfFloat.bits(number) { return appendMarked(0xF9, UInt64(half), width: 2) }
        let single = Float(number)
        guard Double(single).bitPattern == number.bitPattern else {
            return appendMarked(0xFB, number.bitPattern, width: 8)
        }
        appendMarked(0xFA, UInt64(single.bitPattern), width: 4)
    }

    fileprivate mutating func appendInteger(_ magnitude: LargeInteger, isNegative: Bool) {
        let bytes = (isNegative ? magnitude.predecessor : magnitude).bigEndian
        guard bytes.count > 8 else {
            return appendHead(isNegative ? 1 : 0, bytes.reduce(0) { $0 << 8 | UInt64($1) })
        }
        appendHead(6, isNegative ? CBORTag.negativeInteger : CBORTag.integer)
        appendHead(2, UInt64(bytes.count))
        append(bytes)
    }
}
