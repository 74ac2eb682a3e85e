/// How large a query may be, beyond what its syntax allows.
public struct QueryLimits: Sendable, Equatable {
    /// Levels of `$expand` within each other, those of `$levels` included; `max` means this many.
    public var expandDepth: Int
    /// Navigation properties that are expanded, at all levels together.
    public var expansions: Int
    /// Entities that one level of an expansion brings for a whole page.
    public var expandedRows: Int
    /// Criteria of `$orderby`.
    public var orderCriteria: Int
    /// Rows that `$skip` may leave out.
    public var skip: Int

    public static let standard = QueryLimits(
        expandDepth: 8, expansions: 256, expandedRows: 100_000, orderCriteria: 16, skip: 10_000_000)

    public init(expandDepth: Int, expansions: Int, expandedRows: Int, orderCriteria: Int, skip: Int) {
        self.expandDepth = expandDepth
        self.expansions = expansions
        self.expandedRows = expandedRows
        self.orderCriteria = orderCriteria
        self.skip = skip
    }
}
