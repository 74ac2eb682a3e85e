import Foundation

/// Something of a type that conditions compare: a property, or what is computed of one.
public protocol ODataOperand<Value>: Sendable {
    /// The type of its values.
    associatedtype Value: ODataPrimitive
    /// As it is sent to the service.
    var expression: ODataExpression { get }
}

/// A property of a primitive type.
public struct ODataField<Value: ODataPrimitive>: ODataOperand, ODataSelectable, ODataOrdering {
    let path: ODataPath

    public init(_ path: ODataPath, _ name: String) { self.path = path.appending(name) }

    public var expression: ODataExpression { .path(path) }
    public var selection: ODataPath { path }
    public var order: ODataOrder { ODataOrder(expression: expression, isDescending: false) }
    /// From the largest value to the smallest.
    public var descending: ODataOrder { ODataOrder(expression: expression, isDescending: true) }
}

/// A computed value: `$0.name.lowercased`, `$0.gpa + 1`.
public struct ODataTerm<Value: ODataPrimitive>: ODataOperand, ODataOrdering {
    public let expression: ODataExpression

    init(_ function: ODataExpression.Function, _ arguments: ODataExpression...) {
        expression = .call(function, arguments)
    }

    init(_ expression: ODataExpression) { self.expression = expression }

    public var order: ODataOrder { ODataOrder(expression: expression, isDescending: false) }
    /// From the largest value to the smallest.
    public var descending: ODataOrder { ODataOrder(expression: expression, isDescending: true) }
}

/// The condition of a filter.
public struct ODataCondition: Sendable, Equatable {
    /// As it is sent to the service.
    public let expression: ODataExpression

    init(_ expression: ODataExpression) { self.expression = expression }

    init(_ left: ODataExpression, _ sign: ODataExpression.Operator, _ right: ODataExpression) {
        expression = .binary(sign, left, right)
    }

    /// Whether both conditions hold.
    public static func && (left: ODataCondition, right: ODataCondition) -> ODataCondition {
        ODataCondition(left.expression, .and, right.expression)
    }

    /// Whether at least one of the conditions holds.
    public static func || (left: ODataCondition, right: ODataCondition) -> ODataCondition {
        ODataCondition(left.expression, .or, right.expression)
    }

    /// Whether the condition does not hold.
    public static prefix func ! (condition: ODataCondition) -> ODataCondition {
        ODataCondition(.not(condition.expression))
    }
}

/// A criterion of an order; a property alone is ascending.
public protocol ODataOrdering {
    /// The order as it is sent to the service.
    var order: ODataOrder { get }
}

/// An expression by which entities are ordered.
public struct ODataOrder: ODataOrdering, Sendable, Equatable {
    let expression: ODataExpression
    let isDescending: Bool

    public var order: ODataOrder { self }
}

/// A part of an entity that can be named in a selection.
public protocol ODataSelectable {
    /// The path that is selected.
    var selection: ODataPath { get }
}

/// Comparisons. Null is what `nil` stands for; that null fulfils no other comparison is the server's affair.
extension ODataOperand {
    public static func == (left: Self, right: Value) -> ODataCondition { left.compare(.eq, right) }
    /// Whether the values differ.
    public static func != (left: Self, right: Value) -> ODataCondition { left.compare(.ne, right) }
    public static func < (left: Self, right: Value) -> ODataCondition { left.compare(.lt, right) }
    /// Whether the left value is at most the right one.
    public static func <= (left: Self, right: Value) -> ODataCondition { left.compare(.le, right) }
    /// Whether the left value is the larger one.
    public static func > (left: Self, right: Value) -> ODataCondition { left.compare(.gt, right) }
    /// Whether the left value is at least the right one.
    public static func >= (left: Self, right: Value) -> ODataCondition { left.compare(.ge, right) }

    public static func == (left: Self, right: some ODataOperand<Value>) -> ODataCondition {
        ODataCondition(left.expression, .eq, right.expression)
    }
    /// Whether the values differ.
    public static func != (left: Self, right: some ODataOperand<Value>) -> ODataCondition {
        ODataCondition(left.expression, .ne, right.expression)
    }
    public static func < (left: Self, right: some ODataOperand<Value>) -> ODataCondition {
        ODataCondition(left.expression, .lt, right.expression)
    }
    /// Whether the left value is at most the right one.
    public static func <= (left: Self, right: some ODataOperand<Value>) -> ODataCondition {
        ODataCondition(left.expression, .le, right.expression)
    }
    /// Whether the left value is the larger one.
    public static func > (left: Self, right: some ODataOperand<Value>) -> ODataCondition {
        ODataCondition(left.expression, .gt, right.expression)
    }
    /// Whether the left value is at least the right one.
    public static func >= (left: Self, right: some ODataOperand<Value>) -> ODataCondition {
        ODataCondition(left.expression, .ge, right.expression)
    }

