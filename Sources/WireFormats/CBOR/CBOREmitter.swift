import ValueTree

// The initial byte of an item is major type (3 bits) and information (5 bits): below 24 the argument itself, 24 to 27
// an argument of 1, 2, 4 or 8 bytes behind it, 31 an indefinite length (RFC 8949, section 3).
//
//     0 integer · 1 negative integer (-1 - argument) · 2 bytes · 3 UTF-8 text · 4 array · 5 map
//     6 tag: 0 RFC 3339 text, 1 seconds since 1970, 2 and 3 large integers, 4 decimal fraction, 55799 "this is CBOR"
//     7 simple: 20 false, 21 true, 22 null, 25 to 27 floats of 2, 4 and 8 bytes

/// CBOR (RFC 8949).
///
/// Read is every well-formed document whose keys are text and whose tags are those above; other tags, `undefined` and
/// other simple values have no place in the tree and are refused. Written is the preferred serialization (shortest
/// arguments and floats, definite lengths), in the order of the members: the deterministic encoding would sort the keys,
/// and order means something here (docs/decisions/0011). A stream alone writes indefinite lengths.
///
/// A date is tag 1 where it is whole seconds, otherwise tag 0, which is exact; outside of the years that RFC 3339 has,
/// tag 1 with a double that must be exact. A keyed archiver's uid is an error.
public struct CBORFormat: WireFormat {
    /// Creates the format; it has no state.
    public init() {}

    public let name = FormatName.cbor
    public let mediaTypesRead = [MediaType.cbor]
    public let structuredSuffix: String? = "cbor"
    public let mediaTypeWritten = MediaType.cbor
    public let traits = FormatTraits(
        null: true, decimal: .exact, nonFinite: true, data: true, date: .exact, uid: false, allScalars: true)

    public func readTape(_ input: [UInt8], limits: ReadingLimits) throws(WireFormatError) -> Tape {
        var reader = CBORReader(input, limits: limits)
        try reader.readDocument(input.span)
        return reader.finish()
    }

    public func write(
        _ value: WireValue, options: WritingOptions, to output: inout OutputBuffer
    ) throws(WireFormatError) {
        try CBOREmitter.write(value, options: options, to: &output)
    }

    public func write(_ tape: Tape, options: WritingOptions, to output: inout OutputBuffer) throws(WireFormatError) {
        try CBOREmitter.write(tape, options: options, to: &output)
    }

    /// One value of a tape, whatever the format that it was read from, as a document of its own.
    public func write(_ tape: Tape, valueAt position: Int) throws(WireFormatError) -> [UInt8] {
        var output = OutputBuffer()
        var emitter = CBOREmitter(options: WritingOptions())
        try emitter.write(
            tape, position..<tape.position(after: position), depth: 0, options: WritingOptions(), to: &output)
        return output.take()
    }

    public func makeStreamWriter(options: WritingOptions) -> any StreamWriter {
        EmitterStreamWriter<CBOREmitter>(options: options)
    }
}

