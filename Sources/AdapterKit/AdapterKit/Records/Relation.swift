/// A read-only query over several entities of one adapter: which rows, how they are joined, grouped and ordered, and
/// which columns each has.
///
/// A value, so that a store compiles it to one statement with bound parameters, and so that row rules can be enforced
/// where its sources are resolved, whatever shape it has. Logic has SQL's three values here: what is neither true nor
/// false lets no row through.
public struct Relation: Sendable, Equatable {
    /// Where the rows come from.
    public var source: RelationSource
    /// Further sources, joined in this order.
    public var joins: [Join]
    /// Rows for which it is true.
    public var condition: RowExpression?
    /// The columns of the result, by position. At least one.
    public var columns: [RowExpression]
    /// Equal rows of the result are returned once.
    public var isDistinct: Bool
    /// Rows that agree in these become one; nil: they stay as they are. With aggregates among the columns and nil, all
    /// become one.
    public var groups: [RowExpression]?
    /// Groups for which it is true.
    public var groupCondition: RowExpression?
    /// The criteria of the order, the most significant first.
    public var order: [RowOrder]
    /// Where the result begins.
    public var start: Start
    /// Nil: all.
    public var limit: Int?
    /// A part of each group of rows, in ``order``; ``start`` and ``limit`` count what is left.
    public var window: RowWindow?

    /// Where a result begins.
    public enum Start: Sendable, Equatable {
        /// With the first row.
        case first
        /// After the row whose ``Relation/order`` has these values; the order is to be total. One for each criterion.
        case after([WireValue])
        /// That many rows in.
        case offset(Int)
    }

    /// Creates a relation with these values.
    public init(
        _ source: RelationSource, joins: [Join] = [], where condition: RowExpression? = nil, columns: [RowExpression],
        isDistinct: Bool = false, groups: [RowExpression]? = nil, groupCondition: RowExpression? = nil,
        order: [RowOrder] = [], start: Start = .first, limit: Int? = nil, window: RowWindow? = nil
    ) {
        self.source = source
        self.joins = joins
        self.condition = condition
        self.columns = columns
        self.isDistinct = isDistinct
        self.groups = groups
        self.groupCondition = groupCondition
        self.order = order
        self.start = start
        self.limit = limit
        self.window = window
    }
}

/// Where rows come from. Every source of a relation has a name of its own, the nested ones' included; an expression may
/// name its own relation's sources and those of the relations around it.
public indirect enum RelationSource: Sendable, Equatable {
    /// An entity's records, as far as the asker may see them.
    case records(EntityName, as: SourceName)
    /// Another relation's rows, known by their columns' positions.
    case rows(Relation, as: SourceName)
    /// The rows of all of them, one after the other; they have equally many columns.
    case union([Relation], as: SourceName)
    /// The elements of a list, which may belong to a row of a relation around this one.
    case elements(of: RowExpression, as: SourceName)
    /// Rows found from rows, known by their columns' positions.
    case recursion(Recursion, as: SourceName)
    /// The row that the recursion around it goes on from; only as the source of its ``Recursion/step``.
    case found(as: SourceName)
    /// One row of nothing.
    case one
}

/// Names a source within a relation.
public struct SourceName: Sendable, Hashable, ExpressibleByIntegerLiteral {
    /// The number of the source, unique within a relation.
    public let number: Int
    /// Creates a source name with these values.
    public init(_ number: Int) { self.number = number }
    public init(integerLiteral value: Int) { number = value }
}

/// A further source, each of whose rows goes with those for which `condition` is true.
public struct Join: Sendable, Equatable {
    /// Which rows a join keeps.
    public enum Kind: Sendable, Equatable {
        /// Rows for which the condition holds.
        case inner
        /// A row for which there is none stays, with nulls in its place.
        case left
    }

    /// Which rows the join keeps.
    public let kind: Kind
    /// The source that is joined.
    public let source: RelationSource
    /// The condition on both rows.
    public let condition: RowExpression

    /// Creates a join with these values.
    public init(_ kind: Kind, _ source: RelationSource, on condition: RowExpression) {
        self.kind = kind
        self.source = source
        self.condition = condition
    }
}

/// One criterion of a relation's order.
public struct RowOrder: Sendable, Equatable {
    /// The value that is compared.
    public let expression: RowExpression
    /// Whether larger values come first.
    public let isDescending: Bool

    /// Null sorts before every value, and after every value in descending order.
    public init(_ expression: RowExpression, descending: Bool = false) {
        self.expression = expression
        self.isDescending = descending
    }
}

/// At most so many rows of each group.
public struct RowWindow: Sendable, Equatable {
    /// Rows that agree in these are one group.
    public let groups: [RowExpression]
    /// The number of rows of each group that are skipped.
    public let skip: Int
    /// Nil: all after those that are skipped.
    public let limit: Int?

    /// Creates a row window with these values.
    public init(by groups: [RowExpression], skip: Int = 0, limit: Int?) {
        self.groups = groups
        self.skip = skip
        self.limit = limit
    }
}

/// Rows that are found from rows, again and again, until there are no more.
///
/// As ``RelationSource/recursion(_:as:)`` it is known by the positions of ``start``'s columns. Without an ``order`` a row is
/// returned once however often it is found, so that cycles end. With one it is returned each time, and the rows have
/// one more column: in which place each was found, from 1. Then what leads in a circle goes on until the statement's time
/// is over; only what is known to end is asked for in an order.
public struct Recursion: Sendable, Equatable {
    /// The rows that it begins with. It has no order and no part of its own.
    public let start: Relation
    /// The rows that one row leads to: with the same columns as ``start``, and ``RelationSource/found(as:)`` as its source, once.
    /// It neither groups nor aggregates.
    public let step: Relation
    /// Which of the pending rows is returned and followed next. By the depth in descending order
    /// and then by something of the rows it goes through a tree branch by branch.
    public let order: [Criterion]

    /// One criterion of the order.
    public struct Criterion: Sendable, Equatable {
        /// A column, from 0.
        public let column: Int
        /// Whether larger values come first.
        public let isDescending: Bool

        /// Null sorts as in ``RowOrder``.
        public init(_ column: Int, descending: Bool = false) {
            self.column = column
            self.isDescending = descending
        }
    }

    /// Creates a recursion with these values.
    public init(from start: Relation, step: Relation, order: [Criterion] = []) {
        self.start = start
        self.step = step
        self.order = order
    }
}

/// Limits of a relation's size. A store refuses what is larger before it compiles it.
public struct RelationLimits: Sendable, Equatable {
    /// Expressions, sources and conditions in all.
    public let nodes: Int
    /// Levels within each other.
    public let depth: Int
    /// Values in all, those of lists included.
    public let values: Int
    /// Sources of one relation and its joins.
    public let sources: Int

    /// The limits that stores use.
    public static let standard = RelationLimits(nodes: 4096, depth: 96, values: 16_384, sources: 48)

    /// Significant digits of a quotient of decimals.
    public static let divisionDigits = 38

    /// Creates relation limits with these values.
    public init(nodes: Int, depth: Int, values: Int, sources: Int) {
        self.nodes = nodes
        self.depth = depth
        self.values = values
        self.sources = sources
    }
}