    public static func == (left: Self, right: _OptionalNilComparisonType) -> ODataCondition {
        ODataCondition(left.expression, .eq, .literal(.null))
    }
    /// Whether the values differ.
    public static func != (left: Self, right: _OptionalNilComparisonType) -> ODataCondition {
        ODataCondition(left.expression, .ne, .literal(.null))
    }

    /// Whether it is one of these; of none, false.
    public func isOne(of values: [Value]) -> ODataCondition {
        let each = values.map { compare(.eq, $0).expression }
        // Either version says it so; `in` is 4.01's alone.
        guard let first = each.first else { return ODataCondition(.literal(.bool(true)), .eq, .literal(.bool(false))) }
        return ODataCondition(each.dropFirst().reduce(first) { .binary(.or, $0, $1) })
    }

    private func compare(_ sign: ODataExpression.Operator, _ value: Value) -> ODataCondition {
        ODataCondition(expression, sign, .literal(value.literal))
    }
}

/// Numbers as they are written: `3.1` is 3.1, not the binary fraction next to it.
extension ODataOperand where Value == Decimal {
    public static func == (left: Self, right: Double) -> ODataCondition { left == Decimal(written: right) }
    /// Whether the values differ.
    public static func != (left: Self, right: Double) -> ODataCondition { left != Decimal(written: right) }
    public static func < (left: Self, right: Double) -> ODataCondition { left < Decimal(written: right) }
    /// Whether the left value is at most the right one.
    public static func <= (left: Self, right: Double) -> ODataCondition { left <= Decimal(written: right) }
    /// Whether the left value is the larger one.
    public static func > (left: Self, right: Double) -> ODataCondition { left > Decimal(written: right) }
    /// Whether the left value is at least the right one.
    public static func >= (left: Self, right: Double) -> ODataCondition { left >= Decimal(written: right) }
}

extension Decimal {
    init(written number: Double) {
        self = Decimal(string: "\(number)", locale: Locale(identifier: "en_US_POSIX")) ?? Decimal(number)
    }
}

extension ODataOperand where Value: ODataEnumeration {
    /// Whether all of the flags are set.
    public func has(_ flags: Value) -> ODataCondition {
        ODataCondition(expression, .has, .literal(flags.literal))
    }
}

extension ODataOperand where Value == Bool {
    /// Whether the value is true; not where it is null.
    public var isTrue: ODataCondition { self == true }
}

extension ODataOperand where Value == String {
    /// Whether the value contains the text.
    public func contains(_ text: String) -> ODataCondition { test(.contains, text) }
    /// Whether the value begins with the text.
    public func startsWith(_ text: String) -> ODataCondition { test(.startswith, text) }
    /// Whether the value ends with the text.
    public func endsWith(_ text: String) -> ODataCondition { test(.endswith, text) }

    /// The number of characters.
    public var length: ODataTerm<Int32> { ODataTerm(.length, expression) }
    /// The value in lower case.
    public var lowercased: ODataTerm<String> { ODataTerm(.tolower, expression) }
    /// The value in upper case.
    public var uppercased: ODataTerm<String> { ODataTerm(.toupper, expression) }
    /// The value without white space at both ends.
    public var trimmed: ODataTerm<String> { ODataTerm(.trim, expression) }

    /// From 0; -1 where it is not in it.
    public func index(of text: String) -> ODataTerm<Int32> { ODataTerm(.indexof, expression, .literal(.string(text))) }

    /// The rest of the value from that character on; the first is 0.
    public func substring(from start: Int32) -> ODataTerm<String> {
        ODataTerm(.substring, expression, .literal(.int(Int64(start))))
    }

    /// The texts, one after the other (`concat`).
    public static func + (left: Self, right: String) -> ODataTerm<String> {
        ODataTerm(.concat, left.expression, .literal(.string(right)))
    }
    /// The texts, one after the other (`concat`).
    public static func + (left: Self, right: some ODataOperand<String>) -> ODataTerm<String> {
        ODataTerm(.concat, left.expression, right.expression)
    }

    private func test(_ function: ODataExpression.Function, _ text: String) -> ODataCondition {
        ODataCondition(.call(function, [expression, .literal(.string(text))]))
    }
}

extension ODataOperand where Value: Numeric {
    /// The sum.
    public static func + (left: Self, right: Value) -> ODataTerm<Value> { left.calculate(.add, right) }
    /// The difference.
    public static func - (left: Self, right: Value) -> ODataTerm<Value> { left.calculate(.sub, right) }
    /// The product.
    public static func * (left: Self, right: Value) -> ODataTerm<Value> { left.calculate(.mul, right) }
    /// The quotient; of integers, an integer.
    public static func / (left: Self, right: Value) -> ODataTerm<Value> { left.calculate(.div, right) }
    /// The remainder of the division.
    public static func % (left: Self, right: Value) -> ODataTerm<Value> { left.calculate(.mod, right) }

    /// The nearest integer.
    public var rounded: ODataTerm<Value> { ODataTerm(.round, expression) }
    /// The next smaller integer.
    public var roundedDown: ODataTerm<Value> { ODataTerm(.floor, expression) }
    /// The next larger integer.
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
