/// The request of one URL below the service's root, as written. The rule `odataRelativeUri`.
public struct RequestTarget: Sendable, Hashable {
    public let resource: Resource
    public let options: [QueryOption]

    public init(_ resource: Resource, options: [QueryOption]) {
        self.resource = resource
        self.options = options
    }

    public enum Resource: Sendable, Hashable {
        /// The service document: nothing behind the root.
        case service
        case metadata
        case batch
        /// `$entity`, with the type that follows it, if any.
        case entity(WrittenName?)
        case crossJoin([String], [PathSegment])
        /// `$all`, with the type that follows it, if any.
        case all(WrittenName?)
        case path([PathSegment])
    }
}

/// The fragment of a context URL: section 3 of the ABNF.
public struct ContextFragment: Sendable, Hashable {
    /// A set or singleton, then casts and properties; keys are not among them. Empty for a type (`#Edm.String`) and for
    /// what has no name (`#$ref`).
    public let path: [Step]
    /// The selection, if there is one.
    public let selection: [Item]?
    /// `$entity`, `$delta`, …
    public let kind: String?

    public init(path: [Step] = [], selection: [Item]? = nil, kind: String? = nil) {
        self.path = path
        self.selection = selection
        self.kind = kind
    }

    /// One name of a path.
    public struct Step: Sendable, Hashable {
        public let name: WrittenName
        public let range: SourceRange

        public init(_ name: WrittenName, _ range: SourceRange) {
            self.name = name
            self.range = range
        }
    }

    /// One item of what is selected: a path, and what is selected of its target. Annotations and stars have no path.
    public struct Item: Sendable, Hashable {
        public let path: [Step]
        public let selection: [Item]?

        public init(_ path: [Step], selection: [Item]? = nil) {
            self.path = path
            self.selection = selection
        }
    }
}

/// A range in the parsed text: UTF-8 bytes from the start of the raw, still encoded text.
public struct SourceRange: Sendable, Hashable {
    public let start: Int
    public let end: Int

    public init(_ start: Int, _ end: Int) {
        self.start = start
        self.end = end
    }

    /// From the start of this one to the end of the other.
    public func through(_ other: SourceRange) -> SourceRange { SourceRange(start, other.end) }
}

/// A name as a request spells it, with its namespace or the alias of one, or without.
///
/// Namespaces contain dots, names do not, so the last dot separates them.
public struct WrittenName: Sendable, Hashable, CustomStringConvertible {
    public let namespace: String?
    public let name: String

    public init(_ namespace: String?, _ name: String) {
        self.namespace = namespace
        self.name = name
    }

    public var description: String { namespace.map { "\($0).\(name)" } ?? name }
}

/// One query option as it was written, at the top or nested in `$expand`, `$select` or `$count`.
///
/// URL Conventions 4.01, section 5. Several of the same name are kept; that they are an error is the binder's.
public struct QueryOption: Sendable, Hashable {
    public let form: Form
    /// The range of its name.
    public let nameRange: SourceRange
    public let range: SourceRange

    public init(_ form: Form, nameRange: SourceRange, range: SourceRange) {
        self.form = form
        self.nameRange = nameRange
        self.range = range
    }

    public indirect enum Form: Sendable, Hashable {
        case filter(Expression)
        case orderBy([OrderItem])
        case select([SelectItem])
        case expand([ExpandItem])
        case compute([ComputeItem])
        case search(SearchExpression)
        case apply([Transformation])
        /// Digits as written: how large a number is too large is the binder's.
        case top(String)
        case skip(String)
        case index(String)
        case count(Bool)
        case levels(Levels)
        case format(String)
        case skipToken(String)
        case deltaToken(String)
        case schemaVersion(String)
        case id(String)
        /// `@name=value`.
        case alias(String, Expression)
        /// Anything else without `$`, decoded: the application's own, or a parameter of a function given by its name.
        case custom(name: String, value: String?, valueRange: SourceRange)
    }
}

public enum Levels: Sendable, Hashable {
    case number(String)
    case max
}

public struct OrderItem: Sendable, Hashable {
    public let expression: Expression
    public let descending: Bool

    public init(_ expression: Expression, descending: Bool) {
        self.expression = expression
        self.descending = descending
    }
}

/// `path` or `path(options)`; the path may be `*`, and its last segment `.name` with `Namespace.*` as its name's text.
public struct SelectItem: Sendable, Hashable {
    public let path: MemberPath
    public let options: [QueryOption]

    public init(_ path: MemberPath, options: [QueryOption]) {
        self.path = path
        self.options = options
    }
}

/// `path`, `path(options)`, `path/$ref(…)`, `path/$count(…)`, `*`, or `$value`, each as its path's last segments.
public struct ExpandItem: Sendable, Hashable {
    public let path: MemberPath
    public let options: [QueryOption]

    public init(_ path: MemberPath, options: [QueryOption]) {
        self.path = path
        self.options = options
    }
}

/// `expression as name`.
public struct ComputeItem: Sendable, Hashable {
    public let expression: Expression
    public let name: String
    public let nameRange: SourceRange

    public init(_ expression: Expression, name: String, nameRange: SourceRange) {
        self.expression = expression
        self.name = name
        self.nameRange = nameRange
    }
}

/// The expression of `$search`. URL Conventions 4.01, section 5.1.7: `NOT` before `AND` before `OR`, a space is `AND`.
public indirect enum SearchExpression: Sendable, Hashable {
    case word(String)
    case phrase(String)
    case not(SearchExpression)
    case and(SearchExpression, SearchExpression)
    case or(SearchExpression, SearchExpression)
    /// A text in single quotes, which is no complete expression: as typed so far.
    case incomplete(String)
}

extension QueryOption.Form {
    /// The option's name as it is written; nil for an application's own, which may come several times.
    public var name: String? {
        switch self {
        case .filter: "$filter"
        case .orderBy: "$orderby"
        case .select: "$select"
        case .expand: "$expand"
        case .compute: "$compute"
        case .search: "$search"
        case .apply: "$apply"
        case .top: "$top"
        case .skip: "$skip"
        case .index: "$index"
        case .count: "$count"
        case .levels: "$levels"
        case .format: "$format"
        case .skipToken: "$skiptoken"
        case .deltaToken: "$deltatoken"
        case .schemaVersion: "$schemaversion"
        case .id: "$id"
        case .alias(let name, _): "@\(name)"
        case .custom: nil
        }
    }
}

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

    /// The names of the standard's.
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
    /// The aggregated value: an expression, a path with `$count` at its end, `$count` alone, or a custom aggregate's name.
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
