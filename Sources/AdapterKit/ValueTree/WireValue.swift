/// One value, independent of any wire format.
///
/// Every reader produces it and every writer takes it, so whatever can be said in one format has one meaning in all of
/// them. A writer that cannot carry a case reports an error; it never substitutes another value.
///
/// Equality is exact: `1` and `1.0` differ, `int64(1)` and `uint64(1)` are equal (see ``==(_:_:)``), `-0.0` and `0.0`
/// differ, a NaN equals a NaN of the same bits, and strings and keys compare by their bytes, not by canonical
/// equivalence.
public enum WireValue: Sendable {
    /// No value.
    case null
    /// True or false.
    case bool(Bool)
    /// An integer of 64 bits with a sign.
    case int64(Int64)
    /// Only for values above `Int64.max`; readers produce ``int64(_:)`` for everything that fits.
    case uint64(UInt64)
    /// An IEEE 754 double.
    case double(Double)
    /// A number that neither 64-bit integers nor doubles carry exactly. Indirect, because it is rare and would make
    /// every other value two thirds larger.
    indirect case decimal(WireDecimal)
    /// A text.
    case string(String)
    /// Bytes.
    case data([UInt8])
    /// An instant, in seconds since 2001-01-01T00:00:00Z (the property list epoch), with a double's full precision.
    case date(WireDate)
    /// A list.
    case array([WireValue])
    /// A dictionary whose members have an order.
    case dictionary(WireDictionary)
    /// A keyed archiver's reference, which only binary property lists have.
    case uid(UInt64)
}

extension WireValue: Equatable {
    public static func == (left: WireValue, right: WireValue) -> Bool {
        switch (left, right) {
        case (.null, .null): true
        case (.bool(let a), .bool(let b)): a == b
        case (.int64(let a), .int64(let b)): a == b
        case (.uint64(let a), .uint64(let b)): a == b
        case (.int64(let a), .uint64(let b)), (.uint64(let b), .int64(let a)): a >= 0 && UInt64(a) == b
        case (.double(let a), .double(let b)): a.bitPattern == b.bitPattern
        case (.decimal(let a), .decimal(let b)): a == b
        case (.string(let a), .string(let b)): a.hasSameBytes(as: b)
        case (.data(let a), .data(let b)): a == b
        case (.date(let a), .date(let b)): a == b
        case (.array(let a), .array(let b)): a == b
        case (.dictionary(let a), .dictionary(let b)): a == b
        case (.uid(let a), .uid(let b)): a == b
        default: false
        }
    }
}

extension String {
    /// Equality of the UTF-8 bytes. `==` would take `é` and `e` followed by U+0301 for the same text.
    @inlinable
    public func hasSameBytes(as other: String) -> Bool {
        let (left, right) = (utf8, other.utf8)
        guard left.count == right.count else { return false }
        // Without the copies that `withUTF8` needs; only a text bridged from elsewhere has no contiguous storage.
        let areEqual = left.withContiguousStorageIfAvailable { left in
            right.withContiguousStorageIfAvailable { right in
                Self.areEqual(UnsafeRawBufferPointer(left), UnsafeRawBufferPointer(right))
            }
        }
        return (areEqual ?? nil) ?? left.elementsEqual(right)
    }

    /// Compares texts of equal length; eight bytes at a time, the last eight once more where they are no multiple.
    @inlinable
    static func areEqual(_ left: UnsafeRawBufferPointer, _ right: UnsafeRawBufferPointer) -> Bool {
        guard left.count >= 8 else { return left.elementsEqual(right) }
        for offset in stride(from: 0, to: left.count - 8, by: 8) where !haveSameWord(left, right, at: offset) {
            return false
        }
        return haveSameWord(left, right, at: left.count - 8)
    }

    @inlinable
    static func haveSameWord(
        _ left: UnsafeRawBufferPointer, _ right: UnsafeRawBufferPointer, at offset: Int
    ) -> Bool {
        left.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
            == right.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
    }
}

extension WireValue {
    /// Whether it is null.
    public var isNull: Bool {
        if case .null = self { true } else { false }
    }

    public var stringValue: String? {
        if case .string(let text) = self { text } else { nil }
    }

    /// The Boolean; nil for another kind.
    public var boolValue: Bool? {
        if case .bool(let flag) = self { flag } else { nil }
    }

    /// The integer, where it fits; a double is never taken for one.
    public var int64Value: Int64? {
        switch self {
        case .int64(let number): number
        case .uint64(let number): Int64(exactly: number)
        default: nil
        }
    }

    /// The number as a double: a double as it is, an integer where a double carries it exactly.
    public var doubleValue: Double? {
        switch self {
        case .double(let number): number
        case .int64(let number): Double(exactly: number)
        case .uint64(let number): Double(exactly: number)
        default: nil
        }
    }

