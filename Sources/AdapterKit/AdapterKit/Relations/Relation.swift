/// A read-only question over several entities of one adapter: which rows, joined how, grouped how, in which order, and
/// what is told of each.
///
/// A value, so that a store compiles it to one statement with bound parameters, and so that row rules can be enforced
/// where its sources are resolved, whatever shape it has. Logic has SQL's three values here: what is neither true nor
/// false lets no row through.
public struct Relation: Sendable, Equatable {
    public var source: RelationSource
    public var joins: [Join]
    /// Rows for which it is true.
    public var condition: RowExpression?
    /// What is told of each row, by position. At least one.
    public var columns: [RowExpression]
    /// Rows that tell the same are told once.
    public var isDistinct: Bool
    /// Rows that agree in these become one; nil: they stay as they are. With aggregates among the columns and nil, all
    /// become one.
    public var groups: [RowExpression]?
    /// Groups for which it is true.
    public var groupCondition: RowExpression?
    public var order: [RowOrder]
    public var start: Start
    /// Nil: all.
    public var limit: Int?
    /// A part of each group of rows, in ``order``; ``start`` and ``limit`` count what is left.
    public var window: RowWindow?

    public enum Start: Sendable, Equatable {
        case first
        /// After the row whose ``Relation/order`` has these values; the order is to be total. One for each criterion.
        case after([WireValue])
        case offset(Int)
    }

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
    public let number: Int
    public init(_ number: Int) { self.number = number }
    public init(integerLiteral value: Int) { number = value }
}

/// A further source, each of whose rows goes with those for which `condition` is true.
public struct Join: Sendable, Equatable {
    public enum Kind: Sendable, Equatable {
        case inner
        /// A row for which there is none stays, with nulls in its place.
        case left
    }

    public let kind: Kind
    public let source: RelationSource
    public let condition: RowExpression

    public init(_ kind: Kind, _ source: RelationSource, on condition: RowExpression) {
        self.kind = kind
        self.source = source
        self.condition = condition
    }
}

public struct RowOrder: Sendable, Equatable {
    public let expression: RowExpression
    public let isDescending: Bool

    /// Null sorts before every value, and after every value in descending order.
    public init(_ expression: RowExpression, descending: Bool = false) {
        self.expression = expression
        self.isDescending = descending
    }
}

/// At most so many rows of each group.
public struct RowWindow: Sendable, Equatable {
    public let groups: [RowExpression]
    public let skip: Int
    /// Nil: all after those that are skipped.
    public let limit: Int?

    public init(by groups: [RowExpression], skip: Int = 0, limit: Int?) {
        self.groups = groups
        self.skip = skip
        self.limit = limit
    }
}
