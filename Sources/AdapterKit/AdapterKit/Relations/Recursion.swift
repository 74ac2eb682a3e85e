/// Rows that are found from rows, again and again, until there are no more.
///
/// As ``RelationSource/recursion(_:as:)`` it is known by the positions of ``start``'s columns. Without an ``order`` a row is
/// told once however often it is found, so that circles come to an end. With one every finding is told, and the rows have
/// one more column: in which place each was found, from 1. Then what leads in a circle goes on until the statement's time
/// is over; only what is known to end is asked for in an order.
public struct Recursion: Sendable, Equatable {
    /// The rows that it begins with. It has no order and no part of its own.
    public let start: Relation
    /// What one row leads to: with the same columns as ``start``, and ``RelationSource/found(as:)`` as its source, once.
    /// It neither groups nor aggregates.
    public let step: Relation
    /// Which of the rows that are still to be gone on from is told and gone on from next. By the depth in descending order
    /// and then by something of the rows it goes through a tree branch by branch.
    public let order: [Criterion]

    public struct Criterion: Sendable, Equatable {
        /// A column, from 0.
        public let column: Int
        public let isDescending: Bool

        /// Null sorts as in ``RowOrder``.
        public init(_ column: Int, descending: Bool = false) {
            self.column = column
            self.isDescending = descending
        }
    }

    public init(from start: Relation, step: Relation, order: [Criterion] = []) {
        self.start = start
        self.step = step
        self.order = order
    }
}
