import AdapterKit

extension CSDLElement {
    /// The document as CSDL JSON, in the version of the protocol that it names.
    public var jsonValue: WireValue {
        var root: WireDictionary = ["$Version": .string(self["Version"] == "4.0" ? "4.0" : "4.01")]
        let schemas = first("DataServices")?.all("Schema") ?? []
        for schema in schemas {
            guard let container = schema.first("EntityContainer")?["Name"] else { continue }
            root["$EntityContainer"] = .string("\(schema["Namespace"] ?? "").\(container)")
        }
        var references = WireDictionary()
        for reference in all("Reference") {
            references[reference["Uri"] ?? ""] = ["$Include": .array(reference.all("Include").map(Self.include))]
        }
        if !references.isEmpty { root["$Reference"] = .dictionary(references) }
        for schema in schemas { root[schema["Namespace"] ?? ""] = .dictionary(JSONSchemaWriter.schema(schema)) }
        return .dictionary(root)
    }

    private static func include(_ element: CSDLElement) -> WireValue {
        var members: WireDictionary = ["$Namespace": .string(element["Namespace"] ?? "")]
        if let alias = element["Alias"] { members["$Alias"] = .string(alias) }
        return .dictionary(members)
    }
}

/// Elements of a schema as members of CSDL JSON.
enum JSONSchemaWriter {
    static func schema(_ schema: CSDLElement) -> WireDictionary {
        var members = WireDictionary()
        copy(["Alias"], schema, to: &members)
        var annotations = WireDictionary()
        for child in schema.children {
            guard let name = child["Name"] else {
                if child.name == "Annotations", let target = child["Target"] {
                    var entries = annotations[target]?.dictionaryValue ?? [:]
                    JSONAnnotationWriter.add(child, to: &entries)
                    annotations[target] = .dictionary(entries)
                }
                continue
            }
            if child.name == "Function" || child.name == "Action" {
                members[name] = .array((members[name]?.arrayValue ?? []) + [.dictionary(operation(child))])
            } else {
                members[name] = .dictionary(self.child(child))
            }
        }
        if !annotations.isEmpty { members["$Annotations"] = .dictionary(annotations) }
        JSONAnnotationWriter.add(schema, to: &members)
        return members
    }

    private static func child(_ element: CSDLElement) -> WireDictionary {
        switch element.name {
        case "EntityType", "ComplexType": structured(element)
        case "EnumType": enumeration(element)
        case "EntityContainer": JSONContainerWriter.container(element)
        default: typed(element, kind: element.name)
        }
    }

    private static func structured(_ element: CSDLElement) -> WireDictionary {
        var members: WireDictionary = ["$Kind": .string(element.name)]
        copy(["BaseType", "Abstract", "OpenType", "HasStream"], element, to: &members)
        if let key = element.first("Key") {
            members["$Key"] = .array(
                key.all("PropertyRef").map { part in
                    let name = WireValue.string(part["Name"] ?? "")
                    return part["Alias"].map { .dictionary([$0: name]) } ?? name
                })
        }
        for property in element.all("Property") {
            members[property["Name"] ?? ""] = .dictionary(typed(property, kind: nil))
        }
        for property in element.all("NavigationProperty") {
            members[property["Name"] ?? ""] = .dictionary(navigation(property))
        }
        JSONAnnotationWriter.add(element, to: &members)
        return members
    }

    private static func navigation(_ element: CSDLElement) -> WireDictionary {
        var members = typed(element, kind: "NavigationProperty")
        copy(["Partner", "ContainsTarget"], element, to: &members)
        var constraints = WireDictionary()
        for constraint in element.all("ReferentialConstraint") {
            constraints[constraint["Property"] ?? ""] = .string(constraint["ReferencedProperty"] ?? "")
        }
        if !constraints.isEmpty { members["$ReferentialConstraint"] = .dictionary(constraints) }
        if let action = element.first("OnDelete")?["Action"] { members["$OnDelete"] = .string(action) }
        return members
    }

    private static func typed(_ element: CSDLElement, kind: String?) -> WireDictionary {
        var members = WireDictionary()
        if let kind { members["$Kind"] = .string(kind) }
        var isCollection = false
        if let type = element["Type"] {
            isCollection = type.hasPrefix("Collection(")
            let item = isCollection ? String(type.dropFirst("Collection(".count).dropLast()) : type
            if isCollection { members["$Collection"] = true }
            if item != "Edm.String" { members["$Type"] = .string(item) }
            if element["Nullable"] == "true" || element["Nullable"] == nil {
                members["$Nullable"] = true
            }
        }
        copy(["UnderlyingType", "MaxLength", "Precision", "Scale", "Unicode"], element, to: &members)
        // A text even where it is a number (CSDL JSON 4.01, section 7.2.6).
        if let reference = element["SRID"] { members["$SRID"] = .string(reference) }
        if let standard = element["DefaultValue"] { members["$DefaultValue"] = .string(standard) }
        JSONAnnotationWriter.add(element, to: &members)
        return members
    }

    private static func enumeration(_ element: CSDLElement) -> WireDictionary {
        var members: WireDictionary = ["$Kind": "EnumType"]
        copy(["UnderlyingType", "IsFlags"], element, to: &members)
        for (position, member) in element.all("Member").enumerated() {
            let name = member["Name"] ?? ""
            members[name] = .int64(member["Value"].flatMap { Int64($0) } ?? Int64(position))
            JSONAnnotationWriter.add(member, to: &members, target: name)
        }
        JSONAnnotationWriter.add(element, to: &members)
        return members
    }

    private static func operation(_ element: CSDLElement) -> WireDictionary {
        var members: WireDictionary = ["$Kind": .string(element.name)]
        copy(["IsBound", "IsComposable", "EntitySetPath"], element, to: &members)
        let parameters = element.all("Parameter").map { parameter in
            var inner: WireDictionary = ["$Name": .string(parameter["Name"] ?? "")]
            for member in typed(parameter, kind: nil) { inner[member.key] = member.value }
            return WireValue.dictionary(inner)
        }
        if !parameters.isEmpty { members["$Parameter"] = .array(parameters) }
        if let result = element.first("ReturnType") { members["$ReturnType"] = .dictionary(typed(result, kind: nil)) }
        JSONAnnotationWriter.add(element, to: &members)
        return members
    }

    /// Attributes as members with a dollar sign: flags and numbers as such; a false flag is left out, but for
    /// `Unicode`, which is true by default.
    static func copy(_ names: [String], _ element: CSDLElement, to members: inout WireDictionary) {
        for name in names {
            guard let text = element[name] else { continue }
            switch text {
            case "true": members["$\(name)"] = true
            case "false": if name == "Unicode" { members["$\(name)"] = false }
            default: members["$\(name)"] = Int64(text).map(WireValue.int64) ?? .string(text)
            }
        }
    }
}

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
