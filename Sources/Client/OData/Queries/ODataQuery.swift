/// A query of a collection: a value that can be kept, compared and asked anywhere.
public struct ODataQuery<Entity: ODataStructure>: ODataQuerying, Equatable {
    public var options = ODataOptions()

    public init() {}
}

/// The parts of a query, of any entity.
public struct ODataOptions: Sendable, Equatable {
    var filter: ODataExpression?
    var orders: [ODataOrder] = []
    var expansions: [Expansion] = []
    var selected: [ODataPath] = []
    var top: Int?
    var skip: Int?
    var search: String?

    /// No options: every entity, in the service's order.
    public init() {}

    struct Expansion: Sendable, Equatable {
        var path: ODataPath
        var options: ODataOptions
    }
}

/// The words of queries. Each call makes another query and leaves the one that it is called on.
public protocol ODataQuerying<Entity>: Sendable {
    /// The entity that is queried.
    associatedtype Entity: ODataStructure
    /// The query options.
    var options: ODataOptions { get set }
}

extension ODataQuerying {
    /// Only what fulfils the condition; a second filter narrows the first.
    public func filter(_ condition: (Entity.Fields) -> ODataCondition) -> Self {
        let added = condition(Entity.Fields(.root)).expression
        return with { $0.filter = $0.filter.map { .binary(.and, $0, added) } ?? added }
    }

    /// In this order; a further one decides among equals.
    public func orderBy(_ order: (Entity.Fields) -> any ODataOrdering) -> Self {
        let added = order(Entity.Fields(.root)).order
        return with { $0.orders.append(added) }
    }

    /// Only these properties; keys and what updates need come in any case.
    public func select(_ properties: (Entity.Fields) -> [any ODataSelectable]) -> Self {
        let added = properties(Entity.Fields(.root)).map(\.selection)
        return with { $0.selected += added }
    }

    /// With the related entities in their property.
    ///
    /// - Parameter query: which of them, and with what of their own.
    public func expand<Target>(
        _ link: (Entity.Fields) -> any ODataExpandable<Target>,
        with query: (ODataQuery<Target>) -> ODataQuery<Target> = { $0 }
    ) -> Self {
        let path = link(Entity.Fields(.root)).selection
        let options = query(ODataQuery<Target>()).options
        return with { $0.expansions.append(ODataOptions.Expansion(path: path, options: options)) }
    }

    /// At most so many.
    public func top(_ count: Int) -> Self { with { $0.top = max(0, count) } }

    /// Without the first so many.
    public func skip(_ count: Int) -> Self { with { $0.skip = max(0, count) } }

    /// Leaves what the server finds by these words; the text is a phrase, whatever is in it.
    public func search(_ words: String) -> Self { with { $0.search = words } }

    private func with(_ change: (inout ODataOptions) -> Void) -> Self {
        var copy = self
        change(&copy.options)
        return copy
    }
}

/// A way to one related entity, or to a complex value: its properties are properties of it.
@dynamicMemberLookup
public struct ODataLink<Target: ODataStructure>: ODataSelectable, ODataExpandable, Sendable {
    let path: ODataPath

    public init(_ path: ODataPath, _ name: String) { self.path = path.appending(name) }

    /// A field of the related entity.
    public subscript<Member>(dynamicMember member: KeyPath<Target.Fields, Member>) -> Member {
        Target.Fields(path)[keyPath: member]
    }

    public var selection: ODataPath { path }
    /// Whether there is no such entity or value.
    public var isNull: ODataCondition { ODataCondition(.path(path), .eq, .literal(.null)) }
}

/// A way to several related entities, or complex values.
public struct ODataLinks<Target: ODataStructure>: ODataSelectable, ODataExpandable, Sendable {
    let path: ODataPath

    public init(_ path: ODataPath, _ name: String) { self.path = path.appending(name) }

    public var selection: ODataPath { path }
    /// The number of members that the collection has.
    public var count: ODataTerm<Int64> { ODataTerm(.count(path)) }
    /// Whether the collection has no member.
    public var isEmpty: ODataCondition { count == 0 }

