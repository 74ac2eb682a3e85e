/// Which records, in which order, how many.
///
/// The key is always the last criterion of the order, in the direction of the one before it, so the order is total, a
/// page can go on from the last row of the one before, and `DESC` is the exact reverse of `ASC`.
public struct Query: Sendable, Equatable {
    /// The largest page a store gives.
    public static let maximumLimit = 10_000

    /// Which records; nil: all.
    public var filter: Filter?
    /// The criteria of the order, the most significant first.
    public var order: [SortKey]
    /// The largest number of records on the page: 1 to ``maximumLimit``.
    public var limit: Int
    /// Where the page begins.
    public var start: Start
    /// Whether the page has the number of all matching records.
    public var countsAll: Bool

    /// Where a page begins.
    public enum Start: Sendable, Equatable {
        /// With the first record.
        case first
        /// After the row that this cursor names; it belongs to the same filter and order.
        case after(Cursor)
        /// That many rows in; slow for large numbers, for contracts that page by number.
        case offset(Int)
    }

    /// Creates a query with these values.
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

/// One criterion of an order.
public struct SortKey: Sendable, Equatable {
    /// The field whose values are compared.
    public let field: FieldName
    /// Whether larger values come first.
    public let isDescending: Bool

    /// Null sorts before every value, and after every value in descending order.
    public init(_ field: FieldName, descending: Bool = false) {
        self.field = field
        self.isDescending = descending
    }
}

/// The sort values of the last row of a page, its key included.
public struct Cursor: Sendable, Equatable {
    /// One value for each criterion of the total order.
    public let values: [WireValue]

    /// Creates a cursor with these values.
    public init(values: [WireValue]) {
        self.values = values
    }
}

/// One page of a query's result.
public struct RecordPage: Sendable, Equatable {
    /// The records in the query's order.
    public let records: [Record]
    /// Nil on the last page.
    public let next: Cursor?
    /// Only where the query asked for it.
    public let total: Int?

    /// Creates a record page with these values.
    public init(records: [Record], next: Cursor?, total: Int? = nil) {
        self.records = records
        self.next = next
        self.total = total
    }
}

/// A condition on records, pushed down to the database with bound parameters.
///
/// Logic is two-valued: a comparison with a field that is null is false, `notEqual` is the negation of `equal` and so
/// true for null, and `not` negates what it contains.
public indirect enum Filter: Sendable, Equatable {
    /// The field compares with the value as stated; false where either is null, apart from `notEqual`.
    case compare(FieldName, Comparison, WireValue)
    /// The field is null.
    case isNull(FieldName)
    /// The field equals one of the values.
    case oneOf(FieldName, [WireValue])
    /// Case matters; bytes are compared. A prefix is an index range, the others read every row.
    case hasPrefix(FieldName, String)
    /// The text field ends with the text. Bytes are compared.
    case hasSuffix(FieldName, String)
    /// The text field holds the text. Bytes are compared.
    case containsText(FieldName, String)
    /// A list field holds the value.
    case listContains(FieldName, WireValue)
    /// Every word is a prefix of a word in the entity's search fields, case and accents aside.
    case search(words: [String])
    /// The field holds the id of a record of that entity (of the same adapter) which matches.
    case related(FieldName, EntityName, Filter)
    /// All of the filters hold; true for none.
    case all([Filter])
    /// At least one of the filters holds; false for none.
    case any([Filter])
    /// The filter does not hold.
    case not(Filter)

    /// Holds for every record.
    public static let always = Filter.all([])
    /// Holds for no record.
    public static let never = Filter.any([])

    /// Both, where both are there.
    public static func both(_ left: Filter?, _ right: Filter?) -> Filter? {
        switch (left, right) {
        case (let left?, let right?): .all([left, right])
        case (let one?, nil), (nil, let one?): one
        case (nil, nil): nil
        }
    }
}

/// A comparison of two values of one kind; numbers are compared by value, texts and bytes by their bytes.
public enum Comparison: String, Sendable, CaseIterable {
    /// The values are equal.
    case equal = "eq"
    /// The values are not equal, or one is null.
    case notEqual = "ne"
    /// The left value is smaller.
    case less = "lt"
    /// The left value is smaller or equal.
    case lessOrEqual = "le"
    /// The left value is larger.
    case greater = "gt"
    /// The left value is larger or equal.
    case greaterOrEqual = "ge"
}
