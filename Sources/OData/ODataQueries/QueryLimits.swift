import AdapterKit

/// How large a query may be, beyond what its syntax allows.
public struct QueryLimits: Sendable, Equatable {
    /// Levels of `$expand` within each other, those of `$levels` included; `max` means this many.
    public var expandDepth: Int
    /// Navigation properties that are expanded, at all levels together.
    public var expansions: Int
    /// Entities that the expansions of one row bring, all levels together.
    public var expandedRows: Int
    /// Entities that the expansions of one page write, each as often as it is written.
    public var writtenRows: Int
    /// Criteria of `$orderby`.
    public var orderCriteria: Int
    /// Rows that `$skip` may leave out.
    public var skip: Int

    public static let standard = QueryLimits(
        expandDepth: 8, expansions: 256, expandedRows: 100_000, writtenRows: 1_000_000, orderCriteria: 16,
        skip: 10_000_000)

    public init(expandDepth: Int, expansions: Int, expandedRows: Int, writtenRows: Int, orderCriteria: Int, skip: Int) {
        self.expandDepth = expandDepth
        self.expansions = expansions
        self.expandedRows = expandedRows
        self.writtenRows = writtenRows
        self.orderCriteria = orderCriteria
        self.skip = skip
    }
}

extension QueryLimits {
    /// Of an answer that is held in memory as a whole: what one row's expansions may bring is enough for all of it.
    var held: QueryLimits {
        var limits = self
        limits.writtenRows = min(writtenRows, expandedRows)
        return limits
    }

    var tooManyWritten: PorticoError {
        PorticoError(
            .requestLimitExceeded,
            "The expansions of a page write at most \(writtenRows) entities; ask for fewer with $top.")
    }
}
