import AdapterKit

/// Writes values as CBOR (RFC 8949), with definite lengths and in the order of their members.
///
/// A date is tag 1 where it is whole seconds, otherwise tag 0 where RFC 3339 has its year, otherwise tag 1 with a double.
/// A number that is no 64-bit integer and no double is tag 4.
public struct CBOREncoder: ~Copyable {
    private var start: UnsafeMutablePointer<UInt8>
    private var count = 0
    private var capacity = 256

    /// Creates an encoder that has written nothing.
    public init() { start = .allocate(capacity: capacity) }

    deinit { start.deallocate() }

    /// What was written so far.
    public var bytes: [UInt8] { withBytes { Array($0) } }

    /// What was written so far, without a copy of it.
    func withBytes<Result: ~Copyable>(_ body: (UnsafeBufferPointer<UInt8>) throws -> Result) rethrows -> Result {
        try body(UnsafeBufferPointer(start: start, count: count))
    }

    /// Begins anew, with the memory that there is unless it is more than `kept` bytes.
    mutating func removeAll(keeping kept: Int) {
        count = 0
        guard capacity > kept else { return }
        start.deallocate()
        capacity = 256
        start = .allocate(capacity: capacity)
    }

    /// Appends one frame, whose content `body` appends.
    mutating func appendFrame(_ body: (inout Self) throws -> Void) rethrows {
        reserve(4)
        let place = count
        count += 4
        try body(&self)
        let length = UInt32(truncatingIfNeeded: count - place - 4)
        UnsafeMutableRawPointer(start + place).storeBytes(of: length.bigEndian, as: UInt32.self)
    }

    /// Appends a frame with a piece of a stream (docs/protocol/adapter.md), without a copy of it.
    mutating func appendPiece(_ bytes: ArraySlice<UInt8>, ofStream number: Int) {
        appendFrame { frame in
            frame.append(mapOf: 2)
            frame.append("stream")
            frame.append(Int64(number))
            frame.append("data")
            frame.head(2, UInt64(bytes.count))
            bytes.withUnsafeBufferPointer { frame.append($0) }
        }
    }

    /// Appends the beginning of a map: so many keys and values follow.
    mutating func append(mapOf count: Int) { head(5, UInt64(count)) }

    /// Appends one value. Throws ``MessageError`` for a value that has no place in CBOR: a keyed archiver's reference, and a
    /// date that no number of seconds since 1970 is equal to.
    public mutating func append(_ value: borrowing WireValue) throws {
        switch value {
        case .null: append(byte: 0xF6)
        case .bool(let flag): append(byte: flag ? 0xF5 : 0xF4)
        case .int64(let number): append(number)
        case .uint64(let number): head(0, number)
        case .double(let number): append(number)
        case .decimal(let number): append(number)
        case .string(let text): append(text)
        case .data(let data):
            head(2, UInt64(data.count))
            append(data)
        case .date(let date): try append(date)
        case .array(let items):
            head(4, UInt64(items.count))
            // Without an iterator, which would retain and release each value.
            try items.withUnsafeBufferPointer { items in
                for index in items.indices { try append(items[index]) }
            }
        case .dictionary(let members): try append(members)
        case .uid: throw MessageError("a keyed archiver's reference cannot cross")
        }
    }

    /// Appends a map.
    public mutating func append(_ members: borrowing WireDictionary) throws {
        head(5, UInt64(members.count))
        try members.entries.withUnsafeBufferPointer { entries in
            for index in entries.indices {
                append(entries[index].key)
                // By the property: the pattern would retain and release each text, which most values are.
                if let text = entries[index].value.stringValue {
                    append(text)
                } else {
                    try append(entries[index].value)
                }
            }
        }
    }

    mutating func append(_ number: Int64) {
        if number < 0 { head(1, UInt64(bitPattern: ~number)) } else { head(0, UInt64(number)) }
    }

    private mutating func append(_ number: Double) {
        reserve(9)
        start[count] = 0xFB
        count += 1
        store(number.bitPattern.bigEndian)
    }

