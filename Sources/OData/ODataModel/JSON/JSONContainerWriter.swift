import AdapterKit

/// The entity container's element as members of CSDL JSON.
enum JSONContainerWriter {
    static func container(_ element: CSDLElement) -> WireDictionary {
        var members: WireDictionary = ["$Kind": "EntityContainer"]
        for child in element.children {
            if let name = child["Name"] { members[name] = .dictionary(self.child(child)) }
        }
        JSONAnnotationWriter.add(element, to: &members)
        return members
    }

    private static func child(_ element: CSDLElement) -> WireDictionary {
        var members = WireDictionary()
        switch element.name {
        case "EntitySet":
            members["$Collection"] = true
            members["$Type"] = .string(element["EntityType"] ?? "")
        case "FunctionImport": JSONSchemaWriter.copy(["Function", "EntitySet"], element, to: &members)
        case "ActionImport": JSONSchemaWriter.copy(["Action", "EntitySet"], element, to: &members)
        default: JSONSchemaWriter.copy(["Type", "Nullable"], element, to: &members)
        }
        if let included = element["IncludeInServiceDocument"] {
            members["$IncludeInServiceDocument"] = .bool(included == "true")
        }
        var bindings = WireDictionary()
        for binding in element.all("NavigationPropertyBinding") {
            bindings[binding["Path"] ?? ""] = .string(binding["Target"] ?? "")
        }
        if !bindings.isEmpty { members["$NavigationPropertyBinding"] = .dictionary(bindings) }
        JSONAnnotationWriter.add(element, to: &members)
        return members
    }
}
