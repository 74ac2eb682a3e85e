/// A value computed from the rows of a relation.
///
/// Every expression has a ``RowKind``, known before it runs. Unless a case says otherwise it is null where one of its
/// operands is. Numbers of different kinds meet in the wider one (integer, decimal, double).
public indirect enum RowExpression: Sendable, Equatable {
    /// A field of the records that the source names.
    case field(SourceName, FieldName)
    /// The number of the record's revision; an integer.
    case revision(SourceName)
    /// A column of a nested relation, from 0.
    case output(SourceName, Int)
    /// The current element of ``RelationSource/elements(of:as:)``.
    case element(SourceName)
    /// A value as it is; bound, never part of a statement's text.
    case value(WireValue)
    /// A member within a dictionary or list; null where it is not there, or where it is of another kind.
    case member(RowExpression, [RowStep], RowKind)

    /// Equal, where null equals null. Never null.
    case same(RowExpression, RowExpression)
    case compare(Comparison, RowExpression, RowExpression)
    /// Never null.
    case isNull(RowExpression)
    /// False for null. Never null.
    case isTrue(RowExpression)
    case not(RowExpression)
    case all([RowExpression])
    case any([RowExpression])
    /// Equals one of the values; a null among them equals nothing.
    case oneOf(RowExpression, [WireValue])
    /// Is among the values of the relation's only column.
    case among(RowExpression, Relation)
    /// Whether the relation has a row. Never null.
    case exists(Relation)
    /// The only column of the relation's first row; null where it has none.
    case first(Relation)
    /// Whether the record that the source names is found by the search. Never null.
    case found(SourceName, RowSearch)

    case arithmetic(Arithmetic, RowExpression, RowExpression)
    case call(RowFunction, [RowExpression])
    /// The value of the first branch whose condition is true.
    case choose([Branch], otherwise: RowExpression)
    /// Over the rows of a group. Without an expression: how many there are.
    case aggregate(Aggregate, RowExpression?, isDistinct: Bool)

    /// The sum of a number over the rows before this one in that order, among those that agree in `by`, as a double; 0 for
    /// the first. For columns only, not for conditions.
    case sumBefore(RowExpression, by: [RowExpression], order: [RowOrder])
    /// The sum of a number over all rows that agree in `by`, as a double; 0 where no row has one. For columns only.
    case sumWithin(RowExpression, by: [RowExpression])

    public struct Branch: Sendable, Equatable {
        public let condition: RowExpression
        public let value: RowExpression

        public init(when condition: RowExpression, then value: RowExpression) {
            self.condition = condition
            self.value = value
        }
    }

    /// Integers stay integers and are divided towards zero; dividing a decimal keeps ``RelationLimits/divisionDigits``
    /// significant digits; dividing by zero is null for both and an infinity for doubles.
    ///
    /// A date less a date is a decimal number of seconds; a date and seconds make a date.
    public enum Arithmetic: String, Sendable, CaseIterable {
        case add, subtract, multiply, divide, remainder
    }

    /// `sum`, `average`, `minimum` and `maximum` are null over no values; nulls are left out. The sum of decimals is
    /// exact; their average keeps ``RelationLimits/divisionDigits`` digits.
    public enum Aggregate: String, Sendable, CaseIterable {
        case count, sum, average, minimum, maximum
    }
}

/// One step into a dictionary or a list.
public enum RowStep: Sendable, Equatable {
    case member(String)
    /// From 0; from the end where negative.
    case position(Int)
}

/// What an expression's values are.
public enum RowKind: String, Sendable, CaseIterable {
    case bool, integer, double, decimal, text, date, data
    /// A list or a dictionary.
    case tree
}

/// A full-text search over an entity's search fields, case and accents aside.
public indirect enum RowSearch: Sendable, Equatable {
    case word(String)
    /// The words of the text, one after the other.
    case phrase(String)
    case all([RowSearch])
    case any([RowSearch])
    case not(RowSearch)
}
