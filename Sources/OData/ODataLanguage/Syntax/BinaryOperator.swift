/// An operator between two expressions, loosest binding first; within one level from left to right.
///
/// URL Conventions 4.01, sections 5.1.1.1 and 5.1.1.2, precedence in 5.1.1.17.
public enum BinaryOperator: String, Sendable, Hashable, CaseIterable {
    case or, and
    case equal = "eq"
    case notEqual = "ne"
    case less = "lt"
    case lessOrEqual = "le"
    case greater = "gt"
    case greaterOrEqual = "ge"
    case has
    case isIn = "in"
    case add
    case subtract = "sub"
    /// `div` divides integers to an integer, `divby` always to a fraction.
    case multiply = "mul"
    case divide = "div"
    case divideExactly = "divby"
    case modulo = "mod"

    /// How tightly it binds; greater is tighter.
    public var precedence: Int {
        switch self {
        case .or: 1
        case .and: 2
        case .equal, .notEqual: 3
        case .less, .lessOrEqual, .greater, .greaterOrEqual: 4
        case .add, .subtract: 5
        case .multiply, .divide, .divideExactly, .modulo: 6
        // Tighter than `not` and the sign: `not Name in ('a','b')` denies the whole.
        case .has, .isIn: 8
        }
    }

    var isInVersion2: Bool { ![.has, .isIn, .divideExactly].contains(self) }

    public var isComparison: Bool { precedence == 3 || precedence == 4 }
    public var isArithmetic: Bool { precedence == 5 || precedence == 6 }
}
