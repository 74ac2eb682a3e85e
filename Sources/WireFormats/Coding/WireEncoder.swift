import ValueTree

/// Encodes Swift values into the value tree, and from there into any format.
///
/// `Date`, `Data`, `Decimal` and `URL` become a date, data, a decimal and a string; ``ValueTree/WireValue`` stays what
/// it is. A nil that a type encodes is a null, one that it leaves out (as synthesized conformances do) is no member.
/// Throws `EncodingError`, and ``WireFormatError`` where the format cannot carry the result.
public struct WireEncoder {
    public var userInfo: [CodingUserInfoKey: any Sendable] = [:]

    /// Creates a wire encoder.
    public init() {}

    public func encode(_ value: some Encodable) throws -> WireValue {
        let slot = EncodingSlot()
        try SlotEncoder(slot: slot, codingPath: [], userInfo: userInfo).store(value)
        return slot.value
    }

    public func encode(
        _ value: some Encodable, in format: any WireFormat, options: WritingOptions = WritingOptions()
    ) throws -> [UInt8] {
        try format.write(encode(value), options: options)
    }
}

/// A place in the tree that is being built. Containers keep references to it, so that they may be filled in any order.
final class EncodingSlot {
    private enum Content {
        case value(WireValue)
        case array([EncodingSlot])
        case dictionary([(key: String, slot: EncodingSlot)])
    }

    /// A type that encodes nothing is an empty dictionary.
    private var content = Content.dictionary([])

    var value: WireValue {
        switch content {
        case .value(let value): return value
        case .array(let items): return .array(items.map(\.value))
        case .dictionary(let entries):
            var members = WireDictionary()
            for entry in entries { members[entry.key] = entry.slot.value }
            return .dictionary(members)
        }
    }

    var count: Int {
        if case .array(let items) = content { items.count } else { 0 }
    }

    func store(_ value: WireValue) { content = .value(value) }

    func becomeDictionary() {
        if case .dictionary = content { return }
        content = .dictionary([])
    }

    func becomeArray() {
        if case .array = content { return }
        content = .array([])
    }

    func append() -> EncodingSlot {
        guard case .array(var items) = content else { preconditionFailure("not an array") }
        let slot = EncodingSlot()
        content = .array([])
        items.append(slot)
        content = .array(items)
        return slot
    }

    func append(_ key: String) -> EncodingSlot {
        guard case .dictionary(var entries) = content else { preconditionFailure("not a dictionary") }
        let slot = EncodingSlot()
        content = .dictionary([])
        entries.append((key, slot))
        content = .dictionary(entries)
        return slot
    }
}

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