    /// Whether the condition holds for one of them.
    public func any(_ condition: (Target.Fields) -> ODataCondition) -> ODataCondition { lambda(.any, condition) }

    /// Whether it holds for each of them; where there are none, it does.
    public func all(_ condition: (Target.Fields) -> ODataCondition) -> ODataCondition { lambda(.all, condition) }

    private func lambda(
        _ quantifier: ODataExpression.Quantifier, _ condition: (Target.Fields) -> ODataCondition
    ) -> ODataCondition {
        let variable = ODataVariable()
        let body = condition(Target.Fields(ODataPath(variable: variable))).expression
        return ODataCondition(.lambda(quantifier, of: path, variable: variable, body: body))
    }
}

/// A collection of primitive values.
public struct ODataFieldList<Value: ODataPrimitive>: ODataSelectable, Sendable {
    let path: ODataPath

    public init(_ path: ODataPath, _ name: String) { self.path = path.appending(name) }

    public var selection: ODataPath { path }
    /// The number of members that the collection has.
    public var count: ODataTerm<Int64> { ODataTerm(.count(path)) }

    /// Whether the collection has that member.
    public func contains(_ value: Value) -> ODataCondition {
        let variable = ODataVariable()
        let item = ODataExpression.path(ODataPath(variable: variable))
        return ODataCondition(
            .lambda(.any, of: path, variable: variable, body: .binary(.eq, item, .literal(value.literal))))
    }
}

/// A property that can be expanded.
public protocol ODataExpandable<Target> {
    /// The related entity's type.
    associatedtype Target: ODataStructure
    /// The path of the navigation property.
    var selection: ODataPath { get }
}

/// The meaning of a filter or an order, before it is written in the words of a version.
public indirect enum ODataExpression: Sendable, Equatable {
    /// A property's value.
    case path(ODataPath)
    /// A constant.
    case literal(ODataLiteral)
    /// Two expressions and the operator between them.
    case binary(Operator, ODataExpression, ODataExpression)
    /// The negation of a condition.
    case not(ODataExpression)
    /// A function's value.
    case call(Function, [ODataExpression])
    /// Whether the body holds for one, or for all, of a collection's items, which the variable stands for.
    case lambda(Quantifier, of: ODataPath, variable: ODataVariable, body: ODataExpression)
    /// The number of items that a collection has.
    case count(ODataPath)

    /// A binary operator, as the grammar of `\$filter` writes it.
    public enum Operator: String, Sendable {
        /// Written by these names.
        case or, and
        /// Written by these names.
        case eq, ne, gt, ge, lt, le, has
        /// Written by these names.
        case add, sub, mul, div, mod
    }

    /// Whether one member of a collection has to match, or all.
    public enum Quantifier: String, Sendable {
        /// Written by these names.
        case any, all
    }

    /// A function of the expression language, as the grammar writes it.
    public enum Function: String, Sendable {
        /// Written by these names.
        case contains, startswith, endswith, length, indexof, substring, tolower, toupper, trim, concat
        /// Written by these names.
        case year, month, day, hour, minute, second, date, round, floor, ceiling, now
    }
}

/// The way to a property: from the entity that is asked for, or from a lambda's variable.
public struct ODataPath: Sendable, Equatable {
    let variable: ODataVariable?
    let segments: [String]

    init(variable: ODataVariable? = nil, segments: [String] = []) {
        (self.variable, self.segments) = (variable, segments)
    }

    /// From the entity itself.
    public static let root = ODataPath()

    /// The path with one more segment.
    public func appending(_ segment: String) -> ODataPath {
        ODataPath(variable: variable, segments: segments + [segment])
    }
}

/// Stands for an item of a collection, and for no other one's.
public final class ODataVariable: Sendable, Equatable {
    public static func == (left: ODataVariable, right: ODataVariable) -> Bool { left === right }
}
