/// The named types of a document, each read on its own; inheritance comes after it.
struct TypeReader {
    let scope: NameScope
    let annotations: AnnotationReader

    func structured(_ element: CSDLElement, in namespace: String) throws(CSDLProblem) -> StructuredType {
        let name = QualifiedName(namespace, try element.requiredName())
        let isEntity = element.name == "EntityType"
        var base: QualifiedName?
        if let text = element["BaseType"] {
            base = try scope.structured(text, isEntity ? .entity : .complex, line: element.line)
        }
        var properties: [StructuralProperty] = []
        for property in element.all("Property") { properties.append(try self.property(property, of: name)) }
        var navigation: [NavigationProperty] = []
        for property in element.all("NavigationProperty") { navigation.append(try self.navigation(property, of: name)) }
        return StructuredType(
            name: name, isEntity: isEntity, baseType: base, isAbstract: try element.flag("Abstract"),
            isOpen: try element.flag("OpenType"), hasStream: try element.flag("HasStream"),
            key: try element.first("Key").map(key) ?? [], properties: properties, navigation: navigation,
            annotations: try annotations.annotations(of: element, target: name.description))
    }

    /// The type that an attribute and its facets describe.
    func reference(
        _ element: CSDLElement, attribute: String = "Type", nullable: Bool = true
    ) throws(CSDLProblem) -> TypeReference {
        let type = try scope.type(try element.required(attribute), line: element.line)
        return TypeReference(
            type.name, isCollection: type.isCollection, isNullable: try element.flag("Nullable", nullable),
            facets: try facets(element))
    }

    func enumeration(_ element: CSDLElement, in namespace: String) throws(CSDLProblem) -> EnumerationType {
        let name = QualifiedName(namespace, try element.requiredName())
        var members: [EnumerationType.Member] = []
        for member in element.all("Member") {
            let next = members.last.map { $0.value &+ 1 } ?? 0
            guard let value = member["Value"].map({ Int64($0) }) ?? next else {
                throw CSDLProblem("A member's value is an integer.", line: member.line)
            }
            members.append(EnumerationType.Member(try member.requiredName(), value))
        }
        return EnumerationType(
            name: name, underlying: try underlying(element, standard: .int32), isFlags: try element.flag("IsFlags"),
            members: members, annotations: try annotations.annotations(of: element, target: name.description))
    }

    func definition(_ element: CSDLElement, in namespace: String) throws(CSDLProblem) -> TypeDefinition {
        let name = QualifiedName(namespace, try element.requiredName())
        return TypeDefinition(
            name: name, underlying: try underlying(element, standard: nil), facets: try facets(element),
            annotations: try annotations.annotations(of: element, target: name.description))
    }

    private func property(_ element: CSDLElement, of owner: QualifiedName) throws(CSDLProblem) -> StructuralProperty {
        let name = try element.requiredName()
        return StructuralProperty(
            name, try reference(element), defaultValue: element["DefaultValue"], declaredBy: owner,
            annotations: try annotations.annotations(of: element, target: "\(owner)/\(name)"))
    }

    private func navigation(_ element: CSDLElement, of owner: QualifiedName) throws(CSDLProblem) -> NavigationProperty {
        let name = try element.requiredName()
        let type = try scope.type(try element.required("Type"), line: element.line)
        guard case .entity(let target) = type.name else {
            throw CSDLProblem("\(owner)/\(name) leads to no entity type.", line: element.line)
        }
        var constraints: [ReferentialConstraint] = []
        for constraint in element.all("ReferentialConstraint") {
            constraints.append(
                ReferentialConstraint(
                    property: try constraint.required("Property"),
                    referenced: try constraint.required("ReferencedProperty")))
        }
        return NavigationProperty(
            name, target: target, isCollection: type.isCollection, isNullable: try element.flag("Nullable", true),
            partner: element["Partner"], containsTarget: try element.flag("ContainsTarget"), constraints: constraints,
            onDelete: element.first("OnDelete")?["Action"].flatMap(OnDelete.init), declaredBy: owner,
            annotations: try annotations.annotations(of: element, target: "\(owner)/\(name)"))
    }

    private func key(_ element: CSDLElement) throws(CSDLProblem) -> [KeyProperty] {
        var key: [KeyProperty] = []
        for part in element.all("PropertyRef") {
            let path = try part.required("Name").split(separator: "/").map(String.init)
            key.append(KeyProperty(path: path, alias: part["Alias"]))
        }
        return key
    }

    private func underlying(_ element: CSDLElement, standard: PrimitiveType?) throws(CSDLProblem) -> PrimitiveType {
        guard let text = element["UnderlyingType"] else {
            if let standard { return standard }
            throw CSDLProblem("\(element.name) lacks UnderlyingType.", line: element.line)
        }
        guard case .primitive(let type) = try scope.typeName(text, line: element.line) else {
            throw CSDLProblem("An underlying type is a primitive one.", line: element.line)
        }
        return type
    }

    private func facets(_ element: CSDLElement) throws(CSDLProblem) -> Facets {
        Facets(
            maximumLength: element["MaxLength"] == "max" ? nil : try element.number("MaxLength"),
            precision: try element.number("Precision"), scale: try scale(element),
            isUnicode: try element.flag("Unicode", true), srid: element["SRID"],
            legacyType: element[CSDLElement.legacyType])
    }

    private func scale(_ element: CSDLElement) throws(CSDLProblem) -> Facets.Scale? {
        switch element["Scale"]?.lowercased() {
        case nil: nil
        case "variable": .variable
        case "floating": .floating
        default: try element.number("Scale").map(Facets.Scale.digits)
        }
    }
}

extension CSDLElement {
    /// An attribute that the upgrade from version 2 leaves, never written.
    static let legacyType = "{portico}legacyType"
}
