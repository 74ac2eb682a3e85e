/// What of a collection is asked for: a value that can be kept, compared and asked anywhere.
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

    public init() {}

    struct Expansion: Sendable, Equatable {
        var path: ODataPath
        var options: ODataOptions
    }
}

/// What queries are written with. Each call makes another query and leaves the one that it is called on.
public protocol ODataQuerying<Entity>: Sendable {
    associatedtype Entity: ODataStructure
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

    /// What the server finds by these words; the text is a phrase, whatever is in it.
    public func search(_ words: String) -> Self { with { $0.search = words } }

    private func with(_ change: (inout ODataOptions) -> Void) -> Self {
        var copy = self
        change(&copy.options)
        return copy
    }
}
