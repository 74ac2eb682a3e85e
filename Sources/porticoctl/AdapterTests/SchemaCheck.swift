import ValueTree

/// Whether a JSON value is of a schema of `/openapi.json`: the part of JSON Schema that the gateway's descriptions use.
struct SchemaCheck {
    /// What `$ref` leads into.
    let document: WireValue
    private static let deepest = 64

    /// What is wrong, with where; nil: nothing.
    func problem(_ value: WireValue, _ schema: WireValue, at place: String = "the answer", depth: Int = 0) -> String? {
        guard depth < Self.deepest else { return nil }
        if let reference = schema["$ref"]?.stringValue {
            return problem(value, resolve(reference), at: place, depth: depth + 1)
        }
        if let alternatives = schema["anyOf"]?.arrayValue {
            let problems = alternatives.map { problem(value, $0, at: place, depth: depth + 1) }
            return problems.contains(nil) ? nil : problems.first ?? nil
        }
        if let type = schema["type"] {
            let types = (type.arrayValue ?? [type]).compactMap(\.stringValue)
            guard types.contains(where: { Self.isOf($0, value) }) else {
                return "\(place) is \(Self.type(of: value)) and not \(types.joined(separator: " or "))"
            }
        }
        if let choices = schema["enum"]?.arrayValue, !choices.contains(value) {
            return "\(place) is none of its choices"
        }
        if let number = value.int64Value {
            if let least = schema["minimum"]?.int64Value, number < least { return "\(place) is less than \(least)" }
            if let most = schema["maximum"]?.int64Value, number > most { return "\(place) is more than \(most)" }
        }
        switch value {
        case .dictionary(let members): return problem(members, schema, place, depth)
        case .array(let items):
            guard let schema = schema["items"] else { return nil }
            for (index, item) in items.enumerated() {
                if let found = problem(item, schema, at: "\(place)[\(index)]", depth: depth + 1) { return found }
            }
            return nil
        default: return nil
        }
    }

    private func problem(_ members: WireDictionary, _ schema: WireValue, _ place: String, _ depth: Int) -> String? {
        for name in schema["required"]?.arrayValue?.compactMap(\.stringValue) ?? [] where members[name] == nil {
            return "\(place) lacks \(name)"
        }
        let properties = schema["properties"]
        for member in members {
            if let schema = properties?[member.key] {
                if let found = problem(member.value, schema, at: "\(place).\(member.key)", depth: depth + 1) {
                    return found
                }
            } else if schema["additionalProperties"] == false {
                return "\(place) has \(member.key), which is not declared"
            }
        }
        return nil
    }

    private func resolve(_ reference: String) -> WireValue {
        reference.split(separator: "/").dropFirst().reduce(document) { $0[String($1)] ?? .null }
    }

    private static func isOf(_ type: String, _ value: WireValue) -> Bool {
        let own = Self.type(of: value)
        return own == type || (type == "number" && own == "integer")
    }

    private static func type(of value: WireValue) -> String {
        switch value {
        case .null: "null"
        case .bool: "boolean"
        case .int64, .uint64: "integer"
        case .double(let number): number == number.rounded() ? "integer" : "number"
        case .decimal: "number"
        case .array: "array"
        case .dictionary: "object"
        default: "string"
        }
    }
}