    @inline(__always)
    mutating func append(_ text: String) {
        if text.utf8.withContiguousStorageIfAvailable({ append(utf8: $0) }) == nil {
            Array(text.utf8).withUnsafeBufferPointer { append(utf8: $0) }
        }
    }

    private mutating func append(utf8 bytes: UnsafeBufferPointer<UInt8>) {
        head(3, UInt64(bytes.count))
        append(bytes)
    }

    private mutating func append(_ date: WireDate) throws {
        guard date.isFinite else { throw MessageError("a date that is not finite cannot cross") }
        if date.fraction.isEmpty {
            head(6, MessageTag.dateNumber)
            append(Int64(date.wholeSecondsSinceReferenceDate) + Int64(WireDate.unixEpochOffset))
        } else if let text = date.rfc3339 {
            head(6, MessageTag.dateText)
            append(text)
        } else if WireDate(secondsSince1970: date.secondsSince1970) == date {
            head(6, MessageTag.dateNumber)
            append(date.secondsSince1970)
        } else {
            throw MessageError("a date that no number of seconds since 1970 is equal to cannot cross")
        }
    }

    private mutating func append(_ number: WireDecimal) {
        head(6, MessageTag.decimal)
        head(4, 2)
        append(Int64(number.exponent))
        let magnitude = DecimalMagnitude(digits: number.digits)
        let isNegative = number.isNegative && !number.isZero
        let data = (isNegative ? magnitude.minusOne : magnitude).bigEndian
        if data.count <= 8 {
            head(isNegative ? 1 : 0, data.reduce(0) { $0 << 8 | UInt64($1) })
        } else {
            head(6, isNegative ? MessageTag.negativeInteger : MessageTag.integer)
            head(2, UInt64(data.count))
            append(data)
        }
    }

    @inline(__always)
    private mutating func head(_ major: UInt8, _ argument: UInt64) {
        guard argument >= 24 else { return append(byte: major << 5 | UInt8(truncatingIfNeeded: argument)) }
        longHead(major << 5, argument)
    }

    private mutating func longHead(_ type: UInt8, _ argument: UInt64) {
        reserve(9)
        let place = count
        count += 1
        switch argument {
        case ...0xFF:
            start[place] = type | 24
            store(UInt8(truncatingIfNeeded: argument))
        case ...0xFFFF:
            start[place] = type | 25
            store(UInt16(truncatingIfNeeded: argument).bigEndian)
        case ...0xFFFF_FFFF:
            start[place] = type | 26
            store(UInt32(truncatingIfNeeded: argument).bigEndian)
        default:
            start[place] = type | 27
            store(argument.bigEndian)
        }
    }

    /// The room is there already.
    @inline(__always)
    private mutating func store<Number: FixedWidthInteger>(_ number: Number) {
        UnsafeMutableRawPointer(start + count).storeBytes(of: number, as: Number.self)
        count += MemoryLayout<Number>.size
    }

    @inline(__always)
    private mutating func append(byte: UInt8) {
        reserve(1)
        start[count] = byte
        count += 1
    }

    mutating func append(_ bytes: [UInt8]) { bytes.withUnsafeBufferPointer { append($0) } }

    @inline(__always)
    private mutating func append(_ bytes: UnsafeBufferPointer<UInt8>) {
        reserve(bytes.count)
        guard let base = bytes.baseAddress else { return }
        (start + count).update(from: base, count: bytes.count)
        count += bytes.count
    }

    /// Makes room for so many bytes more.
    @inline(__always)
    private mutating func reserve(_ more: Int) {
        if more > capacity - count { grow(by: more) }
    }

    private mutating func grow(by more: Int) {
        capacity = max(2 * capacity, count + more)
        let larger = UnsafeMutablePointer<UInt8>.allocate(capacity: capacity)
        larger.update(from: start, count: count)
        start.deallocate()
        start = larger
    }
}

/// It alone refers to its memory.
extension CBOREncoder: @unchecked Sendable {}

/// The tags that values cross with.
enum MessageTag {
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
