extension CSDLElement {
    private static let wrappers: Set<String> = [
        "http://schemas.microsoft.com/ado/2007/06/edmx", "http://schemas.microsoft.com/ado/2009/11/edmx",
    ]

    /// A document of version 2 or 3 in version 4's terms; any other as it is.
    func upgradedFromVersion2() throws(CSDLProblem) -> CSDLElement {
        guard name == "Edmx", Self.wrappers.contains(namespace) else { return self }
        let schemas = first("DataServices")?.all("Schema") ?? []
        let upgrade = SchemaUpgrade(
            associations: try Associations(schemas), entityTypes: Self.entityTypes(schemas))
        var upgraded: [CSDLElement] = []
        for schema in schemas { upgraded.append(try upgrade.schema(schema)) }
        let services = CSDLElement("DataServices", namespace: CSDLNamespace.edmx, children: upgraded)
        return CSDLElement(
            "Edmx", namespace: CSDLNamespace.edmx, [Attribute("Version", "4.0")],
            children: Self.references(services.terms) + [services])
    }

    private static func entityTypes(_ schemas: [CSDLElement]) -> [QualifiedName: CSDLElement] {
        let types = schemas.flatMap { schema in
            schema.all("EntityType").map { (QualifiedName(schema["Namespace"] ?? "", $0["Name"] ?? ""), $0) }
        }
        return Dictionary(types, uniquingKeysWith: { $1 })
    }

    /// The terms of the annotations in it.
    private var terms: Set<String> {
        children.reduce(into: Set([self["Term"]].compactMap { $0 })) { $0.formUnion($1.terms) }
    }

    private static func references(_ terms: Set<String>) -> [CSDLElement] {
        let namespaces = Set(terms.compactMap { QualifiedName($0)?.namespace }).sorted()
        return namespaces.compactMap { namespace in
            SAPTerm.vocabularies[namespace].map { address in
                CSDLElement(
                    "Reference", namespace: CSDLNamespace.edmx, [Attribute("Uri", address)],
                    children: [
                        CSDLElement("Include", namespace: CSDLNamespace.edmx, [Attribute("Namespace", namespace)])
                    ])
            }
        }
    }
}

/// Version 2's associations, which say what version 4's navigation properties say themselves.
struct Associations {
    struct End {
        let role: String
        let type: String
        let multiplicity: String
    }

    struct Association {
        let ends: [End]
        let principalRole: String?
        let principal: [String]
        let dependent: [String]
        let cascades: [String: Bool]
    }

    /// Where a navigation property comes from, by its association and the role at its far end.
    private var partners: [String: String] = [:]
    private var associations: [QualifiedName: Association] = [:]
    private var sets: [(association: QualifiedName, ends: [String: String])] = []
    private let aliases: [String: String]

    init(_ schemas: [CSDLElement]) throws(CSDLProblem) {
        aliases = Dictionary(
            schemas.compactMap { schema in schema["Alias"].map { ($0, schema["Namespace"] ?? "") } },
            uniquingKeysWith: { $1 })
        for schema in schemas {
            for element in schema.all("Association") {
                associations[QualifiedName(schema["Namespace"] ?? "", try element.required("Name"))] =
                    try Self.association(element)
            }
            for set in schema.all("EntityContainer").flatMap({ $0.all("AssociationSet") }) {
                let ends = set.all("End").map { ($0["Role"] ?? "", $0["EntitySet"] ?? "") }
                sets.append((try name(set.required("Association")), Dictionary(ends, uniquingKeysWith: { $1 })))
            }
            for property in schema.all("EntityType").flatMap({ $0.all("NavigationProperty") }) {
                let relationship = try name(property.required("Relationship"))
                partners["\(relationship)/\(property["FromRole"] ?? "")"] = property["Name"]
            }
        }
    }

    func name(_ text: String) -> QualifiedName {
        let name = QualifiedName(text) ?? QualifiedName("", text)
        return aliases[name.namespace].map { QualifiedName($0, name.name) } ?? name
    }

    subscript(relationship: QualifiedName) -> Association? { associations[relationship] }

    /// The navigation property that leads back.
    func partner(_ relationship: QualifiedName, from role: String) -> String? { partners["\(relationship)/\(role)"] }

    /// The set at the far end, for entities of `set`.
    func target(_ relationship: QualifiedName, from set: String, role: String, to far: String) -> String? {
        sets.first { $0.association == relationship && $0.ends[role] == set }?.ends[far]
    }

