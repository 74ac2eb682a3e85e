/// A service's entity data model (CSDL 4.01): every name that it uses is resolved, inheritance is flattened.
///
/// It is read from CSDL (``init(csdl:)``), never changed, and can be asked from any task. A class, because whatever knows a
/// model is handed on with each request.
public final class EntityDataModel: Sendable {
    /// The document it came from, in version 4's terms: `$metadata` is written from it.
    public let document: CSDLElement
    /// Namespaces of its own schemas, in the order of the document.
    public let namespaces: [String]
    /// Alias to namespace, of its own schemas and of those it includes.
    public let aliases: [String: String]
    public let types: [QualifiedName: SchemaType]
    /// Overloads by name.
    public let operations: [QualifiedName: [SchemaOperation]]
    /// Names of the terms that it defines.
    public let terms: Set<QualifiedName>
    public let container: EntityContainer
    /// Direct subtypes, in the order of the document.
    let subtypes: [QualifiedName: [QualifiedName]]

    init(
        document: CSDLElement, namespaces: [String], aliases: [String: String], types: [QualifiedName: SchemaType],
        operations: [QualifiedName: [SchemaOperation]], terms: Set<QualifiedName>, container: EntityContainer,
        subtypes: [QualifiedName: [QualifiedName]]
    ) {
        self.document = document
        self.namespaces = namespaces
        self.aliases = aliases
        self.types = types
        self.operations = operations
        self.terms = terms
        self.container = container
        self.subtypes = subtypes
    }
}

extension EntityDataModel {
    /// A qualified name as a request spells it, with an alias' namespace put in its place.
    public func resolve(_ name: QualifiedName) -> QualifiedName {
        aliases[name.namespace].map { QualifiedName($0, name.name) } ?? name
    }

    public func structured(_ name: QualifiedName) -> StructuredType? {
        if case .structured(let type)? = types[name] { type } else { nil }
    }

    public func structured(_ name: TypeName) -> StructuredType? {
        name.schemaName.flatMap { structured($0) }
    }

    public func enumeration(_ name: QualifiedName) -> EnumerationType? {
        if case .enumeration(let type)? = types[name] { type } else { nil }
    }

    public func definition(_ name: QualifiedName) -> TypeDefinition? {
        if case .definition(let type)? = types[name] { type } else { nil }
    }

    /// The primitive type behind a name: its own, a definition's, an enumeration's underlying one; nil for structured
    /// and abstract types.
    public func primitive(behind name: TypeName) -> PrimitiveType? {
        switch name {
        case .primitive(let type): type
        case .definition(let name): definition(name)?.underlying
        case .enumeration(let name): enumeration(name)?.underlying
        case .complex, .entity, .abstract: nil
        }
    }

    /// Whether `type` is `base` or derives from it.
    public func type(_ type: QualifiedName, isA base: QualifiedName) -> Bool {
        var current: QualifiedName? = type
        while let name = current {
            if name == base { return true }
            current = structured(name)?.baseType
        }
        return false
    }

    /// The type and all that derive from it, the type first.
    public func family(of type: QualifiedName) -> [QualifiedName] {
        [type] + (subtypes[type] ?? []).flatMap { family(of: $0) }
    }

    /// Where entities live that `navigation` leads to from the set or singleton `source`; nil where no binding says so.
    public func target(of navigation: String, from source: String) -> String? {
        let bindings = container.entitySet(source)?.bindings ?? container.singleton(source)?.bindings ?? []
        return bindings.first { $0.path.last == navigation }?.target
    }

    /// The type of a set's or a singleton's entities.
    public func entityType(of source: String) -> StructuredType? {
        (container.entitySet(source)?.type ?? container.singleton(source)?.type).flatMap { structured($0) }
    }
}
