/// The container of a service (CSDL 4.01, section 13). One container, extended ones merged in.
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

/// Restrictions of what a set or singleton takes of requests, property by property (the Capabilities
/// vocabulary). Properties are named by their paths: `Address/City`. By default everything is allowed.
public struct SetRestrictions: Sendable, Equatable {
    /// Properties that a new entity cannot be given.
    public let nonInsertable: Set<String>
    public let nonFilterable: Set<String>
    public let nonSortable: Set<String>
    /// Properties that every filter of the set must look at.
    public let requiredInFilter: Set<String>
    /// The filter expressions that a property allows, by its path: `SingleValue`, `MultiValue`, `SingleRange`.
    public let filterExpressions: [String: String]
    public let isFilterable: Bool
    public let needsFilter: Bool
    public let isSortable: Bool
    public let isSearchable: Bool
    public let isCountable: Bool

    public init(_ annotations: Annotations?) {
        let filter = annotations?[CoreTerm.filterRestrictions]
        let sort = annotations?[CoreTerm.sortRestrictions]
        nonInsertable = Self.paths(annotations?[CoreTerm.insertRestrictions], "NonInsertableProperties")
        nonFilterable = Self.paths(filter, "NonFilterableProperties")
        nonSortable = Self.paths(sort, "NonSortableProperties")
        requiredInFilter = Self.paths(filter, "RequiredProperties")
        filterExpressions = Self.expressions(filter)
        isFilterable = filter?["Filterable"]?.boolValue ?? true
        needsFilter = filter?["RequiresFilter"]?.boolValue ?? false
        isSortable = sort?["Sortable"]?.boolValue ?? true
        isSearchable = annotations?[CoreTerm.searchRestrictions]?["Searchable"]?.boolValue ?? true
        isCountable = annotations?[CoreTerm.countRestrictions]?["Countable"]?.boolValue ?? true
    }

    private static func paths(_ record: AnnotationValue?, _ member: String) -> Set<String> {
        guard case .collection(let items)? = record?[member] else { return [] }
        return Set(items.compactMap(\.pathValue))
    }

    private static func expressions(_ filter: AnnotationValue?) -> [String: String] {
        guard case .collection(let items)? = filter?["FilterExpressionRestrictions"] else { return [:] }
        return items.reduce(into: [:]) { all, item in
            if let path = item["Property"]?.pathValue { all[path] = item["AllowedExpressions"]?.stringValue }
        }
    }
}

extension AnnotationValue {
    /// The value of a path expression; in CSDL JSON it is a text.
    var pathValue: String? {
        switch self {
        case .path(let path), .string(let path): path
        default: nil
        }
    }
}

extension EntityDataModel {
    /// The restrictions of a set or singleton by its name.
    public func restrictions(of source: String) -> SetRestrictions {
        SetRestrictions(container.entitySet(source)?.annotations ?? container.singleton(source)?.annotations)
    }
}

/// A hierarchy in which entities of one type are nodes of trees (the Aggregation vocabulary's term `RecursiveHierarchy`).
public struct RecursiveHierarchy: Sendable, Equatable {
    /// The path to the property that identifies a node.
    public let nodeProperty: [String]
    /// The navigation property that leads to the nodes above.
    public let parentNavigation: String

    init?(_ annotation: AnnotationValue) {
        guard let node = annotation["NodeProperty"]?.pathValue,
            let parent = annotation["ParentNavigationProperty"]?.pathValue
        else { return nil }
        nodeProperty = node.split(separator: "/").map(String.init)
        parentNavigation = parent
    }
}

extension EntityDataModel {
    /// The one with that qualifier of the type or of those it derives from.
    public func hierarchy(_ qualifier: String, of type: QualifiedName) -> RecursiveHierarchy? {
        guard let structured = structured(type) else { return nil }
        let own = structured.annotations.entries.first {
            $0.term == AggregationTerm.recursiveHierarchy && $0.qualifier == qualifier
        }
        if let own { return RecursiveHierarchy(own.value) }
        return structured.baseType.flatMap { hierarchy(qualifier, of: $0) }
    }

    /// The levels of the leveled hierarchy with that qualifier, of the type or of those it derives from: paths of
    /// properties, the coarsest first, two or more.
    public func leveledHierarchy(_ qualifier: String, of type: QualifiedName) -> [[String]]? {
        guard let structured = structured(type) else { return nil }
        let own = structured.annotations.entries.first {
            $0.term == AggregationTerm.leveledHierarchy && $0.qualifier == qualifier
        }
        guard let own else { return structured.baseType.flatMap { leveledHierarchy(qualifier, of: $0) } }
        guard case .collection(let items) = own.value else { return nil }
        let levels = items.compactMap(\.pathValue).map { $0.split(separator: "/").map(String.init) }
        return levels.count == items.count && levels.count > 1 ? levels : nil
    }
}
