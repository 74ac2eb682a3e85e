import ValueTree

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
