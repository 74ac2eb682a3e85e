import Foundation

/// Comparisons. Null is what `nil` stands for; that null fulfils no other comparison is the server's affair.
extension ODataOperand {
    public static func == (left: Self, right: Value) -> ODataCondition { left.compare(.eq, right) }
    public static func != (left: Self, right: Value) -> ODataCondition { left.compare(.ne, right) }
    public static func < (left: Self, right: Value) -> ODataCondition { left.compare(.lt, right) }
    public static func <= (left: Self, right: Value) -> ODataCondition { left.compare(.le, right) }
    public static func > (left: Self, right: Value) -> ODataCondition { left.compare(.gt, right) }
    public static func >= (left: Self, right: Value) -> ODataCondition { left.compare(.ge, right) }

    public static func == (left: Self, right: some ODataOperand<Value>) -> ODataCondition {
        ODataCondition(left.expression, .eq, right.expression)
    }
    public static func != (left: Self, right: some ODataOperand<Value>) -> ODataCondition {
        ODataCondition(left.expression, .ne, right.expression)
    }
    public static func < (left: Self, right: some ODataOperand<Value>) -> ODataCondition {
        ODataCondition(left.expression, .lt, right.expression)
    }
    public static func <= (left: Self, right: some ODataOperand<Value>) -> ODataCondition {
        ODataCondition(left.expression, .le, right.expression)
    }
    public static func > (left: Self, right: some ODataOperand<Value>) -> ODataCondition {
        ODataCondition(left.expression, .gt, right.expression)
    }
    public static func >= (left: Self, right: some ODataOperand<Value>) -> ODataCondition {
        ODataCondition(left.expression, .ge, right.expression)
    }

    public static func == (left: Self, right: _OptionalNilComparisonType) -> ODataCondition {
        ODataCondition(left.expression, .eq, .literal(.null))
    }
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
    public static func != (left: Self, right: Double) -> ODataCondition { left != Decimal(written: right) }
    public static func < (left: Self, right: Double) -> ODataCondition { left < Decimal(written: right) }
    public static func <= (left: Self, right: Double) -> ODataCondition { left <= Decimal(written: right) }
    public static func > (left: Self, right: Double) -> ODataCondition { left > Decimal(written: right) }
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
    public var isTrue: ODataCondition { self == true }
}
