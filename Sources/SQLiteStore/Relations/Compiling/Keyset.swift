import AdapterKit

/// The condition that a row comes after the one whose order has certain values, null among them.
///
/// For `a, b` after `(x, y)` that is `a > x OR (a = x AND b > y)`, each comparison turned round where the criterion
/// descends and made to know null; before it what every later row fulfils, so that an index on the first is used. Where
/// all criteria go one way and none can be null, `(a, b) > (x, y)` says the same and is one range of an index.
struct Keyset {
    /// One for each criterion of the order; at least one.
    let criteria: [KeysetCriterion]

    /// How often a criterion is in its own alternative and in the range before all of them. It is in the alternatives of
    /// those behind it too.
    static let ownUses = 3

    var condition: SQLFragment { isOneRange ? range : expanded }

    /// Which criterion's value each parameter of the condition has.
    var places: [Int] {
        let numbered = criteria.enumerated().map { position, criterion in
            KeysetCriterion(
                expression: criterion.expression,
                value: criterion.value == .null ? .null : .integer(Int64(position)),
                isDescending: criterion.isDescending, isNeverNull: criterion.isNeverNull)
        }
        return Keyset(criteria: numbered).condition.values.compactMap {
            if case .integer(let position) = $0 { Int(position) } else { nil }
        }
    }

    private var isOneRange: Bool {
        criteria.allSatisfy {
            $0.isDescending == criteria[0].isDescending && $0.isNeverNull && $0.value != .null
        }
    }

    private var range: SQLFragment {
        var condition = SQLFragment("(")
        for (position, criterion) in criteria.enumerated() {
            if position > 0 { condition.append(", ") }
            condition.append(criterion.expression.sql, criterion.expression.values)
        }
        condition.append(criteria[0].isDescending ? ") < (" : ") > (")
        for (position, criterion) in criteria.enumerated() {
            condition.append(position > 0 ? ", ?" : "?", [criterion.value])
        }
        condition.append(")")
        return condition
    }

    private var expanded: SQLFragment {
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
}

/// One criterion of an order, and the value that the row before has in it.
struct KeysetCriterion {
    let expression: SQLFragment
    let value: SQLValue
    let isDescending: Bool
    let isNeverNull: Bool

    fileprivate var isEqual: SQLFragment {
        value == .null ? .build("$ IS NULL", [expression]) : compared(" = ?")
    }

    /// Nil where nothing does: after null in descending order.
    fileprivate var comesAfter: SQLFragment? {
        switch (value == .null, isDescending) {
        case (true, true): nil
        case (true, false): .build("$ IS NOT NULL", [expression])
        case (false, false): compared(" > ?")
        case (false, true):
            isNeverNull ? compared(" < ?") : .build("($ OR $ IS NULL)", [compared(" < ?"), expression])
        }
    }

    /// What every later row fulfils.
    fileprivate var bound: SQLFragment? {
        guard value != .null else { return nil }
        if !isDescending { return compared(" >= ?") }
        return isNeverNull ? compared(" <= ?") : nil
    }

    private func compared(_ comparison: String) -> SQLFragment {
        SQLFragment(expression.sql + comparison, expression.values + [value])
    }
}
