/// What a service offers (CSDL 4.01, section 13). One container, extended ones merged in.
public struct EntityContainer: Sendable, Equatable {
    public let name: QualifiedName
    /// In the order of the document, as the service document has them.
    public let entitySets: [EntitySet]
    public let singletons: [Singleton]
    public let functionImports: [OperationImport]
    public let actionImports: [OperationImport]
    public let annotations: Annotations

    public init(
        name: QualifiedName, entitySets: [EntitySet] = [], singletons: [Singleton] = [],
        functionImports: [OperationImport] = [], actionImports: [OperationImport] = [],
        annotations: Annotations = Annotations()
    ) {
        self.name = name
        self.entitySets = entitySets
        self.singletons = singletons
        self.functionImports = functionImports
        self.actionImports = actionImports
        self.annotations = annotations
    }

    public func entitySet(_ name: some StringProtocol) -> EntitySet? { entitySets.first { $0.name == name } }
    public func singleton(_ name: some StringProtocol) -> Singleton? { singletons.first { $0.name == name } }

    public func functionImport(_ name: some StringProtocol) -> OperationImport? {
        functionImports.first { $0.name == name }
    }

    public func actionImport(_ name: some StringProtocol) -> OperationImport? {
        actionImports.first { $0.name == name }
    }
}

/// A named collection of entities.
public struct EntitySet: Sendable, Equatable {
    public let name: String
    public let type: QualifiedName
    public let includedInServiceDocument: Bool
    public let bindings: [NavigationBinding]
    public let annotations: Annotations

    public init(
        _ name: String, type: QualifiedName, includedInServiceDocument: Bool = true,
        bindings: [NavigationBinding] = [], annotations: Annotations = Annotations()
    ) {
        self.name = name
        self.type = type
        self.includedInServiceDocument = includedInServiceDocument
        self.bindings = bindings
        self.annotations = annotations
    }
}

/// One entity under a name of its own.
public struct Singleton: Sendable, Equatable {
    public let name: String
    public let type: QualifiedName
    public let isNullable: Bool
    public let bindings: [NavigationBinding]
    public let annotations: Annotations

    public init(
        _ name: String, type: QualifiedName, isNullable: Bool = false, bindings: [NavigationBinding] = [],
        annotations: Annotations = Annotations()
    ) {
        self.name = name
        self.type = type
        self.isNullable = isNullable
        self.bindings = bindings
        self.annotations = annotations
    }
}

/// Where the entities live that a navigation property leads to.
public struct NavigationBinding: Sendable, Hashable {
    /// From the set's type: complex properties and type casts, then the navigation property.
    public let path: [String]
    /// An entity set's or a singleton's name, of this container.
    public let target: String

    public init(path: [String], target: String) {
        self.path = path
        self.target = target
    }
}

/// An unbound operation that the service's root offers.
public struct OperationImport: Sendable, Equatable {
    public let name: String
    /// All overloads have this name.
    public let operation: QualifiedName
    /// The set in which resulting entities live.
    public let entitySet: String?
    public let includedInServiceDocument: Bool
    public let annotations: Annotations

    public init(
        _ name: String, operation: QualifiedName, entitySet: String? = nil, includedInServiceDocument: Bool = false,
        annotations: Annotations = Annotations()
    ) {
        self.name = name
        self.operation = operation
        self.entitySet = entitySet
        self.includedInServiceDocument = includedInServiceDocument
        self.annotations = annotations
    }
}
