import AdapterKit

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// How large a value may be that is read.
public struct CBORLimits: Sendable {
    /// Levels of arrays, maps and tags within each other.
    public var depth = 512
    /// Items in all.
    public var items = 4 << 20

    /// The standard limits.
    public init() {}
}

/// Reads one CBOR item (RFC 8949) as a value.
///
/// Whatever the bytes are, it returns a value or throws ``MessageError``: it reads nothing beyond them, and its depth and
/// the number of its items are limited. Keys are texts, none of them twice. Tags are 0 to 4; other tags, `undefined` and
/// other simple values are refused. Indefinite lengths are read.
public struct CBORDecoder {
    private let bytes: UnsafeBufferPointer<UInt8>
    private let limits: CBORLimits
    private var position = 0
    private var items = 0
    /// The keys of the last map at each depth. In rows they come again and again, and are then neither read nor compared with
    /// each other once more.
    private var lastKeys: [[Key]] = []
    /// As many as an entity has fields.
    private static let mostKeys = 1_000

    private struct Key {
        let text: String
        /// Where it stands, with its head.
        let start, count: Int
        /// The last of these bytes that are the text itself; nil where it came in chunks.
        let textCount: Int?
    }

    private init(_ bytes: UnsafeBufferPointer<UInt8>, _ limits: CBORLimits) {
        self.bytes = bytes
        self.limits = limits
    }

    /// The one item that the bytes are.
    public static func value(
        of bytes: UnsafeBufferPointer<UInt8>, limits: CBORLimits = CBORLimits()
    ) throws -> WireValue {
        try measuredValue(bytes, limits: limits).value
    }

    /// The one item that the bytes are.
    public static func value(of bytes: [UInt8], limits: CBORLimits = CBORLimits()) throws -> WireValue {
        try bytes.withUnsafeBufferPointer { try value(of: $0, limits: limits) }
    }

    /// What an item takes in memory beside its bytes, roughly: a value, its key, and its part of what holds it.
    private static let memoryOfItem = 48

    /// As ``value(of:limits:)``, with about the bytes that the value takes in memory. They may be many times those of the item: a
    /// `null` has one byte.
    static func measuredValue(
        _ bytes: UnsafeBufferPointer<UInt8>, limits: CBORLimits
    ) throws -> (value: WireValue, memory: Int) {
        var decoder = CBORDecoder(bytes, limits)
        let value = try decoder.item(depth: 0)
        guard decoder.position == bytes.count else { throw MessageError("something follows the CBOR item") }
        return (value, bytes.count + decoder.items * memoryOfItem)
    }

    /// Items that memory is taken for before they are read: each of many levels may claim to hold all that follows.
    private static let mostReserved = 1_024

    private struct Head {
        let major: UInt8
        let information: UInt8
        let argument: UInt64
        var isIndefinite: Bool { information == 31 }
    }

    private mutating func head() throws -> Head {
        guard position < bytes.count else { throw MessageError("the CBOR item ends too early") }
        let initial = bytes[position]
        position += 1
        let (major, information) = (initial >> 5, initial & 31)
        switch information {
        case 0..<24: return Head(major: major, information: information, argument: UInt64(information))
        case 24...27:
            let width = 1 << Int(information - 24)
            guard bytes.count - position >= width else { throw MessageError("the CBOR item ends too early") }
            var argument: UInt64 = 0
            for _ in 0..<width {
                argument = argument << 8 | UInt64(bytes[position])
                position += 1
            }
            return Head(major: major, information: information, argument: argument)
        case 31 where (2...5).contains(major): return Head(major: major, information: information, argument: 0)
        default: throw MessageError("a reserved or misplaced initial byte in a CBOR item")
        }
    }

    private mutating func item(depth: Int) throws -> WireValue {
        let head = try head()
        items += 1
        guard items <= limits.items else { throw MessageError("a CBOR item of more than \(limits.items) items") }
        switch head.major {
        case 0: return Int64(exactly: head.argument).map(WireValue.int64) ?? .uint64(head.argument)
        case 1: return try negative(head.argument)
        case 2: return .data(try data(head))
        case 3: return .string(try text(head))
        case 4, 5, 6:
            guard depth < limits.depth else { throw MessageError("a CBOR item of more than \(limits.depth) levels") }
            if head.major == 4 { return .array(try array(head, depth: depth + 1)) }
            return try head.major == 5 ? .dictionary(map(head, depth: depth + 1)) : taggedValue(head, depth: depth + 1)
        default: return try simple(head)
        }
    }

