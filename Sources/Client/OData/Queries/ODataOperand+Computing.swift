import Foundation

extension ODataOperand where Value == String {
    public func contains(_ text: String) -> ODataCondition { test(.contains, text) }
    public func startsWith(_ text: String) -> ODataCondition { test(.startswith, text) }
    public func endsWith(_ text: String) -> ODataCondition { test(.endswith, text) }

    public var length: ODataTerm<Int32> { ODataTerm(.length, expression) }
    public var lowercased: ODataTerm<String> { ODataTerm(.tolower, expression) }
    public var uppercased: ODataTerm<String> { ODataTerm(.toupper, expression) }
    public var trimmed: ODataTerm<String> { ODataTerm(.trim, expression) }

    /// From 0; -1 where it is not in it.
    public func index(of text: String) -> ODataTerm<Int32> { ODataTerm(.indexof, expression, .literal(.string(text))) }

    public func substring(from start: Int32) -> ODataTerm<String> {
        ODataTerm(.substring, expression, .literal(.int(Int64(start))))
    }

    public static func + (left: Self, right: String) -> ODataTerm<String> {
        ODataTerm(.concat, left.expression, .literal(.string(right)))
    }
    public static func + (left: Self, right: some ODataOperand<String>) -> ODataTerm<String> {
        ODataTerm(.concat, left.expression, right.expression)
    }

    private func test(_ function: ODataExpression.Function, _ text: String) -> ODataCondition {
        ODataCondition(.call(function, [expression, .literal(.string(text))]))
    }
}

extension ODataOperand where Value: Numeric {
    public static func + (left: Self, right: Value) -> ODataTerm<Value> { left.calculate(.add, right) }
    public static func - (left: Self, right: Value) -> ODataTerm<Value> { left.calculate(.sub, right) }
    public static func * (left: Self, right: Value) -> ODataTerm<Value> { left.calculate(.mul, right) }
    public static func / (left: Self, right: Value) -> ODataTerm<Value> { left.calculate(.div, right) }
    public static func % (left: Self, right: Value) -> ODataTerm<Value> { left.calculate(.mod, right) }

    public var rounded: ODataTerm<Value> { ODataTerm(.round, expression) }
    public var roundedDown: ODataTerm<Value> { ODataTerm(.floor, expression) }
    public var roundedUp: ODataTerm<Value> { ODataTerm(.ceiling, expression) }

    private func calculate(_ sign: ODataExpression.Operator, _ value: Value) -> ODataTerm<Value> {
        ODataTerm(.binary(sign, expression, .literal(value.literal)))
    }
}

/// Values that have a calendar.
public protocol ODataCalendarValue: ODataPrimitive {}

extension ODataOperand where Value: ODataCalendarValue {
    public var year: ODataTerm<Int32> { ODataTerm(.year, expression) }
    public var month: ODataTerm<Int32> { ODataTerm(.month, expression) }
    public var day: ODataTerm<Int32> { ODataTerm(.day, expression) }
    public var hour: ODataTerm<Int32> { ODataTerm(.hour, expression) }
    public var minute: ODataTerm<Int32> { ODataTerm(.minute, expression) }
    public var second: ODataTerm<Int32> { ODataTerm(.second, expression) }
}
