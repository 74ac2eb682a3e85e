import AdapterKit

/// The children of a schema in CSDL JSON, as elements.
enum JSONSchemaChild {
    /// One element; for overloads one each.
    static func elements(_ name: String, _ value: WireValue) -> [CSDLElement] {
        if case .array(let overloads) = value {
            return overloads.compactMap { $0.dictionaryValue }.map { operation(name, $0) }
        }
        guard let members = value.dictionaryValue, let kind = members["$Kind"]?.stringValue else { return [] }
        switch kind {
        case "EntityType", "ComplexType": return [structured(kind, name, members)]
        case "EnumType": return [enumeration(name, members)]
        case "EntityContainer": return [JSONContainer.element(name, members)]
        default: return [typed(kind, name, members)]
        }
    }

    private static func structured(_ kind: String, _ name: String, _ members: WireDictionary) -> CSDLElement {
        var element = CSDLElement(kind, [.init("Name", name)])
        for attribute in ["BaseType", "Abstract", "OpenType", "HasStream"] {
            element.add(attribute, members["$\(attribute)"])
        }
        if let key = members["$Key"]?.arrayValue {
            element.children.append(CSDLElement("Key", children: key.map(keyPart)))
        }
        for member in members where !member.key.hasPrefix("$") && !member.key.contains("@") {
            element.children.append(property(member.key, member.value.dictionaryValue ?? [:]))
        }
        element.children += JSONAnnotations.elements(members, of: "")
        return element
    }

    private static func keyPart(_ value: WireValue) -> CSDLElement {
        if let name = value.stringValue { return CSDLElement("PropertyRef", [.init("Name", name)]) }
        let aliased = value.dictionaryValue?.entries.first
        return CSDLElement(
            "PropertyRef", [.init("Name", aliased?.value.stringValue ?? ""), .init("Alias", aliased?.key ?? "")])
    }

    private static func property(_ name: String, _ members: WireDictionary) -> CSDLElement {
        guard members["$Kind"]?.stringValue == "NavigationProperty" else { return typed("Property", name, members) }
        var element = typed("NavigationProperty", name, members)
        element.add("Partner", members["$Partner"])
        element.add("ContainsTarget", members["$ContainsTarget"])
        for constraint in members["$ReferentialConstraint"]?.dictionaryValue ?? [:] where !constraint.key.contains("@")
        {
            element.children.append(
                CSDLElement(
                    "ReferentialConstraint",
                    [
                        .init("Property", constraint.key),
                        .init("ReferencedProperty", constraint.value.stringValue ?? ""),
                    ]))
        }
        if let action = members["$OnDelete"]?.stringValue {
            element.children.append(CSDLElement("OnDelete", [.init("Action", action)]))
        }
        return element
    }

    /// A property, a parameter, a result, a term or a type definition: a type and its facets.
    private static func typed(_ kind: String, _ name: String?, _ members: WireDictionary) -> CSDLElement {
        var element = CSDLElement(kind, name.map { [.init("Name", $0)] } ?? [])
        let isCollection = members["$Collection"] == .bool(true)
        if kind == "TypeDefinition" {
            element.add("UnderlyingType", members["$UnderlyingType"])
        } else {
            let type = members["$Type"]?.stringValue ?? "Edm.String"
            element.add("Type", .string(isCollection ? "Collection(\(type))" : type))
            if kind != "NavigationProperty" || !isCollection {
                element.add("Nullable", members["$Nullable"] ?? false)
            }
        }
        for facet in ["MaxLength", "Precision", "Scale", "Unicode", "SRID", "DefaultValue"] {
            element.add(facet, members["$\(facet)"])
        }
        element.children += JSONAnnotations.elements(members, of: "")
        return element
    }

    private static func enumeration(_ name: String, _ members: WireDictionary) -> CSDLElement {
        var element = CSDLElement("EnumType", [.init("Name", name)])
        element.add("IsFlags", members["$IsFlags"])
        element.add("UnderlyingType", members["$UnderlyingType"])
        for member in members where !member.key.hasPrefix("$") && !member.key.contains("@") {
            var child = CSDLElement("Member", [.init("Name", member.key)])
            child.add("Value", member.value)
            child.children = JSONAnnotations.elements(members, of: member.key)
            element.children.append(child)
        }
        element.children += JSONAnnotations.elements(members, of: "")
        return element
    }

    private static func operation(_ name: String, _ members: WireDictionary) -> CSDLElement {
        var element = CSDLElement(members["$Kind"]?.stringValue ?? "Action", [.init("Name", name)])
        for attribute in ["IsBound", "IsComposable", "EntitySetPath"] {
            element.add(attribute, members["$\(attribute)"])
        }
        for parameter in members["$Parameter"]?.arrayValue ?? [] {
            let inner = parameter.dictionaryValue ?? [:]
            element.children.append(typed("Parameter", inner["$Name"]?.stringValue ?? "", inner))
        }
        if let result = members["$ReturnType"]?.dictionaryValue {
            element.children.append(typed("ReturnType", nil, result))
        }
        element.children += JSONAnnotations.elements(members, of: "")
        return element
    }
}
