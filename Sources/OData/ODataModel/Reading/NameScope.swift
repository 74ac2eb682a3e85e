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
