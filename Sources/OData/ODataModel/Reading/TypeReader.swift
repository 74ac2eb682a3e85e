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

/// Functions and actions of a document.
struct OperationReader {
    let types: TypeReader

    func operation(_ element: CSDLElement, in namespace: String) throws(CSDLProblem) -> SchemaOperation {
        let name = QualifiedName(namespace, try element.requiredName())
        let isBound = try element.flag("IsBound")
        var parameters: [SchemaOperation.Parameter] = []
        for parameter in element.all("Parameter") { parameters.append(try self.parameter(parameter, of: name)) }
        guard !isBound || !parameters.isEmpty else {
            throw CSDLProblem("The bound operation \(name) has no parameter.", line: element.line)
        }
        return SchemaOperation(
            name: name, kind: element.name == "Function" ? .function : .action, isBound: isBound,
            isComposable: try element.flag("IsComposable"), parameters: parameters, result: try result(element),
            entitySetPath: (element["EntitySetPath"] ?? "").split(separator: "/").map(String.init),
            annotations: try types.annotations.annotations(of: element, target: name.description))
    }

    private func parameter(
        _ element: CSDLElement, of operation: QualifiedName
    ) throws(CSDLProblem) -> SchemaOperation.Parameter {
        let name = try element.requiredName()
        let annotations = try types.annotations.annotations(of: element, target: "\(operation)/\(name)")
        return SchemaOperation.Parameter(
            name, try types.reference(element), isOptional: annotations.isTagged(CoreTerm.optionalParameter))
    }

    private func result(_ element: CSDLElement) throws(CSDLProblem) -> TypeReference? {
        guard let result = element.first("ReturnType") else {
            guard element.name == "Action" else {
                throw CSDLProblem("A function answers something: it lacks ReturnType.", line: element.line)
            }
            return nil
        }
        return try types.reference(result)
    }
}

/// The names of a document: what each stands for, aliases included.
struct NameScope {
    enum Kind: Equatable {
        case entity
        case complex
        case enumeration
        case definition
    }

    let namespaces: [String]
    let aliases: [String: String]
    private let kinds: [QualifiedName: Kind]

    private static let kindsByElement: [String: Kind] = [
        "EntityType": .entity, "ComplexType": .complex, "EnumType": .enumeration, "TypeDefinition": .definition,
    ]
    private static let abstractNames: Set<String> = [
        "AnnotationPath", "AnyPropertyPath", "ComplexType", "EntityType", "ModelElementPath",
        "NavigationPropertyPath", "Path", "PrimitiveType", "PropertyPath", "Untyped",
    ]

    init(references: [CSDLElement], schemas: [CSDLElement]) throws(CSDLProblem) {
        var aliases: [String: String] = [:]
        for include in references.flatMap({ $0.all("Include") }) {
            if let alias = include["Alias"], let namespace = include["Namespace"] { aliases[alias] = namespace }
        }
        var kinds: [QualifiedName: Kind] = [:]
        for schema in schemas {
            let namespace = try schema.required("Namespace")
            if let alias = schema["Alias"] { aliases[alias] = namespace }
            for element in schema.children {
                guard let kind = Self.kindsByElement[element.name] else { continue }
                let name = QualifiedName(namespace, try element.requiredName())
                guard kinds.updateValue(kind, forKey: name) == nil else {
                    throw CSDLProblem("The type \(name) is there twice.", line: element.line)
                }
            }
        }
        self.namespaces = schemas.compactMap { $0["Namespace"] }
        self.aliases = aliases
        self.kinds = kinds
    }

    /// A qualified name with the alias' namespace put in its place.
    func qualified(_ text: some StringProtocol, line: Int) throws(CSDLProblem) -> QualifiedName {
        guard let name = QualifiedName(text) else {
            throw CSDLProblem("“\(text)” is no qualified name.", line: line)
        }
        return aliases[name.namespace].map { QualifiedName($0, name.name) } ?? name
    }

    /// A path or a term whose first part may begin with an alias.
    func expanded(_ text: String) -> String {
        let end = text.firstIndex { $0 == "/" || $0 == "(" } ?? text.endIndex
        guard let name = QualifiedName(text[..<end]), let namespace = aliases[name.namespace] else { return text }
        return "\(namespace).\(name.name)\(text[end...])"
    }

    /// A structured type's name that must be of that kind.
    func structured(_ text: String, _ kind: Kind, line: Int) throws(CSDLProblem) -> QualifiedName {
        let name = try qualified(text, line: line)
        guard kinds[name] == kind else {
            throw CSDLProblem("There is no \(kind == .entity ? "entity" : "complex") type \(name).", line: line)
        }
        return name
    }

    func typeName(_ text: some StringProtocol, line: Int) throws(CSDLProblem) -> TypeName {
        if text.hasPrefix("Edm."), let builtIn = Self.builtIn(String(text.dropFirst(4))) { return builtIn }
        let name = try qualified(text, line: line)
        switch kinds[name] {
        case .entity: return .entity(name)
        case .complex: return .complex(name)
        case .enumeration: return .enumeration(name)
        case .definition: return .definition(name)
        case nil: throw CSDLProblem("There is no type \(name).", line: line)
        }
    }

    /// `Name` or `Collection(Name)`.
    func type(_ text: String, line: Int) throws(CSDLProblem) -> (name: TypeName, isCollection: Bool) {
        guard text.hasPrefix("Collection("), text.hasSuffix(")") else { return (try typeName(text, line: line), false) }
        return (try typeName(text.dropFirst("Collection(".count).dropLast(), line: line), true)
    }

    /// Whether `Edm` has such a type.
    static func isBuiltIn(_ name: String) -> Bool { builtIn(name) != nil }

    private static func builtIn(_ name: String) -> TypeName? {
        if let primitive = PrimitiveType(rawValue: name) { return .primitive(primitive) }
        return abstractNames.contains(name) ? .abstract(name) : nil
    }
}

extension CSDLElement {
    func required(_ attribute: String) throws(CSDLProblem) -> String {
        guard let value = self[attribute] else { throw CSDLProblem("\(name) lacks \(attribute).", line: line) }
        return value
    }

    /// The `Name`, which is a simple identifier (CSDL 4.01, section 17.2).
    func requiredName() throws(CSDLProblem) -> String {
        let value = try required("Name")
        guard Self.isSimpleIdentifier(value) else {
            throw CSDLProblem("“\(value)” is no simple identifier.", line: line)
        }
        return value
    }

    /// True or false; `standard` where the attribute is left out.
    func flag(_ attribute: String, _ standard: Bool = false) throws(CSDLProblem) -> Bool {
        switch self[attribute] {
        case nil: return standard
        case "true", "1": return true
        case "false", "0": return false
        case let other?: throw CSDLProblem("\(attribute) is true or false, not “\(other)”.", line: line)
        }
    }

    func number(_ attribute: String) throws(CSDLProblem) -> Int? {
        guard let text = self[attribute] else { return nil }
        guard let number = Int(text), number >= 0 else {
            throw CSDLProblem("\(attribute) is a number, not “\(text)”.", line: line)
        }
        return number
    }

    private static func isSimpleIdentifier(_ text: String) -> Bool {
        guard let first = text.unicodeScalars.first, text.unicodeScalars.count <= 128 else { return false }
        guard first == "_" || first.properties.isAlphabetic else { return false }
        return text.unicodeScalars.allSatisfy {
            $0 == "_" || $0.properties.isAlphabetic || $0.properties.numericType != nil
                || $0.properties.generalCategory == .nonspacingMark || $0.properties.generalCategory == .spacingMark
        }
    }
}
