import AdapterKit

// Arithmetic and aggregates.
extension ExpressionCompiler {
    func arithmetic(
        _ operation: RowExpression.Arithmetic, _ left: RowExpression, _ right: RowExpression
    ) throws(PorticoError) -> TypedSQL {
        let (a, b) = (try value(left), try value(right))
        if a.kind == .date || b.kind == .date { return try dates(operation, a, b) }
        let values = try unified([a, b])
        let operands = values.map(\.fragment)
        switch values[0].kind {
        case nil: return TypedSQL("NULL", nil)
        case .integer: return TypedSQL(.build("($ \(operation.sqlOperator) $)", operands), .integer)
        case .double where operation == .divide || operation == .remainder:
            return TypedSQL(.build("portico_double_\(operation.rawValue)($, $)", operands), .double)
        case .double: return TypedSQL(.build("($ \(operation.sqlOperator) $)", operands), .double)
        case .decimal: return TypedSQL(.build("portico_decimal_\(operation.rawValue)($, $)", operands), .decimal)
        default: throw Self.invalid("Only numbers and dates can be computed with.")
        }
    }

    /// Both are seconds, in a column of doubles; differences are rounded to the microsecond, beyond which doubles do not
    /// tell instants apart.
    private func dates(
        _ operation: RowExpression.Arithmetic, _ a: TypedSQL, _ b: TypedSQL
    ) throws(PorticoError) -> TypedSQL {
        switch (a.kind, operation, b.kind) {
        case (.date, .subtract, .date):
            return TypedSQL(.build("portico_seconds_between($, $)", [b.fragment, a.fragment]), .decimal)
        case (.date, .add, _), (.date, .subtract, _):
            let seconds = b.converted(to: .decimal)
            guard seconds.kind == .decimal else { throw Self.invalid("Seconds are added to a date.") }
            return TypedSQL(
                .build("portico_date_\(operation.rawValue)($, $)", [a.fragment, seconds.fragment]), .date)
        default: throw Self.invalid("Dates are not computed with in that way.")
        }
    }

    func aggregate(
        _ aggregate: RowExpression.Aggregate, _ operand: RowExpression?, _ isDistinct: Bool
    ) throws(PorticoError) -> TypedSQL {
        guard let operand else {
            guard aggregate == .count else { throw Self.invalid("Only counting needs no value.") }
            return TypedSQL("count(*)", .integer)
        }
        let value = try value(operand)
        let distinct = isDistinct ? "DISTINCT " : ""
        switch aggregate {
        case .count: return TypedSQL(.build("count(\(distinct)$)", [value.fragment]), .integer)
        case .minimum, .maximum:
            guard value.kind != .tree else { throw Self.invalid("Lists and dictionaries have no order.") }
            return TypedSQL(.build("\(aggregate == .minimum ? "min" : "max")($)", [value.fragment]), value.kind)
        case .sum, .average: return try total(aggregate, value, distinct)
        }
    }

    func sumBefore(
        _ operand: RowExpression, _ groups: [RowExpression], _ order: [RowOrder]
    ) throws(PorticoError) -> TypedSQL {
        let criteria = try ClauseCompiler.order(order, self)
        let before = " ORDER BY $ ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING"
        return try sum(operand, over: try partition(groups) + .build(before, [criteria]))
    }

    /// Of the rows in the window, as a double.
    func sum(_ operand: RowExpression, over window: SQLFragment) throws(PorticoError) -> TypedSQL {
        let value = try value(operand)
        guard value.kind.map(\.isNumber) ?? true else { throw Self.invalid("Only numbers are summed.") }
        return TypedSQL(
            .build("ifnull(sum($) OVER ($), 0.0)", [value.converted(to: .double).fragment, window]), .double)
    }

    func partition(_ groups: [RowExpression]) throws(PorticoError) -> SQLFragment {
        groups.isEmpty ? SQLFragment() : .build("PARTITION BY $", [.list(try all(groups).map(\.fragment))])
    }

    private func total(
        _ aggregate: RowExpression.Aggregate, _ value: TypedSQL, _ distinct: String
    ) throws(PorticoError) -> TypedSQL {
        let isSum = aggregate == .sum
        switch value.kind {
        case nil: return TypedSQL("NULL", nil)
        case .double: return TypedSQL(.build("\(isSum ? "sum" : "avg")(\(distinct)$)", [value.fragment]), .double)
        case .integer:
            if isSum { return TypedSQL(.build("sum(\(distinct)$)", [value.fragment]), .integer) }
            return TypedSQL(.build("avg(\(distinct)$)", [value.fragment]), .double)
        case .decimal:
            return TypedSQL(.build("portico_decimal_\(aggregate.rawValue)(\(distinct)$)", [value.fragment]), .decimal)
        default: throw Self.invalid("Only numbers are summed.")
        }
    }
}

extension RowExpression.Arithmetic {
    fileprivate var sqlOperator: String {
        switch self {
        case .add: "+"
        case .subtract: "-"
        case .multiply: "*"
        case .divide: "/"
        case .remainder: "%"
        }
    }
}
