import AdapterKit
import ODataLanguage
import ODataModel
import ODataRecords

// Numbers, and days, instants and durations with each other.
extension ExpressionReader {
    func arithmetic(
        _ operation: BinaryOperator, _ left: TypedExpression, _ right: TypedExpression, _ range: SourceRange
    ) throws(QueryProblem) -> TypedExpression {
        guard let a = left.type, let b = right.type else {
            return TypedExpression(.value(.null), left.type ?? right.type)
        }
        let families = (model.family(of: a), model.family(of: b))
        if families == (.number, .number) { return try numbers(operation, left, right, range) }
        let (x, y) = (left.expression, right.expression)
        switch (families.0, operation, families.1) {
        case (.dateTimeOffset, .add, .duration): return TypedExpression(.arithmetic(.add, x, y), a)
        case (.duration, .add, .dateTimeOffset): return TypedExpression(.arithmetic(.add, y, x), b)
        case (.dateTimeOffset, .subtract, .duration): return TypedExpression(.arithmetic(.subtract, x, y), a)
        case (.dateTimeOffset, .subtract, .dateTimeOffset):
            return TypedExpression(.arithmetic(.subtract, x, y), .duration)
        case (.date, .add, .duration): return TypedExpression(.call(.dayPlus, [x, y]), a)
        case (.duration, .add, .date): return TypedExpression(.call(.dayPlus, [y, x]), b)
        case (.date, .subtract, .duration): return TypedExpression(.call(.dayPlus, [x, .call(.negate, [y])]), a)
        case (.date, .subtract, .date): return TypedExpression(.call(.dayDifference, [x, y]), .duration)
        case (.duration, .add, .duration), (.duration, .subtract, .duration):
            return TypedExpression(.arithmetic(operation.arithmetic, x, y), a)
        case (.duration, .multiply, .number), (.duration, .divide, .number), (.duration, .divideExactly, .number):
            return TypedExpression(.arithmetic(operation.arithmetic, x, .call(.toDecimal, [y])), a)
        case (.number, .multiply, .duration):
            return TypedExpression(.arithmetic(.multiply, .call(.toDecimal, [x]), y), b)
        default:
            throw QueryProblem("`\(operation.rawValue)` does not go with \(a) and \(b).", at: range)
        }
    }

    private func numbers(
        _ operation: BinaryOperator, _ left: TypedExpression, _ right: TypedExpression, _ range: SourceRange
    ) throws(QueryProblem) -> TypedExpression {
        guard let a = left.type, let b = right.type else { return .null }
        let kinds = (model.kind(of: a), model.kind(of: b))
        let isDouble = kinds.0 == .double || kinds.1 == .double
        let type: TypeReference =
            isDouble ? .double : kinds.0 == .decimal || kinds.1 == .decimal ? .decimal : .int64
        if !isDouble, [.divide, .divideExactly, .modulo].contains(operation), case .value(let value) = right.expression,
            value.decimalValue?.isZero == true
        {
            throw QueryProblem("Division by zero.", at: range)
        }
        if isDouble {
            return TypedExpression(
                .arithmetic(
                    operation.arithmetic, .call(.toDouble, [left.expression]), .call(.toDouble, [right.expression])),
                type)
        }
        if operation == .divideExactly, type == .int64 {
            return TypedExpression(
                .arithmetic(.divide, .call(.toDecimal, [left.expression]), right.expression), .decimal)
        }
        return TypedExpression(.arithmetic(operation.arithmetic, left.expression, right.expression), type)
    }

    func negated(_ inner: Expression, _ range: SourceRange, on ground: ExpressionScope) throws(QueryProblem)
        -> TypedExpression
    {
        let meaning = try read(inner, on: ground)
        guard let type = meaning.type else { return .null }
        guard [.number, .duration].contains(model.family(of: type)) else {
            throw QueryProblem("Only numbers and durations have an opposite.", at: range)
        }
        if case .number(let digits, let suffix)? = meaning.literal {
            let turned = digits.hasPrefix("-") ? String(digits.dropFirst()) : "-\(digits)"
            return try natural(.number(turned, suffix: suffix), range)
        }
        return TypedExpression(.call(.negate, [meaning.expression]), type)
    }
}

extension BinaryOperator {
    fileprivate var arithmetic: RowExpression.Arithmetic {
        switch self {
        case .subtract: .subtract
        case .multiply: .multiply
        case .divide, .divideExactly: .divide
        case .modulo: .remainder
        default: .add
        }
    }
}

extension TypeReference {
    static let duration = TypeReference(.primitive(.duration))
}
