import AdapterKit
import ValueTree

/// The schemas of a description: each object stands once, under a name that begins with its service's and is its title, and
/// is referred to wherever it is a value, a member or an item.
struct SchemaComponents: Sendable {
    private var components = Components("schemas")

    var values: WireDictionary { components.values }

    /// `service`: an adapter's name, or what the gateway calls a part of itself.
    mutating func schema(_ shape: Shape, of service: String, isNullable: Bool = false) -> WireValue {
        switch shape {
        case .object(let object):
            let reference = reference(to: object, of: service)
            return isNullable ? ["anyOf": [reference, ["type": "null"]]] : reference
        case .list(let item):
            return ["type": isNullable ? ["array", "null"] : "array", "items": schema(item, of: service)]
        default: return JSONSchema.schema(shape, isNullable: isNullable)
        }
    }

    private mutating func reference(to object: ObjectShape, of service: String) -> WireValue {
        var properties = WireDictionary()
        for member in object.members { properties[member.name.text] = property(member, of: service) }
        let required = object.members.filter(\.isRequired).map { WireValue.string($0.name.text) }
        return components.reference(Self.name(of: object, service)) { name in
            var schema: WireDictionary = [
                "type": "object", "title": .string(name), "properties": .dictionary(properties),
            ]
            if !required.isEmpty { schema["required"] = .array(required) }
            if !object.isOpen { schema["additionalProperties"] = false }
            return .dictionary(schema)
        }
    }

    /// Shapes whose name says the service already keep it.
    private static func name(of object: ObjectShape, _ service: String) -> String {
        let (prefix, name) = (Identifier.of(service) + "_", Identifier.of(object.name))
        return name.hasPrefix(prefix) ? name : prefix + name
    }

    private mutating func property(_ member: Member, of service: String) -> WireValue {
        let described = schema(member.shape, of: service, isNullable: member.isNullable)
        guard case .dictionary(var schema) = described else { return [:] }
        if !member.summary.isEmpty { schema["description"] = .string(member.summary) }
        if let value = member.defaultValue { schema["default"] = value }
        guard member.acceptsText, let type = schema["type"] else { return .dictionary(schema) }
        schema["type"] = .array((type.arrayValue ?? [type]) + ["string"])
        return .dictionary(schema)
    }

    /// The gateway's shape of failures.
    var error: WireValue {
        mutating get {
            let detail = components.reference("ErrorDetail") { name in
                [
                    "type": "object", "title": .string(name), "required": ["code", "message", "requestId"],
                    "properties": [
                        "code": ["type": "string", "enum": .array(ErrorCode.allCases.map { .string($0.rawValue) })],
                        "message": ["type": "string"], "requestId": ["type": "string"], "target": ["type": "string"],
                    ],
                ]
            }
            return components.reference("Error") { name in
                [
                    "type": "object", "title": .string(name), "required": ["error"], "properties": ["error": detail],
                ]
            }
        }
    }

    /// That of contracts with members of these names.
    mutating func flatError(code: String, message: String) -> WireValue {
        components.reference("FlatError") { name in
            [
                "type": "object", "title": .string(name), "required": [.string(code), .string(message)],
                "properties": .dictionary(
                    WireDictionary(uncheckedUniqueKeys: [
                        .init(key: code, value: ["type": "string"]), .init(key: message, value: ["type": "string"]),
                        .init(key: "requestId", value: ["type": "string"]),
                    ])),
            ]
        }
    }
}

/// Values in JSON Schema 2020-12, as OpenAPI 3.1 uses it; objects and lists are ``SchemaComponents``'s.
private enum JSONSchema {
    static func schema(_ shape: Shape, isNullable: Bool) -> WireValue {
        var members = members(of: shape)
        guard isNullable, let type = members["type"] else { return .dictionary(members) }
        members["type"] = .array([type, "null"])
        // Both hold of a value (JSON Schema Validation, section 6.1.2).
        if let choices = members["enum"]?.arrayValue { members["enum"] = .array(choices + [.null]) }
        return .dictionary(members)
    }

    private static func members(of shape: Shape) -> WireDictionary {
        switch shape {
        case .any: [:]
        case .bool: ["type": "boolean"]
        case .integer(let range): integer(range.range)
        case .double: ["type": "number", "format": "double"]
        case .decimal: ["type": "number"]
        case .string(let limits): string(limits)
        case .choice(let choices): ["type": "string", "enum": .array(choices.map(WireValue.string))]
        case .date: ["type": "string", "format": "date-time"]
        case .data: ["type": "string", "contentEncoding": "base64"]
        case .list: ["type": "array"]
        case .object: ["type": "object"]
        }
    }

    private static func integer(_ range: ClosedRange<Int64>) -> WireDictionary {
        var schema: WireDictionary = ["type": "integer"]
        // The limits say as much where they fit into less.
        if range.lowerBound < Int32.min || range.upperBound > Int32.max { schema["format"] = "int64" }
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
