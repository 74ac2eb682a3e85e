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
}
