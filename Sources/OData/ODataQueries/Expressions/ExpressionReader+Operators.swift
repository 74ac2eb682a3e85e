import AdapterKit
import ODataLanguage
import ODataModel
import ODataRecords

// Operators. URL Conventions 4.01, sections 5.1.1.1 and 5.1.1.2.
extension ExpressionReader {
    func binary(
        _ operation: BinaryOperator, _ left: Expression, _ right: Expression, _ range: SourceRange,
        on ground: ExpressionScope
    ) throws(QueryProblem) -> TypedExpression {
        switch operation {
        case .and:
            return TypedExpression(.all([try condition(left, on: ground), try condition(right, on: ground)]), .boolean)
        case .or:
            return TypedExpression(.any([try condition(left, on: ground), try condition(right, on: ground)]), .boolean)
        case .isIn: return TypedExpression(try isAmong(try read(left, on: ground), right, range, on: ground), .boolean)
        default: break
        }
        let (a, b) = (try read(left, on: ground), try read(right, on: ground))
        if operation == .has { return try has(a, b, range) }
        if operation.isComparison { return TypedExpression(try compare(operation, a, b, range), .boolean) }
        return try arithmetic(operation, a, b, range)
    }

    private func compare(
        _ operation: BinaryOperator, _ left: TypedExpression, _ right: TypedExpression, _ range: SourceRange
    ) throws(QueryProblem) -> RowExpression {
        let (a, b) = try pair(left, right, range)
        if left.literal == .notANumber || right.literal == .notANumber { return .value(.bool(operation == .notEqual)) }
        switch operation {
        case .equal: return .same(a, b)
        case .notEqual: return .not(.same(a, b))
        case .less: return try ordered(.less, a, b, left, right, range)
        case .lessOrEqual: return try ordered(.lessOrEqual, a, b, left, right, range)
        case .greater: return try ordered(.greater, a, b, left, right, range)
        default: return try ordered(.greaterOrEqual, a, b, left, right, range)
        }
    }

    private func ordered(
        _ comparison: Comparison, _ a: RowExpression, _ b: RowExpression, _ left: TypedExpression,
        _ right: TypedExpression,
        _ range: SourceRange
    ) throws(QueryProblem) -> RowExpression {
        for type in [left.type, right.type].compactMap({ $0 }) where model.kind(of: type) == .tree {
            throw QueryProblem("Values of the type \(type) have no order.", at: range)
        }
        if left.isNull || right.isNull { return .value(false) }
        return .isTrue(.compare(comparison, a, b))
    }

    /// Both of types that compare; a literal as a value of the other's type.
    func pair(
        _ left: TypedExpression, _ right: TypedExpression, _ range: SourceRange
    ) throws(QueryProblem) -> (RowExpression, RowExpression) {
        guard let a = left.type, let b = right.type else { return (left.expression, right.expression) }
        let isLeftLiteral = left.literal != nil && right.literal == nil
        let first = isLeftLiteral ? try fitted(left, to: b, range) : left.expression
        let second = right.literal != nil ? try fitted(right, to: a, range) : right.expression
        let families = (model.family(of: a), model.family(of: b))
        let isFitted = first != left.expression || second != right.expression
        guard
            isFitted || Self.areComparable(families.0, families.1) || isUntyped(a, families.1)
                || isUntyped(b, families.0)
        else {
            throw QueryProblem("\(a) and \(b) cannot be compared.", at: range)
        }
        return (first, second)
    }

    /// Version 2 knows enumerations as numbers.
    private static func areComparable(_ left: TypeFamily, _ right: TypeFamily) -> Bool {
        switch (left, right) {
        case (.enumeration, .number), (.number, .enumeration), (.untyped, _), (_, .untyped): true
        default: left == right
        }
    }

    /// An object in JSON, beside what is structured.
    private func isUntyped(_ type: TypeReference, _ other: TypeFamily) -> Bool {
        type.type == .abstract("Untyped") && !type.isCollection && other == .structured
    }

    private func has(_ left: TypedExpression, _ right: TypedExpression, _ range: SourceRange) throws(QueryProblem)
        -> TypedExpression
    {
        guard let type = left.type, case .enumeration(let name) = model.family(of: type) else {
            if left.isNull { return .null }
            throw QueryProblem("`has` needs an enumeration on its left.", at: range)
        }
        let wanted = try fitted(right, to: type, range)
        if let other = right.type, wanted == right.expression, model.family(of: other) != .enumeration(name),
            model.family(of: other) != .number
        {
            throw QueryProblem("`has` needs a member of \(name) on its right.", at: range)
        }
        return TypedExpression(.compare(.equal, .call(.bits, [left.expression, wanted]), wanted), .boolean)
    }

    private func isAmong(
        _ left: TypedExpression, _ right: Expression, _ range: SourceRange, on ground: ExpressionScope
    ) throws(QueryProblem) -> RowExpression {
        switch right.form {
        case .list(let items), .array(let items): return try isOne(of: items, left, on: ground)
        default: break
        }
        let list = try read(right, on: ground)
        if case .value(let value) = list.expression, let items = value.arrayValue {
            return .isTrue(.oneOf(left.expression, items))
        }
        guard let type = list.type, type.isCollection else {
            throw QueryProblem("`in` needs a list on its right.", at: right.range)
        }
        let element = numbering.next()
        let item = RowExpression.member(.element(element), [], model.kind(of: type.item))
        return .exists(
            Relation(
                .elements(of: list.expression, as: element), where: .same(item, left.expression),
                columns: [.value(1)]))
    }

    private func isOne(
        of items: [Expression], _ left: TypedExpression, on ground: ExpressionScope
    ) throws(QueryProblem) -> RowExpression {
        var values: [WireValue] = []
        var others: [RowExpression] = []
        for item in items {
            let meaning = try read(item, on: ground)
            let (own, other) = try pair(left, meaning, item.range)
            if case .value(let value) = other, own == left.expression, !value.isNull {
                values.append(value)
            } else {
                others.append(.same(own, other))
            }
        }
        return .any([.isTrue(.oneOf(left.expression, values))] + others)
    }
}
