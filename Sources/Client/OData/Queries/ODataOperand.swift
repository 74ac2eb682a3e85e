/// Something of a type that conditions compare: a property, or what is computed of one.
public protocol ODataOperand<Value>: Sendable {
    associatedtype Value: ODataPrimitive
    var expression: ODataExpression { get }
}

/// A property of a primitive type.
public struct ODataField<Value: ODataPrimitive>: ODataOperand, ODataSelectable, ODataOrdering {
    let path: ODataPath

    public init(_ path: ODataPath, _ name: String) { self.path = path.appending(name) }

    public var expression: ODataExpression { .path(path) }
    public var selection: ODataPath { path }
    public var order: ODataOrder { ODataOrder(expression: expression, isDescending: false) }
    public var descending: ODataOrder { ODataOrder(expression: expression, isDescending: true) }
}

/// What is computed: `$0.name.lowercased`, `$0.gpa + 1`.
public struct ODataTerm<Value: ODataPrimitive>: ODataOperand, ODataOrdering {
    public let expression: ODataExpression

    init(_ function: ODataExpression.Function, _ arguments: ODataExpression...) {
        expression = .call(function, arguments)
    }

    init(_ expression: ODataExpression) { self.expression = expression }

    public var order: ODataOrder { ODataOrder(expression: expression, isDescending: false) }
    public var descending: ODataOrder { ODataOrder(expression: expression, isDescending: true) }
}

/// What a filter decides by.
public struct ODataCondition: Sendable, Equatable {
    public let expression: ODataExpression

    init(_ expression: ODataExpression) { self.expression = expression }

    init(_ left: ODataExpression, _ sign: ODataExpression.Operator, _ right: ODataExpression) {
        expression = .binary(sign, left, right)
    }

    public static func && (left: ODataCondition, right: ODataCondition) -> ODataCondition {
        ODataCondition(left.expression, .and, right.expression)
    }

    public static func || (left: ODataCondition, right: ODataCondition) -> ODataCondition {
        ODataCondition(left.expression, .or, right.expression)
    }

    public static prefix func ! (condition: ODataCondition) -> ODataCondition {
        ODataCondition(.not(condition.expression))
    }
}

/// What an order goes by; a property alone is ascending.
public protocol ODataOrdering {
    var order: ODataOrder { get }
}

public struct ODataOrder: ODataOrdering, Sendable, Equatable {
    let expression: ODataExpression
    let isDescending: Bool

    public var order: ODataOrder { self }
}

/// What can be named in a selection.
public protocol ODataSelectable {
    var selection: ODataPath { get }
}
