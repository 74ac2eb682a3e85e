/// How entities of one type are nodes of trees (the Aggregation vocabulary's term `RecursiveHierarchy`).
public struct RecursiveHierarchy: Sendable, Equatable {
    /// The path to the property that tells a node from all others.
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
