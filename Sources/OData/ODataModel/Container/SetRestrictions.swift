/// What a model says that a set or singleton does not take of requests, property by property (the Capabilities
/// vocabulary). Properties are named by their paths: `Address/City`. Where nothing is said, everything is taken.
public struct SetRestrictions: Sendable, Equatable {
    /// What a new entity cannot be given.
    public let nonInsertable: Set<String>
    public let nonFilterable: Set<String>
    public let nonSortable: Set<String>
    /// What every filter of the set must look at.
    public let requiredInFilter: Set<String>
    /// What a filter may do with a property, by its path: `SingleValue`, `MultiValue`, `SingleRange`.
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
    /// Of a path expression; in CSDL JSON it is a text.
    var pathValue: String? {
        switch self {
        case .path(let path), .string(let path): path
        default: nil
        }
    }
}

extension EntityDataModel {
    /// Of a set or singleton by its name.
    public func restrictions(of source: String) -> SetRestrictions {
        SetRestrictions(container.entitySet(source)?.annotations ?? container.singleton(source)?.annotations)
    }
}