    private static func association(_ element: CSDLElement) throws(CSDLProblem) -> Association {
        var ends: [End] = []
        for end in element.all("End") {
            ends.append(
                End(
                    role: end["Role"] ?? "", type: try end.required("Type"),
                    multiplicity: try end.required("Multiplicity")))
        }
        let constraint = element.first("ReferentialConstraint")
        func properties(_ side: String) -> [String] {
            constraint?.first(side)?.all("PropertyRef").compactMap { $0["Name"] } ?? []
        }
        let cascades = element.all("End").map { ($0["Role"] ?? "", $0.first("OnDelete")?["Action"] == "Cascade") }
        return Association(
            ends: ends, principalRole: constraint?.first("Principal")?["Role"], principal: properties("Principal"),
            dependent: properties("Dependent"), cascades: Dictionary(cascades, uniquingKeysWith: { $1 }))
    }
}

/// One schema of version 2 in version 4's terms. What only version 2 knows is left out: documentation, and attributes of
/// other namespaces but those of SAP's that version 4 has a term for (``SAPAttributes``).
struct SchemaUpgrade {
    let associations: Associations
    /// Entity types of all schemas, by their qualified names.
    let entityTypes: [QualifiedName: CSDLElement]

    func schema(_ schema: CSDLElement) throws(CSDLProblem) -> CSDLElement {
        var upgraded = element(schema, ["Namespace", "Alias"])
        for child in schema.children {
            switch child.name {
            case "EntityType", "ComplexType": upgraded.children.append(try structured(child))
            case "EnumType": upgraded.children.append(plain(child))
            case "EntityContainer":
                let operations = try child.all("FunctionImport").map { item throws(CSDLProblem) in
                    try operation(item)
                }
                upgraded.children += operations
                upgraded.children.append(try container(child, schema))
            default: continue
            }
        }
        return upgraded
    }

    private func structured(_ type: CSDLElement) throws(CSDLProblem) -> CSDLElement {
        var upgraded = element(type, ["Name", "BaseType", "Abstract", "OpenType"])
        if type["{\(CSDLNamespace.metadata2)}HasStream"]?.lowercased() == "true" {
            upgraded.attributes.append(.init("HasStream", "true"))
        }
        upgraded.children += SAPAttributes(type).label
        let units = Self.units(type)
        for child in type.children {
            switch child.name {
            case "Key": upgraded.children.append(plain(child))
            case "Property": upgraded.children.append(property(child, units: units))
            case "NavigationProperty": upgraded.children.append(try navigation(child))
            default: continue
            }
        }
        return upgraded
    }

    /// Properties that hold a unit of measure; SAP distinguishes them from currencies by their semantics.
    private static func units(_ type: CSDLElement) -> Set<String> {
        let units = type.all("Property").filter { SAPAttributes($0)["semantics"] == "unit-of-measure" }
        return Set(units.compactMap { $0["Name"] })
    }

    private func property(_ property: CSDLElement, units: Set<String> = []) -> CSDLElement {
        var upgraded = element(
            property,
            ["Name", "Type", "Nullable", "DefaultValue", "MaxLength", "Precision", "Scale", "Unicode", "SRID"])
        if property["CollectionKind"] != nil { upgraded.set("Type", "Collection(\(upgraded["Type"] ?? ""))") }
        upgraded.modernize()
        upgraded.children += SAPAttributes(property).property(units: units)
        return upgraded
    }

    private func navigation(_ property: CSDLElement) throws(CSDLProblem) -> CSDLElement {
        let relationship = associations.name(try property.required("Relationship"))
        let (from, to) = (try property.required("FromRole"), try property.required("ToRole"))
        guard let association = associations[relationship], let end = association.ends.first(where: { $0.role == to })
        else { throw CSDLProblem("There is no association \(relationship) with a role \(to).", line: property.line) }
        var upgraded = element(property, ["Name"])
        let isMany = end.multiplicity == "*"
        upgraded.set("Type", isMany ? "Collection(\(end.type))" : end.type)
        if end.multiplicity == "1" { upgraded.set("Nullable", "false") }
        if let partner = associations.partner(relationship, from: to), from != to { upgraded.set("Partner", partner) }
        if association.principalRole == to, !isMany {
            for (dependent, principal) in zip(association.dependent, association.principal) {
                upgraded.children.append(
                    CSDLElement(
                        "ReferentialConstraint",
                        [.init("Property", dependent), .init("ReferencedProperty", principal)]))
            }
        }
        if association.cascades[from] == true {
            upgraded.children.append(CSDLElement("OnDelete", [.init("Action", "Cascade")]))
        }
        return upgraded
    }

