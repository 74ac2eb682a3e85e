import AdapterKit
import ValueTree

/// Shapes in JSON Schema 2020-12, as OpenAPI 3.1 uses it.
enum JSONSchema {
    static func schema(_ shape: Shape, isNullable: Bool = false) -> WireValue {
        var members = members(of: shape)
        if isNullable, let type = members["type"] { members["type"] = .array([type, "null"]) }
        return .dictionary(members)
    }

    static func object(_ shape: ObjectShape) -> WireDictionary {
        var properties = WireDictionary()
        for member in shape.members { properties[member.name.text] = property(member) }
        let required = shape.members.filter(\.isRequired).map { WireValue.string($0.name.text) }
        var schema: WireDictionary = [
            "type": "object", "title": .string(shape.name), "properties": .dictionary(properties),
        ]
        if !required.isEmpty { schema["required"] = .array(required) }
        if !shape.isOpen { schema["additionalProperties"] = false }
        return schema
    }

    private static func property(_ member: Member) -> WireValue {
        guard case .dictionary(var schema) = schema(member.shape, isNullable: member.isNullable) else { return [:] }
        if !member.summary.isEmpty { schema["description"] = .string(member.summary) }
        if let value = member.defaultValue { schema["default"] = value }
        guard member.acceptsText, let type = schema["type"] else { return .dictionary(schema) }
        schema["type"] = .array((type.arrayValue ?? [type]) + ["string"])
        return .dictionary(schema)
    }

    private static func members(of shape: Shape) -> WireDictionary {
        switch shape {
        case .any: return [:]
        case .bool: return ["type": "boolean"]
        case .integer(let range): return integer(range.range)
        case .double: return ["type": "number", "format": "double"]
        case .decimal: return ["type": "number"]
        case .string(let limits): return string(limits)
        case .choice(let choices): return ["type": "string", "enum": .array(choices.map(WireValue.string))]
        case .date: return ["type": "string", "format": "date-time"]
        case .data: return ["type": "string", "contentEncoding": "base64"]
        case .list(let item): return ["type": "array", "items": schema(item)]
        case .object(let object): return Self.object(object)
        }
    }

    private static func integer(_ range: ClosedRange<Int64>) -> WireDictionary {
        var schema: WireDictionary = ["type": "integer", "format": "int64"]
        if range.lowerBound != .min { schema["minimum"] = .int64(range.lowerBound) }
        if range.upperBound != .max { schema["maximum"] = .int64(range.upperBound) }
        return schema
    }

    private static func string(_ limits: TextLimits) -> WireDictionary {
        var schema: WireDictionary = ["type": "string"]
        if limits.minimumLength > 0 { schema["minLength"] = .int64(Int64(limits.minimumLength)) }
        if limits.maximumLength != TextLimits.defaultMaximum {
            schema["maxLength"] = .int64(Int64(limits.maximumLength))
        }
        return schema
    }
}
