import AdapterKit

/// The condition that a row comes after the one whose order has certain values, by any expressions, null among them.
///
/// For `a, b` after `(x, y)` that is `a > x OR (a = x AND b > y)`, each comparison turned round where the criterion
/// descends and made to know null; before it what every later row fulfils, so that an index on the first is used. Where
/// all criteria go one way and none can be null, `(a, b) > (x, y)` says the same and is one range of an index.
struct RowKeyset {
    let order: [RowOrder]
    let expressions: ExpressionCompiler

    func condition(after values: [WireValue]) throws(PorticoError) -> SQLFragment {
        guard values.count == order.count, !order.isEmpty else {
            throw PorticoError(.cursorInvalid, "The cursor belongs to another query.", target: "cursor")
        }
        var criteria: [Criterion] = []
        for (criterion, value) in zip(order, values) {
            criteria.append(try self.criterion(criterion, value))
        }
        if isOneRange(criteria) { return range(criteria) }
        return expanded(criteria)
    }

    private func expanded(_ criteria: [Criterion]) -> SQLFragment {
        var alternatives: [SQLFragment] = []
        for depth in criteria.indices {
            if let last = criteria[depth].comesAfter {
                alternatives.append(.balanced(criteria[..<depth].map(\.isEqual) + [last], " AND "))
            }
        }
        guard !alternatives.isEmpty else { return SQLFragment("0") }
        let any = SQLFragment.balanced(alternatives, " OR ")
        // Of one criterion the only alternative is a range already.
        guard criteria.count > 1, let bound = criteria[0].bound else { return any }
        return .balanced([bound, any], " AND ")
    }

    private func isOneRange(_ criteria: [Criterion]) -> Bool {
        criteria.allSatisfy {
            $0.isDescending == criteria[0].isDescending && $0.isNeverNull && $0.value.fragment.values != [.null]
        }
    }

    private func range(_ criteria: [Criterion]) -> SQLFragment {
        .build(
            "($) \(criteria[0].isDescending ? "<" : ">") ($)",
            [.list(criteria.map(\.expression)), .list(criteria.map(\.value.fragment))])
    }

    private func criterion(_ order: RowOrder, _ value: WireValue) throws(PorticoError) -> Criterion {
        let expression = try expressions.comparable(order.expression)
        guard let bound = TypedSQL.literal(value, for: expression.kind) else {
            throw PorticoError(.cursorInvalid, "The cursor belongs to another query.", target: "cursor")
        }
        return Criterion(
            expression: expression.fragment, value: bound, isNull: value.isNull, isDescending: order.isDescending,
            isNeverNull: expressions.isNeverNull(order.expression))
    }
}

private struct Criterion {
    let expression: SQLFragment
    let value: TypedSQL
    let isNull: Bool
    let isDescending: Bool
    let isNeverNull: Bool

    var isEqual: SQLFragment {
        isNull ? .build("$ IS NULL", [expression]) : .build("$ = $", [expression, value.fragment])
    }

    /// Nil where nothing does: after null in descending order.
    var comesAfter: SQLFragment? {
        switch (isNull, isDescending) {
        case (true, true): nil
        case (true, false): .build("$ IS NOT NULL", [expression])
        case (false, false): .build("$ > $", [expression, value.fragment])
        case (false, true):
            isNeverNull
                ? .build("$ < $", [expression, value.fragment])
                : .build("($ < $ OR $ IS NULL)", [expression, value.fragment, expression])
        }
    }

    var bound: SQLFragment? {
        guard !isNull else { return nil }
        if !isDescending { return .build("$ >= $", [expression, value.fragment]) }
        return isNeverNull ? .build("$ <= $", [expression, value.fragment]) : nil
    }
}
