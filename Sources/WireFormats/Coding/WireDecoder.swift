import ValueTree

/// Decodes Swift values from the value tree, and so from any format.
///
/// `Date` comes from a date or RFC 3339 text, `Data` from data or strict base64, `Decimal` from any number whose digits
/// fit. Numbers are exact: a double is not taken for an integer, nor an integer for a double that would round it.
/// Throws `DecodingError` with the path to what is wrong, and ``WireFormatError`` where the bytes are.
public struct WireDecoder {
    public var userInfo: [CodingUserInfoKey: any Sendable] = [:]

    public init() {}

    public func decode<Value: Decodable>(_ type: Value.Type, from value: WireValue) throws -> Value {
        try ValueDecoder(value: value, codingPath: [], userInfo: userInfo).take(type)
    }

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