    private func negative(_ argument: UInt64) throws -> WireValue {
        if let number = Int64(exactly: argument) { return .int64(~number) }
        return try decimal("-" + DecimalMagnitude(digits: String(argument)).plusOne.digits)
    }

    private func simple(_ head: Head) throws -> WireValue {
        switch head.information {
        case 20: return .bool(false)
        case 21: return .bool(true)
        case 22: return .null
        case 25: return .double(Self.half(UInt16(truncatingIfNeeded: head.argument)))
        case 26: return .double(Double(Float(bitPattern: UInt32(truncatingIfNeeded: head.argument))))
        case 27: return .double(Double(bitPattern: head.argument))
        default: throw MessageError("a simple CBOR value that has no meaning here")
        }
    }

    /// IEEE 754 binary16 (RFC 8949, appendix D).
    private static func half(_ bits: UInt16) -> Double {
        let sign = UInt64(bits >> 15) << 63
        let (exponent, fraction) = (UInt64(bits >> 10 & 31), UInt64(bits & 0x3FF))
        switch exponent {
        case 0: return Double(bitPattern: (Double(fraction) * 0x1p-24).bitPattern | sign)
        case 31: return Double(bitPattern: sign | 0x7FF << 52 | fraction << 42)
        default: return Double(bitPattern: sign | (exponent + 1008) << 52 | fraction << 42)
        }
    }

    private mutating func chunk(_ head: Head) throws -> UnsafeBufferPointer<UInt8> {
        guard head.argument <= UInt64(bytes.count - position) else {
            throw MessageError("a CBOR string is longer than what holds it")
        }
        let count = Int(head.argument)
        defer { position += count }
        return UnsafeBufferPointer(rebasing: bytes[position..<position + count])
    }

    private mutating func atBreak() throws -> Bool {
        guard position < bytes.count else { throw MessageError("the CBOR item ends too early") }
        guard bytes[position] == 0xFF else { return false }
        position += 1
        return true
    }

    private mutating func data(_ first: Head) throws -> [UInt8] {
        guard first.isIndefinite else { return Array(try chunk(first)) }
        var whole: [UInt8] = []
        while try !atBreak() {
            let head = try head()
            guard head.major == first.major, !head.isIndefinite else {
                throw MessageError("a chunk of another kind than its CBOR string")
            }
            whole += try chunk(head)
        }
        return whole
    }

    private mutating func text(_ head: Head) throws -> String {
        guard head.major == 3 else { throw MessageError("a key that is no text") }
        if !head.isIndefinite {
            let bytes = try chunk(head)
            // `String(validating:)` looks up generic metadata each time.
            if Self.isASCII(bytes) { return String(decoding: bytes, as: UTF8.self) }
            guard let text = String(validating: bytes, as: UTF8.self) else {
                throw MessageError("a text that is not valid UTF-8")
            }
            return text
        }
        guard let text = String(validating: try data(head), as: UTF8.self) else {
            throw MessageError("a text that is not valid UTF-8")
        }
        return text
    }

    private mutating func array(_ head: Head, depth: Int) throws -> [WireValue] {
        var values: [WireValue] = []
        if head.isIndefinite {
            while try !atBreak() { values.append(try item(depth: depth)) }
            return values
        }
        // An item has at least one byte.
        guard head.argument <= UInt64(bytes.count - position) else {
            throw MessageError("a CBOR array is longer than what holds it")
        }
        values.reserveCapacity(min(Int(head.argument), Self.mostReserved))
        for _ in 0..<Int(head.argument) { values.append(try item(depth: depth)) }
        return values
    }

    private mutating func map(_ head: Head, depth: Int) throws -> WireDictionary {
        guard head.argument <= UInt64(bytes.count - position) / 2 || head.isIndefinite else {
            throw MessageError("a CBOR map is longer than what holds it")
        }
        let count = Int(head.argument)
        guard !head.isIndefinite, count <= Self.mostKeys else { return try longMap(head, depth: depth) }
        var entries: [WireDictionary.Entry] = []
        entries.reserveCapacity(count)
        while lastKeys.count <= depth { lastKeys.append([]) }
        // Taken out, so that it is not copied when it is changed.
        var keys: [Key] = []
        swap(&keys, &lastKeys[depth])
        defer { swap(&keys, &lastKeys[depth]) }
        var areKnown = keys.count == count
        if !areKnown {
            keys.removeAll(keepingCapacity: true)
            keys.reserveCapacity(count)
        }
        for index in 0..<count {
            if areKnown, take(keys[index]) {
                entries.append(.init(key: keys[index].text, value: try item(depth: depth)))
            } else {
                if areKnown { keys.removeSubrange(index...) }
                areKnown = false
                let start = position
                let head = try self.head()
                let text = try text(head)
                keys.append(
                    Key(
                        text: text, start: start, count: position - start,
                        textCount: head.isIndefinite ? nil : Int(head.argument)))
                entries.append(.init(key: text, value: try item(depth: depth)))
            }
        }
        if areKnown || areDistinct(keys) { return WireDictionary(uncheckedUniqueKeys: entries) }
        return try Self.dictionary(entries)
    }

