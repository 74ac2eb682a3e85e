/// What can be called in a relation: a closed set, so that a store knows every function it may be asked for.
///
/// Texts are counted in Unicode scalars, from 0. Calendar functions read a date (an instant) in UTC; a text as a day
/// (`2024-01-15`), a time of day (`09:30:00.5`) or both.
public enum RowFunction: String, Sendable, CaseIterable {
    // Texts: (text, text) → bool; matches takes a regular expression without back references.
    case contains, startsWith, endsWith, matches
    /// (text) → integer
    case length
    /// (text, text) → integer, −1 where it is not there
    case indexOf
    /// (text, from) or (text, from, count) → text; a negative start counts from the end.
    case substring
    case lowercase, uppercase, trim
    /// (text, text, text) → text: the second becomes the third wherever it is in the first. Null beyond a megabyte.
    case replace
    /// (text, …) → text
    case concatenate

    // Numbers: (number) → a number of the same kind. Halves are rounded away from zero.
    case round, floor, ceiling, negate
    /// (integer, integer) → integer: the bits that both have.
    case bits

    // Calendar: (date or text) → integer.
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