    private func container(_ container: CSDLElement, _ schema: CSDLElement) throws(CSDLProblem) -> CSDLElement {
        var upgraded = element(container, ["Name"])
        for set in container.all("EntitySet") {
            var item = element(set, ["Name", "EntityType"])
            let attributes = SAPAttributes(set)
            let restrictions = SAPRestrictions(set: attributes, properties: properties(of: set))
            item.children = try bindings(set, schema) + attributes.label + restrictions.annotations
            upgraded.children.append(item)
        }
        for item in container.all("FunctionImport") {
            let kind = Self.kind(of: item)
            var attributes: [CSDLElement.Attribute] = [
                .init("Name", try item.required("Name")),
                .init(kind, "\(schema["Namespace"] ?? "").\(try item.required("Name"))"),
            ]
            if let set = item["EntitySet"] { attributes.append(.init("EntitySet", set)) }
            upgraded.children.append(CSDLElement("\(kind)Import", attributes, line: item.line))
        }
        return upgraded
    }

    /// The properties of a set's type, its base types' too.
    private func properties(of set: CSDLElement) -> [(name: String, attributes: SAPAttributes)] {
        var properties: [(name: String, attributes: SAPAttributes)] = []
        var next = set["EntityType"]
        var seen: Set<QualifiedName> = []
        while let name = next.map(associations.name), seen.insert(name).inserted, let type = entityTypes[name] {
            properties += type.all("Property").map { ($0["Name"] ?? "", SAPAttributes($0)) }
            next = type["BaseType"]
        }
        return properties
    }

    private func bindings(_ set: CSDLElement, _ schema: CSDLElement) throws(CSDLProblem) -> [CSDLElement] {
        let type = associations.name(set["EntityType"] ?? "")
        var bindings: [CSDLElement] = []
        let declared = schema.all("EntityType").first { $0["Name"] == type.name }
        for property in declared?.all("NavigationProperty") ?? [] {
            guard
                let target = associations.target(
                    associations.name(try property.required("Relationship")), from: set["Name"] ?? "",
                    role: property["FromRole"] ?? "", to: property["ToRole"] ?? "")
            else { continue }
            bindings.append(
                CSDLElement(
                    "NavigationPropertyBinding", [.init("Path", property["Name"] ?? ""), .init("Target", target)]))
        }
        return bindings
    }

    /// Version 2's function imports that are called with POST change something: actions.
    private static func kind(of item: CSDLElement) -> String {
        item["{\(CSDLNamespace.metadata2)}HttpMethod"] == "POST" ? "Action" : "Function"
    }

    private func operation(_ item: CSDLElement) throws(CSDLProblem) -> CSDLElement {
        var operation = CSDLElement(
            Self.kind(of: item), [.init("Name", try item.required("Name"))], line: item.line)
        for parameter in item.all("Parameter") { operation.children.append(property(parameter)) }
        if let type = item["ReturnType"] ?? item.first("ReturnType")?["Type"] {
            var result = CSDLElement("ReturnType", [.init("Type", type)], line: item.line)
            result.modernize()
            operation.children.append(result)
        }
        return operation
    }

    /// The element with these of its attributes, without children.
    private func element(_ source: CSDLElement, _ attributes: [String]) -> CSDLElement {
        CSDLElement(
            source.name, attributes.compactMap { name in source[name].map { .init(name, Self.spelled($0, name)) } },
            line: source.line)
    }

    /// Facets and truths as version 4 spells them. The tools of versions 1 to 3 write `Max`, `Variable` and `True`, and white
    /// space around what XML Schema lets have it.
    private static func spelled(_ value: String, _ attribute: String) -> String {
        switch attribute {
        case "Nullable", "Unicode", "Abstract", "OpenType", "IsFlags", "MaxLength", "Precision", "Scale", "SRID":
            value.filter { !" \t\n\r".contains($0) }.lowercased()
        default: value
        }
    }

    private func plain(_ source: CSDLElement) -> CSDLElement {
        CSDLElement(
            source.name,
            source.attributes.filter { !$0.name.hasPrefix("{") }.map {
                .init($0.name, Self.spelled($0.value, $0.name))
            },
            children: source.children.map(plain),
            line: source.line)
    }
}

extension CSDLElement {
    fileprivate mutating func set(_ attribute: String, _ value: String) {
        if let position = attributes.firstIndex(where: { $0.name == attribute }) {
            attributes[position].value = value
        } else {
            attributes.append(Attribute(attribute, value))
        }
    }

    /// A type of version 2 that version 4 lacks becomes its successor, and its name stays known.
    fileprivate mutating func modernize() {
        switch self["Type"] {
        case "Edm.DateTime": set("Type", "Edm.DateTimeOffset")
        case "Edm.Time": set("Type", "Edm.TimeOfDay")
        default: return
        }
        let legacy = self["Type"] == "Edm.TimeOfDay" ? "Time" : "DateTime"
        attributes.append(Attribute(Self.legacyType, legacy))
    }
}
