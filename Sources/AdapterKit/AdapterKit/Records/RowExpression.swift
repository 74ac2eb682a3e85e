/// A value computed from the rows of a relation.
///
/// Every expression has a ``RowValueType``, known before it runs. Unless a case says otherwise it is null where one of its
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
    case member(RowExpression, [RowStep], RowValueType)

    /// Equal, where null equals null. Never null.
    case same(RowExpression, RowExpression)
    /// The comparison of two values.
    case compare(Comparison, RowExpression, RowExpression)
    /// Never null.
    case isNull(RowExpression)
    /// False for null. Never null.
    case isTrue(RowExpression)
    /// True for false, false for true, null for null.
    case not(RowExpression)
    /// True where all are true, false where one is false, otherwise null.
    case all([RowExpression])
    /// True where one is true, false where all are false, otherwise null.
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

    /// The result of an arithmetic operation on two numbers.
    case arithmetic(Arithmetic, RowExpression, RowExpression)
    /// The result of a function.
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

    /// One branch of ``choose(_:otherwise:)``.
    public struct Branch: Sendable, Equatable {
        /// The condition of the branch.
        public let condition: RowExpression
        /// The value where the condition is the first that is true.
        public let value: RowExpression

        /// Creates a branch with these values.
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
        /// The four operations and the remainder, which has the sign of the dividend.
        case add, subtract, multiply, divide, remainder
    }

    /// `sum`, `average`, `minimum` and `maximum` are null over no values; nulls are left out. The sum of decimals is
    /// exact; their average keeps ``RelationLimits/divisionDigits`` digits.
    public enum Aggregate: String, Sendable, CaseIterable {
        /// A function by which the values of a group become one value.
        case count, sum, average, minimum, maximum
    }
}

/// One step into a dictionary or a list.
public enum RowStep: Sendable, Equatable {
    /// The member of a dictionary with this key.
    case member(String)
    /// From 0; from the end where negative.
    case position(Int)
}

/// The type of an expression's values.
public enum RowValueType: String, Sendable, CaseIterable {
    /// The kinds of single values.
    case bool, integer, double, decimal, text, date, data
    /// A list or a dictionary.
    case tree
}

/// A full-text search over an entity's search fields, case and accents aside.
public indirect enum RowSearch: Sendable, Equatable {
    /// A word.
    case word(String)
    /// The words of the text, one after the other, the last of which begins so.
    case prefix(String)
    /// The words of the text, one after the other.
    case phrase(String)
    /// All of the searches find the record.
    case all([RowSearch])
    /// At least one of the searches finds the record.
    case any([RowSearch])
    /// The search does not find the record.
    case not(RowSearch)
}

/// The functions of relations: a closed set, so that a store knows every function it may be asked for.
///
/// Texts are counted in Unicode scalars, from 0. Calendar functions read a date (an instant) in UTC; a text as a day
/// (`2024-01-15`), a time of day (`09:30:00.5`) or both.
public enum RowFunction: String, Sendable, CaseIterable {
    // Texts: (text, text) → bool; matches takes a regular expression without back references.
    /// Whether the first text holds, begins with, ends with or matches the second.
    case contains, startsWith, endsWith, matches
    /// (text) → integer
    case length
    /// (text, text) → integer, −1 where it is not there
    case indexOf
    /// (text, from) or (text, from, count) → text; a negative start counts from the end.
    case substring
    /// (text) → text
    case lowercase, uppercase, trim
    /// (text, text, text) → text: the second becomes the third wherever it is in the first. Null beyond a megabyte.
    case replace
    /// (text, …) → text
    case concatenate

    // Numbers: (number) → a number of the same kind. Halves are rounded away from zero.
    /// Rounds to an integer, or changes the sign.
    case round, floor, ceiling, negate
    /// (integer, integer) → integer: the bits that both have.
    case bits

    // Calendar: (date or text) → integer.
    /// A part of the date or time of day.
    case year, month, day, hour, minute, second
    /// (date or text) → decimal
    case fractionalSecond
    /// (date) → text
    case dayOf, timeOf
    /// (text: day, decimal: seconds) → text: the day so many whole days later.
    case dayPlus
    /// (text: day, text: day) → decimal: seconds between the two.
    case dayDifference

    // Kinds: (any) → that kind; null where the value cannot be one of it.
    /// Converts to the named kind.
    case toText, toInteger, toDecimal, toDouble, toDate

    // Lists: (tree, …)
    /// (tree) → integer
    case count
    /// (tree, tree) → bool: the second is at the first's end, beginning, or within it in one piece.
    case listContains, listStartsWith, listEndsWith
    /// (tree, tree) → bool: every element of the second is in the first, as often; with `InOrder`, in its order.
    case hasSubset, hasSubsequence

    // Places, GeoJSON in degrees (tree) → metres, on a sphere of the earth's mean radius.
    /// (point, point) → double
    case distance
    /// (line) → double
    case lineLength
    /// (point, polygon) → bool
    case intersects
}
