import ValueTree

/// The `Encoder` of one slot, and its single-value container.
struct SlotEncoder: Encoder, SingleValueEncodingContainer {
    let slot: EncodingSlot
    let codingPath: [any CodingKey]
    let userInfo: [CodingUserInfoKey: Any]

    func inside(_ slot: EncodingSlot, _ key: any CodingKey) -> SlotEncoder {
        SlotEncoder(slot: slot, codingPath: codingPath + [key], userInfo: userInfo)
    }

    func store(_ value: some Encodable) throws {
        guard let scalar = value as? any WireScalar else { return try value.encode(to: self) }
        guard let stored = scalar.wireValue else {
            throw EncodingError.invalidValue(
                value, .init(codingPath: codingPath, debugDescription: "the value has no form in any format"))
        }
        slot.store(stored)
    }

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        slot.becomeDictionary()
        return KeyedEncodingContainer(KeyedEncoding(encoder: self))
    }

    func unkeyedContainer() -> any UnkeyedEncodingContainer {
        slot.becomeArray()
        return UnkeyedEncoding(encoder: self)
    }

    func singleValueContainer() -> any SingleValueEncodingContainer { self }

    func encodeNil() { slot.store(.null) }
    func encode<Value: Encodable>(_ value: Value) throws { try store(value) }
}

struct KeyedEncoding<Key: CodingKey>: KeyedEncodingContainerProtocol {
    let encoder: SlotEncoder
    var codingPath: [any CodingKey] { encoder.codingPath }

    private func member(_ key: any CodingKey) -> SlotEncoder {
        encoder.inside(encoder.slot.append(key.stringValue), key)
    }

    func encodeNil(forKey key: Key) { member(key).encodeNil() }
    func encode<Value: Encodable>(_ value: Value, forKey key: Key) throws { try member(key).store(value) }

    func nestedContainer<Nested: CodingKey>(
        keyedBy type: Nested.Type, forKey key: Key
    ) -> KeyedEncodingContainer<Nested> {
        member(key).container(keyedBy: type)
    }

    func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer { member(key).unkeyedContainer() }
    func superEncoder() -> any Encoder { member(AnyKey.super) }
    func superEncoder(forKey key: Key) -> any Encoder { member(key) }
}

struct UnkeyedEncoding: UnkeyedEncodingContainer {
    let encoder: SlotEncoder
    var codingPath: [any CodingKey] { encoder.codingPath }
    var count: Int { encoder.slot.count }

    private func item() -> SlotEncoder {
        let key = AnyKey(intValue: count)
        return encoder.inside(encoder.slot.append(), key)
    }

    func encodeNil() { item().encodeNil() }
    func encode<Value: Encodable>(_ value: Value) throws { try item().store(value) }

    func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type) -> KeyedEncodingContainer<Nested> {
        item().container(keyedBy: type)
    }

    func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer { item().unkeyedContainer() }
    func superEncoder() -> any Encoder { item() }
}
