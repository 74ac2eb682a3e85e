/// What a filter or an order says, before it is written in the words of a version.
public indirect enum ODataExpression: Sendable, Equatable {
    case path(ODataPath)
    case literal(ODataLiteral)
    case binary(Operator, ODataExpression, ODataExpression)
    case not(ODataExpression)
    case call(Function, [ODataExpression])
    /// Whether the body holds for one, or for all, of a collection's items, which the variable stands for.
    case lambda(Quantifier, of: ODataPath, variable: ODataVariable, body: ODataExpression)
    /// How many items a collection has.
    case count(ODataPath)

    public enum Operator: String, Sendable {
        case or, and
        case eq, ne, gt, ge, lt, le, has
        case add, sub, mul, div, mod
    }

    public enum Quantifier: String, Sendable {
        case any, all
    }

    public enum Function: String, Sendable {
        case contains, startswith, endswith, length, indexof, substring, tolower, toupper, trim, concat
        case year, month, day, hour, minute, second, date, round, floor, ceiling, now
    }
}

/// The way to a property: from the entity that is asked for, or from a lambda's variable.
public struct ODataPath: Sendable, Equatable {
    let variable: ODataVariable?
    let segments: [String]

    init(variable: ODataVariable? = nil, segments: [String] = []) {
        (self.variable, self.segments) = (variable, segments)
    }

    /// From the entity itself.
    public static let root = ODataPath()

    public func appending(_ segment: String) -> ODataPath {
        ODataPath(variable: variable, segments: segments + [segment])
    }
}

/// Stands for an item of a collection, and for no other one's.
public final class ODataVariable: Sendable, Equatable {
    public static func == (left: ODataVariable, right: ODataVariable) -> Bool { left === right }
}
