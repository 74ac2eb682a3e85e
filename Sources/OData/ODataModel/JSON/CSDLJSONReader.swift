import AdapterKit
import WireFormats

// CSDL JSON (CSDL JSON 4.01) is read into the elements that CSDL XML would have: what differs are the defaults
// (`$Nullable` is false and `$Type` is Edm.String where they are left out) and that annotations are members.

extension CSDLElement {
    /// Reads a JSON document. Throws ``CSDLProblem``.
    public init(json bytes: [UInt8]) throws(CSDLProblem) {
        let value: WireValue
        do {
            value = try JSONFormat().read(bytes, limits: ReadingLimits(depth: Self.maximumDepth))
        } catch {
            throw CSDLProblem(error.message, line: error.position?.line)
        }
        guard case .dictionary(let root) = value, let version = root["$Version"]?.stringValue else {
            throw CSDLProblem("This is no CSDL JSON document: it lacks $Version.")
        }
        var schemas: [CSDLElement] = []
        for member in root where !member.key.hasPrefix("$") {
            schemas.append(JSONSchema.element(member.key, member.value.dictionaryValue ?? [:]))
        }
        let references = root["$Reference"]?.dictionaryValue ?? [:]
        self.init(
            "Edmx", namespace: CSDLNamespace.edmx, [Attribute("Version", version)],
            children: references.map { JSONSchema.reference($0.key, $0.value) }
                + [CSDLElement("DataServices", namespace: CSDLNamespace.edmx, children: schemas)])
    }
}

/// Schemas and references of a CSDL JSON document.
enum JSONSchema {
    static func reference(_ uri: String, _ value: WireValue) -> CSDLElement {
        let includes = value["$Include"]?.arrayValue ?? []
        return CSDLElement(
            "Reference", namespace: CSDLNamespace.edmx, [.init("Uri", uri)],
            children: includes.map { include in
                CSDLElement(
                    "Include", namespace: CSDLNamespace.edmx,
                    [("Namespace", "$Namespace"), ("Alias", "$Alias")].compactMap { attribute, member in
                        include[member]?.stringValue.map { CSDLElement.Attribute(attribute, $0) }
                    })
            })
    }

    static func element(_ namespace: String, _ schema: WireDictionary) -> CSDLElement {
        var element = CSDLElement("Schema", [.init("Namespace", namespace)])
        element.add("Alias", schema["$Alias"])
        for member in schema where !member.key.hasPrefix("$") && !member.key.contains("@") {
            element.children += JSONSchemaChild.elements(member.key, member.value)
        }
        for target in schema["$Annotations"]?.dictionaryValue ?? [:] {
            element.children.append(
                CSDLElement(
                    "Annotations", [.init("Target", target.key)],
                    children: JSONAnnotations.elements(target.value.dictionaryValue ?? [:], of: "")))
        }
        element.children += JSONAnnotations.elements(schema, of: "")
        return element
    }
}

extension CSDLElement {
    /// An attribute of a JSON member's text, number or flag; none where the member is left out.
    mutating func add(_ attribute: String, _ value: WireValue?) {
        switch value {
        case .string(let text): attributes.append(Attribute(attribute, text))
        case .bool(let flag): attributes.append(Attribute(attribute, flag ? "true" : "false"))
        case .int64(let number): attributes.append(Attribute(attribute, String(number)))
        case .double(let number): attributes.append(Attribute(attribute, number.description))
        case .decimal(let number): attributes.append(Attribute(attribute, number.description))
        default: return
        }
    }
}

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

/// Annotations in CSDL JSON, `"Target@Term#Qualifier": value`, as elements.
enum JSONAnnotations {
    /// The elements of `members` whose target is `target`; an empty one is the object itself.
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
