/// Which records, in which order, how many.
///
/// The key is always the last criterion of the order, in the direction of the one before it, so the order is total, a
/// page can go on from the last row of the one before, and `DESC` is the exact reverse of `ASC`.
public struct Query: Sendable, Equatable {
    /// The largest page a store gives.
    public static let maximumLimit = 10_000

    public var filter: Filter?
    public var order: [SortKey]
    public var limit: Int
    /// Where the page begins.
    public var start: Start
    /// Whether the page tells how many records match in all.
    public var countsAll: Bool

    public enum Start: Sendable, Equatable {
        case first
        /// After the row that this cursor names; it belongs to the same filter and order.
        case after(Cursor)
        /// That many rows in; slow for large numbers, for contracts that page by number.
        case offset(Int)
    }

    public init(
        _ filter: Filter? = nil, order: [SortKey] = [], limit: Int = 100, start: Start = .first,
        countsAll: Bool = false
    ) {
        self.filter = filter
        self.order = order
        self.limit = limit
        self.start = start
        self.countsAll = countsAll
    }
}

public struct SortKey: Sendable, Equatable {
    public let field: FieldName
    public let isDescending: Bool

    /// Null sorts before every value, and after every value in descending order.
    public init(_ field: FieldName, descending: Bool = false) {
        self.field = field
        self.isDescending = descending
    }
}

/// The sort values of the last row of a page, its key included.
public struct Cursor: Sendable, Equatable {
    public let values: [WireValue]

    public init(values: [WireValue]) {
        self.values = values
    }
}

public struct RecordPage: Sendable, Equatable {
    public let records: [Record]
    /// Nil on the last page.
    public let next: Cursor?
    /// Only where the query asked for it.
    public let total: Int?

    public init(records: [Record], next: Cursor?, total: Int? = nil) {
        self.records = records
        self.next = next
        self.total = total
    }
}
