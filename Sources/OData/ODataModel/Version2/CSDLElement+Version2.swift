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

    /// Of the annotations in it.
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
