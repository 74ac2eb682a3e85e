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
