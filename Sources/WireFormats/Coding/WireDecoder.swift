import ValueTree

/// Decodes Swift values from the value tree, and so from any format.
///
/// `Date` comes from a date or RFC 3339 text, `Data` from data or strict base64, `Decimal` from any number whose digits
/// fit. Numbers are exact: a double is not taken for an integer, nor an integer for a double that would round it.
/// Throws `DecodingError` with the path to what is wrong, and ``WireFormatError`` where the bytes are.
public struct WireDecoder {
    public var userInfo: [CodingUserInfoKey: any Sendable] = [:]

    /// Creates a wire decoder.
    public init() {}

    /// Makes a value of `type` from a value tree. Throws `DecodingError`.
    public func decode<Value: Decodable>(_ type: Value.Type, from value: WireValue) throws -> Value {
        try ValueDecoder(value: value, codingPath: [], userInfo: userInfo).take(type)
    }

    /// Makes a value of `type` from a document in `format`. Throws `DecodingError` and ``WireFormatError``.
    public func decode<Value: Decodable>(
        _ type: Value.Type, from bytes: [UInt8], in format: any WireFormat, limits: ReadingLimits = ReadingLimits()
    ) throws -> Value {
        try decode(type, from: format.read(bytes, limits: limits))
    }
}

/// The `Decoder` of one value, and its single-value container.
struct ValueDecoder: Decoder, SingleValueDecodingContainer {
    let value: WireValue
    let codingPath: [any CodingKey]
    let userInfo: [CodingUserInfoKey: Any]

    func inside(_ value: WireValue, _ key: any CodingKey) -> ValueDecoder {
        ValueDecoder(value: value, codingPath: codingPath + [key], userInfo: userInfo)
    }

    func take<Value: Decodable>(_ type: Value.Type) throws -> Value {
        guard let scalar = type as? any WireScalar.Type else { return try type.init(from: self) }
        if let decoded = scalar.init(wireValue: value) as? Value { return decoded }
        if value.isNull { throw DecodingError.valueNotFound(type, context("null in place of \(type)")) }
        throw DecodingError.typeMismatch(type, context("\(value.kindName) in place of \(type)"))
    }

    func context(_ description: String) -> DecodingError.Context {
        DecodingError.Context(codingPath: codingPath, debugDescription: description)
    }

    func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
        guard case .dictionary(let members) = value else {
            throw DecodingError.typeMismatch(WireDictionary.self, context("\(value.kindName) in place of a dictionary"))
        }
        return KeyedDecodingContainer(KeyedDecoding(decoder: self, members: members))
    }

    func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
        guard case .array(let items) = value else {
            throw DecodingError.typeMismatch([WireValue].self, context("\(value.kindName) in place of an array"))
        }
        return UnkeyedDecoding(decoder: self, items: items)
    }

    func singleValueContainer() -> any SingleValueDecodingContainer { self }
    func decodeNil() -> Bool { value.isNull }
    func decode<Value: Decodable>(_ type: Value.Type) throws -> Value { try take(type) }
}

extension WireValue {
    /// What the value is, for messages that must not quote it.
    var kindName: String {
        switch self {
        case .null: "null"
        case .bool: "a boolean"
        case .int64, .uint64: "an integer"
        case .double: "a real"
        case .decimal: "a decimal"
        case .string: "a string"
        case .data: "data"
        case .date: "a date"
        case .array: "an array"
        case .dictionary: "a dictionary"
        case .uid: "a uid"
        }
    }
}

struct KeyedDecoding<Key: CodingKey>: KeyedDecodingContainerProtocol {
    let decoder: ValueDecoder
    let members: WireDictionary
    var codingPath: [any CodingKey] { decoder.codingPath }
    var allKeys: [Key] { members.keys.compactMap(Key.init(stringValue:)) }

    func contains(_ key: Key) -> Bool { members[key.stringValue] != nil }

    private func member(_ key: any CodingKey) throws -> ValueDecoder {
        guard let value = members[key.stringValue] else {
            throw DecodingError.keyNotFound(key, decoder.context("the member '\(key.stringValue)' is missing"))
        }
        return decoder.inside(value, key)
    }

    func decodeNil(forKey key: Key) throws -> Bool { try member(key).decodeNil() }
    func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value { try member(key).take(type) }

    func nestedContainer<Nested: CodingKey>(
        keyedBy type: Nested.Type, forKey key: Key
    ) throws -> KeyedDecodingContainer<Nested> {
        try member(key).container(keyedBy: type)
    }

    func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
        try member(key).unkeyedContainer()
    }

    func superDecoder() throws -> any Decoder { try superDecoder(for: AnyKey.super) }
    func superDecoder(forKey key: Key) throws -> any Decoder { try superDecoder(for: key) }

    /// A missing member is a null here, as Foundation's coders have it.
    private func superDecoder(for key: any CodingKey) throws -> any Decoder {
        decoder.inside(members[key.stringValue] ?? .null, key)
    }
}

struct UnkeyedDecoding: UnkeyedDecodingContainer {
    let decoder: ValueDecoder
    let items: [WireValue]
    private(set) var currentIndex = 0

    var codingPath: [any CodingKey] { decoder.codingPath }
    var count: Int? { items.count }
    var isAtEnd: Bool { currentIndex == items.count }

    init(decoder: ValueDecoder, items: [WireValue]) {
        (self.decoder, self.items) = (decoder, items)
    }

    /// The next item; the position moves on only when it was taken.
    private mutating func next<Result>(_ take: (ValueDecoder) throws -> Result) throws -> Result {
        let key = AnyKey(intValue: currentIndex)
        guard !isAtEnd else {
            let path = codingPath + [key]
            throw DecodingError.valueNotFound(
                Result.self, .init(codingPath: path, debugDescription: "the array has only \(items.count) items"))
        }
        let result = try take(decoder.inside(items[currentIndex], key))
        currentIndex += 1
        return result
    }

