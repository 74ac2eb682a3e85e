/// One step of `$apply`. OData Extension for Data Aggregation 4.0, section 3.
public indirect enum Transformation: Sendable, Hashable {
    case aggregate([AggregateExpression])
    case compute([ComputeItem])
    case concat([[Transformation]])
    case groupBy([GroupingElement], then: [Transformation])
    case filter(Expression)
    case search(SearchExpression)
    case orderBy([OrderItem])
    case top(String)
    case skip(String)
    case identity
    /// `topcount(n,expression)` and its five siblings.
    case ranked(Ranking, amount: Expression, by: Expression)
    case nest([NestedApply])
    case addNested(MemberPath, [NestedApply])
    case join(MemberPath, alias: String, then: [Transformation], outer: Bool)
    case hierarchy(HierarchyStep)
    case custom(MemberPath)

    /// How the standard's are called.
    public static let names: Set<String> = [
        "aggregate", "compute", "concat", "groupby", "filter", "search", "orderby", "top", "skip", "nest", "addnested",
        "join", "outerjoin", "ancestors", "descendants", "traverse", "topcount", "topsum", "toppercent", "bottomcount",
        "bottomsum", "bottompercent", "identity",
    ]

    public enum Ranking: String, Sendable, Hashable, CaseIterable {
        case topcount, topsum, toppercent, bottomcount, bottomsum, bottompercent
    }
}

/// `transformations as name` of `nest` and `addnested`.
public struct NestedApply: Sendable, Hashable {
    public let transformations: [Transformation]
    public let name: String
    public let nameRange: SourceRange

    public init(_ transformations: [Transformation], name: String, at nameRange: SourceRange) {
        self.transformations = transformations
        self.name = name
        self.nameRange = nameRange
    }
}

/// `value with method from … as name`.
public struct AggregateExpression: Sendable, Hashable {
    /// What is aggregated: an expression, a path with `$count` at its end, `$count` alone, or a custom aggregate's name.
    public let value: Expression
    /// `sum`, `min`, `max`, `average`, `countdistinct` or a custom one; nil for `$count` and custom aggregates.
    public let method: WrittenName?
    public let from: [AggregateFrom]
    public let name: String?
    public let range: SourceRange

    public init(
        _ value: Expression, method: WrittenName?, from: [AggregateFrom], name: String?, range: SourceRange
    ) {
        self.value = value
        self.method = method
        self.from = from
        self.name = name
        self.range = range
    }
}

/// `from a,b with method`.
public struct AggregateFrom: Sendable, Hashable {
    public let properties: [MemberPath]
    public let method: WrittenName?

    public init(_ properties: [MemberPath], method: WrittenName?) {
        self.properties = properties
        self.method = method
    }
}

public enum GroupingElement: Sendable, Hashable {
    case property(MemberPath)
    case rollup([MemberPath])
    case rollupRecursive(HierarchyReference, [Transformation])
}

/// Which recursive hierarchy is meant.
public struct HierarchyReference: Sendable, Hashable {
    public let root: MemberPath
    public let qualifier: String
    public let nodeProperty: MemberPath

    public init(root: MemberPath, qualifier: String, nodeProperty: MemberPath) {
        self.root = root
        self.qualifier = qualifier
        self.nodeProperty = nodeProperty
    }
}

/// `ancestors`, `descendants` and `traverse`.
public enum HierarchyStep: Sendable, Hashable {
    case ancestors(HierarchyReference, [[Transformation]], distance: String?, keepStart: Bool)
    case descendants(HierarchyReference, [[Transformation]], distance: String?, keepStart: Bool)
    case traverse(HierarchyReference, postorder: Bool, start: [Transformation], order: [OrderItem])
}
