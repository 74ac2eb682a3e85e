import AdapterKit

/// The entity container in CSDL JSON, as an element.
enum JSONContainer {
    static func element(_ name: String, _ members: WireDictionary) -> CSDLElement {
        var element = CSDLElement("EntityContainer", [.init("Name", name)])
        element.add("Extends", members["$Extends"])
        for member in members where !member.key.hasPrefix("$") && !member.key.contains("@") {
            element.children.append(child(member.key, member.value.dictionaryValue ?? [:]))
        }
        element.children += JSONAnnotations.elements(members, of: "")
        return element
    }

    private static func child(_ name: String, _ members: WireDictionary) -> CSDLElement {
        let (kind, type) = kindAndType(members)
        var element = CSDLElement(kind, [.init("Name", name)])
        element.add(type, members["$\(type)"] ?? members["$Type"])
        element.add("Nullable", members["$Nullable"])
        element.add("EntitySet", members["$EntitySet"])
        element.add("IncludeInServiceDocument", members["$IncludeInServiceDocument"])
        for binding in members["$NavigationPropertyBinding"]?.dictionaryValue ?? [:] {
            element.children.append(
                CSDLElement(
                    "NavigationPropertyBinding",
                    [.init("Path", binding.key), .init("Target", binding.value.stringValue ?? "")]))
        }
        element.children += JSONAnnotations.elements(members, of: "")
        return element
    }

    /// The element's name, and that of the attribute which says what it is of.
    private static func kindAndType(_ members: WireDictionary) -> (kind: String, type: String) {
        if members["$Function"] != nil { return ("FunctionImport", "Function") }
        if members["$Action"] != nil { return ("ActionImport", "Action") }
        return members["$Collection"] == .bool(true) ? ("EntitySet", "EntityType") : ("Singleton", "Type")
    }
}