    mutating func decodeNil() throws -> Bool {
        guard !isAtEnd, items[currentIndex].isNull else { return false }
        currentIndex += 1
        return true
    }

    mutating func decode<Value: Decodable>(_ type: Value.Type) throws -> Value { try next { try $0.take(type) } }

    mutating func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type) throws -> KeyedDecodingContainer<Nested>
    {
        try next { try $0.container(keyedBy: type) }
    }

    mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
        try next { try $0.unkeyedContainer() }
    }

    mutating func superDecoder() throws -> any Decoder { try next { $0 } }
}

/// A Swift type that is one value of the tree, no container. The coders treat these before they ask a type to encode or
/// decode itself.
protocol WireScalar {
    /// Nil where the value has no place in the tree.
    var wireValue: WireValue? { get }
    /// Nil where the value is of another kind or out of range.
    init?(wireValue: WireValue)
}

extension WireScalar where Self: FixedWidthInteger {
    var wireValue: WireValue? {
        Int64(exactly: self).map(WireValue.int64) ?? UInt64(exactly: self).map(WireValue.uint64)
    }

    /// A double is never taken for an integer, not even `1.0`.
    init?(wireValue: WireValue) {
        switch wireValue {
        case .int64(let number): self.init(exactly: number)
        case .uint64(let number): self.init(exactly: number)
        default: return nil
        }
    }
}

extension Int: WireScalar {}
extension Int8: WireScalar {}
extension Int16: WireScalar {}
extension Int32: WireScalar {}
extension Int64: WireScalar {}
extension UInt: WireScalar {}
extension UInt8: WireScalar {}
extension UInt16: WireScalar {}
extension UInt32: WireScalar {}
extension UInt64: WireScalar {}

extension Bool: WireScalar {
    var wireValue: WireValue? { .bool(self) }
    init?(wireValue: WireValue) {
        guard let flag = wireValue.boolValue else { return nil }
        self = flag
    }
}

extension String: WireScalar {
    var wireValue: WireValue? { .string(self) }
    init?(wireValue: WireValue) {
        guard let text = wireValue.stringValue else { return nil }
        self = text
    }
}

extension Double: WireScalar {
    var wireValue: WireValue? { .double(self) }

    /// Integers where they are exact; a decimal becomes the nearest double.
    init?(wireValue: WireValue) {
        if case .decimal(let number) = wireValue {
            self.init(number.description)
        } else {
            guard let number = wireValue.doubleValue else { return nil }
            self = number
        }
    }
}

extension Float: WireScalar {
    var wireValue: WireValue? { .double(Double(self)) }

    /// Rounded to the nearest; nil where a finite number is out of range.
    init?(wireValue: WireValue) {
        guard let number = Double(wireValue: wireValue) else { return nil }
        self.init(number)
        guard isFinite || !number.isFinite else { return nil }
    }
}

extension WireDate: WireScalar {
    var wireValue: WireValue? { .date(self) }

    /// A date, or RFC 3339 text.
    init?(wireValue: WireValue) {
        switch wireValue {
        case .date(let instant): self = instant
        case .string(let text): self.init(rfc3339: text)
        default: return nil
        }
    }
}

extension WireDecimal: WireScalar {
    var wireValue: WireValue? { .decimal(self) }

    /// Any finite number, or its digits as text, as property lists have them.
    init?(wireValue: WireValue) {
        switch wireValue {
        case .decimal(let number): self = number
        case .int64(let number): self.init(number)
        case .uint64(let number): self.init(number)
        case .double(let number): self.init(number.description)
        case .string(let digits): self.init(digits)
        default: return nil
        }
    }
}

extension WireValue: WireScalar {
    var wireValue: WireValue? { self }
    init?(wireValue: WireValue) { self = wireValue }
}

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension Date: WireScalar {
    var wireValue: WireValue? {
        .date(WireDate(secondsSinceReferenceDate: timeIntervalSinceReferenceDate))
    }

    init?(wireValue: WireValue) {
        guard let instant = WireDate(wireValue: wireValue) else { return nil }
        self.init(timeIntervalSinceReferenceDate: instant.secondsSinceReferenceDate)
    }
}

extension Data: WireScalar {
    var wireValue: WireValue? { .data([UInt8](self)) }

    /// Data, or strict base64.
    init?(wireValue: WireValue) {
        switch wireValue {
        case .data(let bytes): self.init(bytes)
        case .string(let text):
            guard let bytes = Base64.decode(text) else { return nil }
            self.init(bytes)
        default: return nil
        }
    }
}

extension Decimal: WireScalar {
    var wireValue: WireValue? {
        isFinite ? WireDecimal(description).map(WireValue.decimal) : nil
    }

    /// Nil where the digits do not fit.
    init?(wireValue: WireValue) {
        guard let number = WireDecimal(wireValue: wireValue), let decimal = Decimal(string: number.description),
            let kept = WireDecimal(decimal.description), kept == number
        else { return nil }
        self = decimal
    }
}

extension URL: WireScalar {
    var wireValue: WireValue? { .string(absoluteString) }

    init?(wireValue: WireValue) {
        guard let text = wireValue.stringValue else { return nil }
        self.init(string: text)
    }
}

/// A coding key of any name, or an array's index.
struct AnyKey: CodingKey {
    let stringValue: String
    let intValue: Int?

    init(stringValue: String) {
        (self.stringValue, intValue) = (stringValue, nil)
    }

    init(intValue: Int) {
        (stringValue, self.intValue) = ("Index \(intValue)", intValue)
    }

    static let `super` = AnyKey(stringValue: "super")
}