    /// Whether no two keys are the same, of a few that are compared as they stand; false: it is not known.
    private func areDistinct(_ keys: [Key]) -> Bool {
        guard keys.count <= 16, let base = bytes.baseAddress else { return false }
        for later in keys.indices {
            guard let count = keys[later].textCount else { return false }
            let text = base + keys[later].start + keys[later].count - count
            for earlier in 0..<later where keys[earlier].textCount == count {
                if memcmp(base + keys[earlier].start + keys[earlier].count - count, text, count) == 0 { return false }
            }
        }
        return true
    }

    /// Whether the same bytes stand here; it is behind them then.
    private mutating func take(_ key: Key) -> Bool {
        guard key.count <= bytes.count - position, let base = bytes.baseAddress,
            memcmp(base + position, base + key.start, key.count) == 0
        else { return false }
        position += key.count
        return true
    }

    /// One of many members, or without their number.
    private mutating func longMap(_ head: Head, depth: Int) throws -> WireDictionary {
        var entries: [WireDictionary.Entry] = []
        entries.reserveCapacity(min(Int(head.argument), Self.mostReserved))
        while head.isIndefinite ? try !atBreak() : entries.count < head.argument {
            let key = try text(try self.head())
            entries.append(.init(key: key, value: try item(depth: depth)))
        }
        return try Self.dictionary(entries)
    }

    private static func isASCII(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        var all: UInt8 = 0
        for byte in bytes { all |= byte }
        return all < 0x80
    }

    private static func dictionary(_ entries: [WireDictionary.Entry]) throws -> WireDictionary {
        guard let members = WireDictionary(uniqueKeys: entries) else {
            throw MessageError("a CBOR map has a key twice")
        }
        return members
    }

    private mutating func taggedValue(_ tag: Head, depth: Int) throws -> WireValue {
        let content = try item(depth: depth)
        switch (tag.argument, content) {
        case (MessageTag.dateText, .string(let text)):
            guard let date = WireDate(rfc3339: text) else { throw MessageError("a date that is not RFC 3339") }
            return .date(date)
        case (MessageTag.dateNumber, .int64(let seconds)):
            return .date(WireDate(secondsSince1970: Int(seconds), nanoseconds: 0))
        case (MessageTag.dateNumber, .double(let seconds)) where seconds.isFinite:
            return .date(WireDate(secondsSince1970: seconds))
        case (MessageTag.integer, .data(let data)): return try integer(data, isNegative: false)
        case (MessageTag.negativeInteger, .data(let data)): return try integer(data, isNegative: true)
        case (MessageTag.decimal, .array(let parts)) where parts.count == 2:
            guard let exponent = parts[0].int64Value, exponent.magnitude <= UInt64(WireDecimal.maximumExponent),
                let mantissa = Self.digits(parts[1])
            else { throw MessageError("a decimal without an exponent and a mantissa") }
            return try decimal("\(mantissa)e\(exponent)")
        default: throw MessageError("a CBOR tag that has no meaning here")
        }
    }

    private static func digits(_ value: WireValue) -> String? {
        switch value {
        case .int64(let number): String(number)
        case .uint64(let number): String(number)
        case .decimal(let number) where number.exponent == 0: (number.isNegative ? "-" : "") + number.digits
        default: nil
        }
    }

    /// An integer that was written as a large one although it fits is the integer.
    private func integer(_ data: [UInt8], isNegative: Bool) throws -> WireValue {
        guard data.count <= DecimalMagnitude.maximumBytes else { throw MessageError("a number of too many digits") }
        let magnitude = DecimalMagnitude(bigEndian: data)
        let text = isNegative ? "-" + magnitude.plusOne.digits : magnitude.digits
        if let number = Int64(text) { return .int64(number) }
        if let number = UInt64(text) { return .uint64(number) }
        return try decimal(text)
    }

    private func decimal(_ text: String) throws -> WireValue {
        guard let number = WireDecimal(text) else { throw MessageError("a number of too many digits") }
        return .decimal(number)
    }
}
