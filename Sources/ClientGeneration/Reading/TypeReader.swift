import ValueTree

/// Reads the schemas of an OpenAPI description as the types of a generated client, and gives each object type a unique name.
struct TypeReader {
    private let document: WireValue
    private(set) var types: [ObjectType] = []

    init(document: WireValue) {
        self.document = document
    }

    /// - Parameters:
    ///   - suggestedName: for an object whose schema has no title.
    ///   - entity: a schema with this title describes its records, and is called by one of them.
    mutating func type(
        _ schema: WireValue, suggestedName: String, entity: String? = nil, isInput: Bool = false
    ) -> ValueType {
        let schema = resolved(schema)
        if let choices = schema["enum"]?.arrayValue { return .choice(choices.compactMap(\.stringValue)) }
        switch kind(schema) {
        case "boolean": return .bool
        case "integer": return .integer
        case "number": return schema["format"]?.stringValue == "double" ? .double : .decimal
        case "string": return text(schema)
        case "array":
            let items = schema["items"] ?? [:]
            return .list(
                type(
                    items, suggestedName: NameWords(suggestedName).singular.upperCamel, entity: entity, isInput: isInput
                ))
        case "object" where schema["properties"] != nil: return object(schema, suggestedName, entity, isInput)
        default: return .any
        }
    }

    private func resolved(_ schema: WireValue) -> WireValue {
        guard let reference = schema["$ref"]?.stringValue else { return schema }
        let place = reference.split(separator: "/").dropFirst().map { part in
            String(part).replacing("~1", with: "/").replacing("~0", with: "~")
        }
        return place.reduce(document as WireValue?) { found, name in found?[name] } ?? [:]
    }

    /// The first that is not null: numbers that may come as text too are numbers.
    private func kind(_ schema: WireValue) -> String? {
        let kinds =
            schema["type"]?.arrayValue?.compactMap(\.stringValue) ?? [schema["type"]?.stringValue].compactMap(\.self)
        return kinds.first { $0 != "null" }
    }

    private func isNullable(_ schema: WireValue) -> Bool {
        schema["type"]?.arrayValue?.contains("null") == true
    }

    private func text(_ schema: WireValue) -> ValueType {
        if schema["format"]?.stringValue == "date-time" { return .date }
        return schema["contentEncoding"]?.stringValue == "base64" ? .data : .string
    }

    private mutating func object(
        _ schema: WireValue, _ suggestedName: String, _ entity: String?, _ isInput: Bool
    ) -> ValueType {
        let required = Set((schema["required"]?.arrayValue ?? []).compactMap(\.stringValue))
        var members: [ObjectMember] = []
        for property in schema["properties"]?.dictionaryValue?.entries ?? [] {
            let described = resolved(property.value)
            members.append(
                ObjectMember(
                    name: property.key,
                    type: type(described, suggestedName: property.key, entity: entity, isInput: isInput),
                    isRequired: required.contains(property.key) && !isNullable(described),
                    summary: described["description"]?.stringValue ?? ""))
        }
        let title = schema["title"]?.stringValue ?? suggestedName
        let plain = title == entity ? NameWords(title).singular.upperCamel : NameWords(title).upperCamel
        return .object(add(members, plain: plain, isInput: isInput))
    }

    /// The same object keeps its name; another one of that name gets a name that says what it is for, or a number.
    private mutating func add(_ members: [ObjectMember], plain: String, isInput: Bool) -> String {
        let names = [plain] + (isInput ? [plain + "Fields"] : []) + (2...99).map { "\(plain)\($0)" }
        for name in names {
            guard let known = types.first(where: { $0.name == name }) else {
                types.append(ObjectType(name: name, members: members))
                return name
            }
            if known.members == members { return name }
        }
        preconditionFailure("a service with a hundred objects called \(plain)")
    }
}