    /// Any finite number as a decimal; a double as the shortest decimal that reads back as it. Nil for another kind.
    public var decimalValue: WireDecimal? {
        switch self {
        case .decimal(let number): number
        case .int64(let number): WireDecimal(number)
        case .uint64(let number): WireDecimal(number)
        case .double(let number): number.isFinite ? WireDecimal(number.description) : nil
        default: nil
        }
    }

    /// The instant; nil for another kind.
    public var dateValue: WireDate? {
        if case .date(let instant) = self { instant } else { nil }
    }

    /// The bytes; nil for another kind.
    public var dataValue: [UInt8]? {
        if case .data(let bytes) = self { bytes } else { nil }
    }

    /// The elements; nil for another kind.
    public var arrayValue: [WireValue]? {
        if case .array(let items) = self { items } else { nil }
    }

    /// The members; nil for another kind.
    public var dictionaryValue: WireDictionary? {
        if case .dictionary(let members) = self { members } else { nil }
    }

    /// A member of a dictionary; nil for anything else.
    public subscript(key: String) -> WireValue? {
        dictionaryValue?[key]
    }
}

extension WireValue: ExpressibleByStringLiteral, ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral,
    ExpressibleByFloatLiteral, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
    /// The type of a key in a literal.
    public typealias Key = String
    /// The type of a value in a literal.
    public typealias Value = WireValue

    public init(stringLiteral value: String) { self = .string(value) }
    public init(booleanLiteral value: Bool) { self = .bool(value) }
    public init(integerLiteral value: Int64) { self = .int64(value) }
    public init(floatLiteral value: Double) { self = .double(value) }
    public init(arrayLiteral elements: WireValue...) { self = .array(elements) }

    /// Two equal keys are a programmer's error and trap.
    public init(dictionaryLiteral elements: (String, WireValue)...) {
        var members = WireDictionary()
        for (key, value) in elements {
            // Cannot trap: literals in source code.
            precondition(members.insert(value, forKey: key), "duplicate key in a dictionary literal")
        }
        self = .dictionary(members)
    }
}

// So that a Codable type may have a member of any shape. WireFormats' coders take these values as they are; this code
// runs under other coders, which have no place for most kinds: data and dates go as text there, the rest is an error.

extension WireValue: Codable {
    public init(from decoder: any Decoder) throws {
        if let members = try? decoder.container(keyedBy: MemberKey.self) {
            self = .dictionary(try Self.members(members))
        } else if var items = try? decoder.unkeyedContainer() {
            var values: [WireValue] = []
            while !items.isAtEnd { values.append(try items.decode(WireValue.self)) }
            self = .array(values)
        } else {
            self = try Self.scalar(decoder.singleValueContainer())
        }
    }

    private static func members(_ container: KeyedDecodingContainer<MemberKey>) throws -> WireDictionary {
        var members = WireDictionary()
        for key in container.allKeys { members[key.stringValue] = try container.decode(WireValue.self, forKey: key) }
        return members
    }

    private static func scalar(_ container: any SingleValueDecodingContainer) throws -> WireValue {
        if container.decodeNil() { return .null }
        if let flag = try? container.decode(Bool.self) { return .bool(flag) }
        if let number = try? container.decode(Int64.self) { return .int64(number) }
        if let number = try? container.decode(UInt64.self) { return .uint64(number) }
        if let number = try? container.decode(Double.self) { return .double(number) }
        return .string(try container.decode(String.self))
    }

    public func encode(to encoder: any Encoder) throws {
        switch self {
        case .array(let items):
            var container = encoder.unkeyedContainer()
            for item in items { try container.encode(item) }
        case .dictionary(let members):
            var container = encoder.container(keyedBy: MemberKey.self)
            for member in members { try container.encode(member.value, forKey: MemberKey(stringValue: member.key)) }
        default:
            var container = encoder.singleValueContainer()
            try encodeScalar(&container)
        }
    }

    private func encodeScalar(_ container: inout any SingleValueEncodingContainer) throws {
        switch self {
        case .null: try container.encodeNil()
        case .bool(let flag): try container.encode(flag)
        case .int64(let number): try container.encode(number)
        case .uint64(let number): try container.encode(number)
        case .double(let number): try container.encode(number)
        case .string(let text): try container.encode(text)
        case .data(let bytes): try container.encode(String(decoding: Base64.encode(bytes), as: UTF8.self))
        case .date(let instant) where instant.rfc3339 != nil: try container.encode(instant.rfc3339)
        case .date, .decimal, .uid, .array, .dictionary:
            throw EncodingError.invalidValue(
                self, .init(codingPath: container.codingPath, debugDescription: "this coder has no place for the value")
            )
        }
    }

    private struct MemberKey: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }

        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }
}
