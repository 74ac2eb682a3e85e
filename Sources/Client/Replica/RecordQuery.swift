/// Which records of one collection, in which order. Answered by the device alone.
public struct RecordQuery: Sendable, Equatable {
    public var collection: String
    /// All of them must hold.
    public var conditions: [Condition]
    /// The first decides; equal ones are in the order of their ids, in the direction of the last: ascending where that is
    /// or where there is none, descending else. Ascending, null comes first, then numbers and dates, then text by its
    /// bytes.
    public var order: [Order]
    /// Nil: all.
    public var limit: Int?

    public init(_ collection: String, where conditions: [Condition] = [], order: [Order] = [], limit: Int? = nil) {
        self.collection = collection
        self.conditions = conditions
        self.order = order
        self.limit = limit
    }

    /// A comparison of one field; a field that is null or not there fulfils ``isNull(_:)`` and nothing else. Sealed fields
    /// are null for a query.
    public enum Condition: Sendable, Equatable {
        case id(String)
        case equals(String, WireValue)
        case differs(String, from: WireValue)
        case isLess(String, than: WireValue)
        case isAtMost(String, WireValue)
        case isGreater(String, than: WireValue)
        case isAtLeast(String, WireValue)
        /// Text, byte by byte.
        case startsWith(String, String)
        case contains(String, String)
        case isNull(String)
        /// Records with edits that the server has not answered.
        case isWaiting
    }

    public struct Order: Sendable, Equatable {
        public var field: String
        public var isDescending: Bool

        public static func ascending(_ field: String) -> Order { Order(field: field, isDescending: false) }
        public static func descending(_ field: String) -> Order { Order(field: field, isDescending: true) }
    }
}
