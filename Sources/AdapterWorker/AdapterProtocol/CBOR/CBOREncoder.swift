import AdapterKit

/// Writes values as CBOR (RFC 8949), with definite lengths and in the order of their members.
///
/// A date is tag 1 where it is whole seconds, otherwise tag 0 where RFC 3339 has its year, otherwise tag 1 with a double.
/// A number that is no 64-bit integer and no double is tag 4.
public struct CBOREncoder {
    /// What was written so far.
    public private(set) var bytes: [UInt8]

    /// Begins with `bytes`, such as the room for a frame's length.
    public init(_ bytes: [UInt8] = []) {
        self.bytes = bytes
    }

    /// Appends one value. Throws ``MessageError`` for a value that has no place in CBOR: a keyed archiver's reference, and a
    /// date that no number of seconds since 1970 is equal to.
    public mutating func append(_ value: WireValue) throws {
        switch value {
        case .null: bytes.append(0xF6)
        case .bool(let flag): bytes.append(flag ? 0xF5 : 0xF4)
        case .int64(let number): append(number)
        case .uint64(let number): head(0, number)
        case .double(let number): append(number)
        case .decimal(let number): append(number)
        case .string(let text): append(text)
        case .data(let data):
            head(2, UInt64(data.count))
            bytes += data
        case .date(let date): try append(date)
        case .array(let items):
            head(4, UInt64(items.count))
            for item in items { try append(item) }
        case .dictionary(let members): try append(members)
        case .uid: throw MessageError("a keyed archiver's reference cannot cross")
        }
    }

    /// Appends a map.
    public mutating func append(_ members: WireDictionary) throws {
        head(5, UInt64(members.count))
        for member in members.entries {
            append(member.key)
            try append(member.value)
        }
    }

    /// Gives the bytes at the beginning another content.
    mutating func replaceStart(with start: [UInt8]) {
        for (index, byte) in start.enumerated() where index < bytes.count { bytes[index] = byte }
    }

    private mutating func append(_ number: Int64) {
        if number < 0 { head(1, UInt64(bitPattern: ~number)) } else { head(0, UInt64(number)) }
    }

    private mutating func append(_ number: Double) {
        bytes.append(0xFB)
        appendBigEndian(number.bitPattern, width: 8)
    }

    private mutating func append(_ text: String) {
        head(3, UInt64(text.utf8.count))
        bytes.append(contentsOf: text.utf8)
    }

    private mutating func append(_ date: WireDate) throws {
        let seconds = date.secondsSinceReferenceDate
        if let whole = Int64(exactly: seconds), whole.magnitude < 1 << 53 {
            head(6, CBORTag.dateNumber)
            append(whole + Int64(WireDate.unixEpochOffset))
        } else if let text = date.rfc3339, WireDate(rfc3339: text) == date {
            head(6, CBORTag.dateText)
            append(text)
        } else if WireDate(secondsSince1970: date.secondsSince1970) == date {
            head(6, CBORTag.dateNumber)
            append(date.secondsSince1970)
        } else {
            throw MessageError("a date that no number of seconds since 1970 is equal to cannot cross")
        }
    }

    private mutating func append(_ number: WireDecimal) {
        head(6, CBORTag.decimal)
        head(4, 2)
        append(Int64(number.exponent))
        let magnitude = DecimalMagnitude(digits: number.digits)
        let isNegative = number.isNegative && !number.isZero
        let data = (isNegative ? magnitude.minusOne : magnitude).bigEndian
        if data.count <= 8 {
            head(isNegative ? 1 : 0, data.reduce(0) { $0 << 8 | UInt64($1) })
        } else {
            head(6, isNegative ? CBORTag.negativeInteger : CBORTag.integer)
            head(2, UInt64(data.count))
            bytes += data
        }
    }

    private mutating func head(_ major: UInt8, _ argument: UInt64) {
        let type = major << 5
        switch argument {
        case 0..<24: bytes.append(type | UInt8(truncatingIfNeeded: argument))
        case 24...0xFF:
            bytes.append(type | 24)
            bytes.append(UInt8(truncatingIfNeeded: argument))
        case 0x100...0xFFFF:
            bytes.append(type | 25)
            appendBigEndian(argument, width: 2)
        case 0x1_0000...0xFFFF_FFFF:
            bytes.append(type | 26)
            appendBigEndian(argument, width: 4)
        default:
            bytes.append(type | 27)
            appendBigEndian(argument, width: 8)
        }
    }

    private mutating func appendBigEndian(_ number: UInt64, width: Int) {
        withUnsafeBytes(of: number.bigEndian) { bytes.append(contentsOf: $0.suffix(width)) }
    }
}

/// The tags that values cross with.
enum CBORTag {
    static let dateText: UInt64 = 0
    static let dateNumber: UInt64 = 1
    static let integer: UInt64 = 2
    static let negativeInteger: UInt64 = 3
    static let decimal: UInt64 = 4
}

/// A natural number between base 10 and base 256. The work is quadratic, so its size is limited where it is read.
struct DecimalMagnitude {
    /// Enough for ``WireDecimal/maximumDigits``.
    static let maximumBytes = 1701

    private static let base: UInt64 = 1_000_000_000
    /// In ``base``, the least significant first.
    private var limbs: [UInt32] = []

    init(digits: String) {
        for digit in digits.utf8 { multiply(by: 10, adding: UInt64(digit &- 0x30)) }
    }

    init(bigEndian bytes: some Sequence<UInt8>) {
        for byte in bytes { multiply(by: 256, adding: UInt64(byte)) }
    }

    private mutating func multiply(by factor: UInt64, adding addend: UInt64) {
        var carry = addend
        for index in limbs.indices {
            // Below 2^32 * 256 + 2^32.
            let product = UInt64(limbs[index]) * factor + carry
            limbs[index] = UInt32(product % Self.base)
            carry = product / Self.base
        }
        if carry > 0 { limbs.append(UInt32(carry)) }
    }

    var plusOne: DecimalMagnitude {
        var sum = self
        sum.multiply(by: 1, adding: 1)
        return sum
    }

    /// The number before; zero for zero.
    var minusOne: DecimalMagnitude {
        var result = self
        for index in result.limbs.indices {
            guard result.limbs[index] == 0 else {
                result.limbs[index] -= 1
                return result
            }
            result.limbs[index] = UInt32(Self.base - 1)
        }
        return self
    }

    var digits: String {
        var text = ""
        for limb in limbs.reversed() {
            let part = String(limb)
            text += text.isEmpty ? (limb == 0 ? "" : part) : String(repeating: "0", count: 9 - part.utf8.count) + part
        }
        return text.isEmpty ? "0" : text
    }

    /// Without leading zeros.
    var bigEndian: [UInt8] {
        var (bytes, rest) = ([UInt8](), limbs)
        while !rest.isEmpty {
            var remainder: UInt64 = 0
            for index in rest.indices.reversed() {
                let value = remainder * Self.base + UInt64(rest[index])
                rest[index] = UInt32(value / 256)
                remainder = value % 256
            }
            bytes.append(UInt8(truncatingIfNeeded: remainder))
            while rest.last == 0 { rest.removeLast() }
        }
        while bytes.last == 0 { bytes.removeLast() }
        return bytes.reversed()
    }
}
