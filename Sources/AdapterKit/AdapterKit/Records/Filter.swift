/// A condition on records, pushed down to the database with bound parameters.
///
/// Logic is two-valued: a comparison with a field that is null is false, `notEqual` is the negation of `equal` and so
/// true for null, and `not` negates what it contains.
public indirect enum Filter: Sendable, Equatable {
    case compare(FieldName, Comparison, WireValue)
    case isNull(FieldName)
    /// The field equals one of the values.
    case oneOf(FieldName, [WireValue])
    /// Case matters; bytes are compared. A prefix is an index range, the others read every row.
    case hasPrefix(FieldName, String)
    case hasSuffix(FieldName, String)
    case containsText(FieldName, String)
    /// A list field holds the value.
    case listContains(FieldName, WireValue)
    /// Every word is a prefix of a word in the entity's search fields, case and accents aside.
    case search(words: [String])
    /// The field holds the id of a record of that entity (of the same adapter) which matches.
    case related(FieldName, EntityName, Filter)
    case all([Filter])
    case any([Filter])
    case not(Filter)

    public static let always = Filter.all([])
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

public enum Comparison: String, Sendable, CaseIterable {
    case equal = "eq"
    case notEqual = "ne"
    case less = "lt"
    case lessOrEqual = "le"
    case greater = "gt"
    case greaterOrEqual = "ge"
}
