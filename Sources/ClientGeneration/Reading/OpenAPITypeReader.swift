import ValueTree

/// Reads the schemas of an OpenAPI description as the types of a generated client, and gives each object type a unique name.
struct OpenAPITypeReader {
    private let document: WireValue
    private let service: String
    private(set) var types: [ObjectType] = []

    /// `service`: titles that begin with its name are called without it.
    init(document: WireValue, service: String) {
        self.document = document
        self.service = service
    }

    /// - Parameters:
    ///   - suggestedName: for an object whose schema has no title.
    ///   - entity: a schema with this title describes its records, and is called by one of them; so are those of parts of a
    ///     record.
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
        if let alternatives = schema["anyOf"]?.arrayValue {
            return alternatives.first { !isNull($0) }.map { resolved($0) } ?? [:]
        }
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
            || schema["anyOf"]?.arrayValue?.contains(where: isNull) == true
    }

    private func isNull(_ schema: WireValue) -> Bool { schema["type"] == "null" }

    private func text(_ schema: WireValue) -> ValueType {
        if schema["format"]?.stringValue == "date-time" { return .date }
        return schema["contentEncoding"]?.stringValue == "base64" ? .data : .string
    }

    private mutating func object(
        _ schema: WireValue, _ suggestedName: String, _ entity: String?, _ isInput: Bool
    ) -> ValueType {
        let title = plainTitle(schema["title"]?.stringValue ?? suggestedName)
        let role = entity.flatMap { EntityRole(title, of: $0) }
        let required = Set((schema["required"]?.arrayValue ?? []).compactMap(\.stringValue))
        var members: [ObjectMember] = []
        for property in schema["properties"]?.dictionaryValue?.entries ?? [] {
            let described = resolved(property.value)
            // A caller may select fields, and names those that it changes.
            let isRequired = role == nil && required.contains(property.key) && !isNullable(property.value)
            members.append(
                ObjectMember(
                    name: property.key,
                    type: type(described, suggestedName: property.key, entity: entity, isInput: isInput),
                    isRequired: isRequired,
                    summary: (property.value["description"] ?? described["description"])?.stringValue ?? ""))
        }
        let singular = entity.map { NameWords($0).singular.upperCamel } ?? ""
        switch role {
        case nil: return .object(add(members, plain: NameWords(title).upperCamel, isInput: isInput))
        case .record: return .object(add(members, plain: singular, isInput: isInput))
        case .input: return .object(add(members, plain: singular + "Fields", isInput: false))
        }
    }

    /// Without the service's name, which its type has already.
    private func plainTitle(_ title: String) -> String {
        let prefix = Self.identifier(service) + "_"
        return title.hasPrefix(prefix) ? String(title.dropFirst(prefix.count)) : title
    }

    fileprivate static func identifier(_ text: String) -> String {
        text.split { !($0.isASCII && ($0.isLetter || $0.isNumber)) }.joined(separator: "_")
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

/// The role of a schema for an entity whose name its title begins with.
private enum EntityRole {
    /// A record, whole or with the fields that were selected.
    case record
    /// The value that a record is made or changed with.
    case input

    init?(_ title: String, of entity: String) {
        let name = OpenAPITypeReader.identifier(entity)
        switch OpenAPITypeReader.identifier(title) {
        case name, name + "Row": self = .record
        case name + "Fields", name + "Changes", name + "Creation": self = .input
        default: return nil
        }
    }
}
