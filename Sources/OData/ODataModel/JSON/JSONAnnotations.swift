import AdapterKit

/// Annotations in CSDL JSON, `"Target@Term#Qualifier": value`, as elements.
enum JSONAnnotations {
    /// Those of `members` whose target is `target`; an empty one is the object itself.
    static func elements(_ members: WireDictionary, of target: String) -> [CSDLElement] {
        members.compactMap { member in
            guard let at = member.key.firstIndex(of: "@"), member.key[..<at] == target else { return nil }
            let parts = member.key[member.key.index(after: at)...].split(separator: "#", maxSplits: 1)
            guard let term = parts.first, !term.contains("@") else { return nil }
            var element = CSDLElement("Annotation", [.init("Term", String(term))])
            if parts.count == 2 { element.add("Qualifier", .string(String(parts[1]))) }
            put(member.value, into: &element)
            return element
        }
    }

    /// A constant as an attribute, anything else as a child.
    private static func put(_ value: WireValue, into element: inout CSDLElement) {
        switch value {
        case .bool: element.add("Bool", value)
        case .int64: element.add("Int", value)
        case .double, .decimal: element.add("Decimal", value)
        case .string: element.add("String", value)
        case .dictionary(let members) where members["$Path"] != nil: element.add("Path", members["$Path"])
        default: element.children.append(expression(value))
        }
    }

    private static func expression(_ value: WireValue) -> CSDLElement {
        switch value {
        case .array(let items): CSDLElement("Collection", children: items.map(expression))
        case .dictionary(let members): record(members)
        case .string(let text): CSDLElement("String", text: text)
        case .bool(let flag): CSDLElement("Bool", text: flag ? "true" : "false")
        case .int64(let number): CSDLElement("Int", text: String(number))
        case .double(let number): CSDLElement("Decimal", text: number.description)
        default: CSDLElement("Null")
        }
    }

    private static func record(_ members: WireDictionary) -> CSDLElement {
        var record = CSDLElement("Record")
        record.add("Type", members["@type"] ?? members["@odata.type"])
        for member in members where !member.key.hasPrefix("$") && !member.key.contains("@") {
            var child = CSDLElement("PropertyValue", [.init("Property", member.key)])
            put(member.value, into: &child)
            record.children.append(child)
        }
        return record
    }
}