enum CBORTag {
    static let dateText: UInt64 = 0
    static let dateNumber: UInt64 = 1
    static let integer: UInt64 = 2
    static let negativeInteger: UInt64 = 3
    static let decimal: UInt64 = 4
    static let selfDescribed: UInt64 = 55_799
}

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
        guard instant.isFinite else {
            throw WireFormatError(.notRepresentable, "CBOR cannot carry a date that is not finite")
        }
        if instant.fraction.isEmpty {
            output.appendHead(6, CBORTag.dateNumber)
            int64(Int64(instant.wholeSecondsSinceReferenceDate) + Int64(WireDate.unixEpochOffset), to: &output)
        } else if let text = instant.rfc3339 {
            output.appendHead(6, CBORTag.dateText)
            output.appendHead(3, UInt64(text.utf8.count))
            output.append(utf8: text)
        } else if WireDate(secondsSince1970: instant.secondsSince1970) == instant {
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

/// A natural number of any length, for the change between base 256 and base 10. Quadratic, so its size is limited.
struct LargeInteger {
    /// Enough for ``WireDecimal/maximumDigits``.
    static let maximumBytes = 1701

    /// In base 10^9, the least significant first.
    private var limbs: [UInt32] = []
    private static let base: UInt64 = 1_000_000_000

    init(bigEndian bytes: some Sequence<UInt8>) {
        for byte in bytes { multiply(by: 256, adding: UInt64(byte)) }
    }

    /// From ASCII digits.
    init(digits: String) {
        for digit in digits.utf8 { multiply(by: 10, adding: UInt64(digit - 0x30)) }
    }

    private mutating func multiply(by factor: UInt64, adding addend: UInt64) {
        var carry = addend
        for index in limbs.indices {
            let product = UInt64(limbs[index]) * factor + carry
            limbs[index] = UInt32(product % Self.base)
            carry = product / Self.base
        }
        if carry > 0 { limbs.append(UInt32(carry)) }
    }

    func adding(_ number: UInt64) -> LargeInteger {
        var sum = self
        sum.multiply(by: 1, adding: number)
        return sum
    }

    /// The number minus one; it must not be zero.
    var predecessor: LargeInteger {
        var result = self
        var index = 0
        while result.limbs[index] == 0 {
            result.limbs[index] = UInt32(Self.base - 1)
            index += 1
        }
        result.limbs[index] -= 1
        return result
    }

    var digits: String {
        guard let last = limbs.last(where: { $0 != 0 }) else { return "0" }
        let significant = limbs[...limbs.lastIndex { $0 != 0 }!].dropLast()
        return significant.reversed().reduce(String(last)) { text, limb in
            let part = String(limb)
            return text + String(repeating: "0", count: 9 - part.utf8.count) + part
        }
    }

    /// Without leading zeros.
    var bigEndian: [UInt8] {
        var (bytes, rest) = ([UInt8](), limbs)
        while let last = rest.last {
            guard last != 0 else {
                rest.removeLast()
                continue
            }
            var remainder: UInt64 = 0
            for index in rest.indices.reversed() {
                let value = remainder * Self.base + UInt64(rest[index])
                rest[index] = UInt32(value / 256)
                remainder = value % 256
            }
            bytes.append(UInt8(remainder))
        }
        return bytes.reversed()
    }
}

/// IEEE 754 binary16 (RFC 8949, appendix D). Swift's `Float16` does not exist on every platform we build for.
enum HalfFloat {
    static func double(_ bits: UInt16) -> Double {
        let sign = UInt64(bits >> 15) << 63
        let (exponent, fraction) = (Int(bits >> 10 & 31), UInt64(bits & 0x3FF))
        switch exponent {
        case 0:
            let magnitude = Double(fraction) * 0x1p-24
            return Double(bitPattern: magnitude.bitPattern | sign)
        case 31: return Double(bitPattern: sign | 0x7FF << 52 | fraction << 42)
        default: return Double(bitPattern: sign | UInt64(exponent - 15 + 1023) << 52 | fraction << 42)
        }
    }

    /// Nil where the number is not exactly a half.
    static func bits(_ number: Double) -> UInt16? {
        let pattern = number.bitPattern
        let sign = UInt16(pattern >> 63) << 15
        let exponent = Int(pattern >> 52 & 0x7FF)
        let candidate: UInt16
        switch exponent {
        case 0x7FF: candidate = sign | 0x7C00 | UInt16(pattern >> 42 & 0x3FF)
        case 1009...1038: candidate = sign | UInt16(exponent - 1023 + 15) << 10 | UInt16(pattern >> 42 & 0x3FF)
        case 999..<1009: candidate = sign | UInt16(number.magnitude * 0x1p24)
        case 0: candidate = sign
        default: return nil
        }
        return double(candidate).bitPattern == pattern ? candidate : nil
    }
}
