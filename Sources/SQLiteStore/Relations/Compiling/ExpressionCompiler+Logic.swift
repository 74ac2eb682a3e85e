import AdapterKit

// Conditions. Where null counts as false, as it does in WHERE and below AND and OR there, comparisons stay as an index
// can use them; elsewhere they are told apart.
extension ExpressionCompiler {
    /// Throws `request.invalid` where it is no condition.
    func condition(_ expression: RowExpression) throws(PorticoError) -> SQLFragment {
        try logic(expression, nullIsFalse: true)
    }

    func logic(_ expression: RowExpression, nullIsFalse: Bool) throws(PorticoError) -> SQLFragment {
        switch expression {
        case .all(let parts): return try join(parts, " AND ", empty: "1", nullIsFalse)
        case .any(let parts): return try join(parts, " OR ", empty: "0", nullIsFalse)
        case .not(let inner): return .build("(NOT $)", [try logic(inner, nullIsFalse: false)])
        case .isTrue(let inner):
            let condition = try logic(inner, nullIsFalse: nullIsFalse)
            return nullIsFalse ? condition : .build("($ IS TRUE)", [condition])
        case .isNull(let inner): return .build("($ IS NULL)", [try value(inner).fragment])
        case .same(let left, let right): return try same(left, right, nullIsFalse)
        case .compare(let comparison, let left, let right): return try compare(comparison, left, right)
        case .oneOf(let operand, let values): return try oneOf(operand, values)
        case .among(let operand, let relation): return try among(operand, relation)
        case .exists(let relation): return .build("EXISTS ($)", [try relations.compile(relation).fragment])
        case .found(let source, let search):
            let found = try self.found(search, in: try relations.scope.layout(source), source)
            return nullIsFalse ? found : .build("($ IS TRUE)", [found])
        default:
            let compiled = try value(expression)
            guard compiled.kind == .bool || compiled.kind == nil else {
                throw Self.invalid("A condition is true or false.")
            }
            return compiled.fragment
        }
    }

    private func join(
        _ parts: [RowExpression], _ connective: String, empty: String, _ nullIsFalse: Bool
    ) throws(PorticoError) -> SQLFragment {
        var compiled: [SQLFragment] = []
        for part in parts { compiled.append(try logic(part, nullIsFalse: nullIsFalse)) }
        return compiled.isEmpty ? SQLFragment(empty) : .balanced(compiled, connective)
    }

    /// With a value that is not null, equality says the same, and SQLite plans better with it.
    private func same(
        _ left: RowExpression, _ right: RowExpression, _ nullIsFalse: Bool
    ) throws(PorticoError) -> SQLFragment {
        let (a, b) = try pair(left, right)
        return .build(nullIsFalse && (left.isValue || right.isValue) ? "($ = $)" : "($ IS $)", [a, b])
    }

    private func compare(
        _ comparison: Comparison, _ left: RowExpression, _ right: RowExpression
    ) throws(PorticoError) -> SQLFragment {
        let (a, b) = try pair(left, right)
        return .build("($ \(comparison.sqlOperator) $)", [a, b])
    }

    /// Two operands as they compare. A literal takes the other's kind; SQLite compares integers and doubles exactly.
    private func pair(
        _ left: RowExpression, _ right: RowExpression
    ) throws(PorticoError) -> (SQLFragment, SQLFragment) {
        var (a, b) = (try value(left), try value(right))
        if case .value(let literal) = right, let fitted = TypedSQL.literal(literal, for: a.kind) { b = fitted }
        if case .value(let literal) = left, let fitted = TypedSQL.literal(literal, for: b.kind) { a = fitted }
        guard let common = RowKind.common(a.kind, b.kind) else { throw Self.invalid("Values of different kinds meet.") }
        if common == .double, a.kind != .decimal, b.kind != .decimal { return (a.fragment, b.fragment) }
        return (a.converted(to: common).fragment, b.converted(to: common).fragment)
    }

    private func among(_ operand: RowExpression, _ relation: Relation) throws(PorticoError) -> SQLFragment {
        let value = try value(operand)
        var nested = try relations.compile(relation)
        guard nested.kinds.count == 1, let kind = RowKind.common(value.kind, nested.kinds[0]) else {
            throw Self.invalid("A value is looked for among values of its kind.")
        }
        if kind != nested.kinds[0] { nested = try relations.compile(relation, as: [kind]) }
        return .build("($ IN ($))", [value.converted(to: kind).fragment, nested.fragment])
    }
}

extension RowExpression {
    /// A value that is there.
    fileprivate var isValue: Bool {
        if case .value(let value) = self { !value.isNull } else { false }
    }
}
