import AdapterKit

/// Annotation elements as members of CSDL JSON.
enum JSONAnnotationWriter {
    static func add(_ element: CSDLElement, to members: inout WireDictionary, target: String = "") {
        for annotation in element.all("Annotation") {
            let qualifier = annotation["Qualifier"].map { "#\($0)" } ?? ""
            members["\(target)@\(annotation["Term"] ?? "")\(qualifier)"] = value(of: annotation)
        }
    }

    private static func value(of element: CSDLElement) -> WireValue {
        for attribute in element.attributes {
            if let value = constant(attribute.name, attribute.value) { return value }
        }
        guard let child = element.children.first(where: { $0.name != "Annotation" }) else { return true }
        return expression(child)
    }

    private static func expression(_ element: CSDLElement) -> WireValue {
        switch element.name {
        case "Collection": return .array(element.children.map(expression))
        case "Null": return .null
        case "Record":
            var members = WireDictionary()
            if let type = element["Type"] { members["@type"] = .string(type) }
            for property in element.all("PropertyValue") { members[property["Property"] ?? ""] = value(of: property) }
            return .dictionary(members)
        default:
            return constant(element.name, element.text) ?? [
                "$\(element.name)": .array(element.children.map(expression))
            ]
        }
    }

    private static func constant(_ kind: String, _ text: String) -> WireValue? {
        switch kind {
        case "Bool": .bool(text == "true" || text == "1")
        case "Int": Int64(text).map(WireValue.int64) ?? .string(text)
        case "Float", "Decimal": Double(text).map(WireValue.double) ?? .string(text)
        case "Path": ["$Path": .string(text)]
        case "String", "EnumMember", "Date", "DateTimeOffset", "Duration", "TimeOfDay", "Guid", "Binary",
            "PropertyPath", "NavigationPropertyPath", "AnnotationPath", "AnyPropertyPath", "ModelElementPath":
            .string(text)
        default: nil
        }
    }
}
