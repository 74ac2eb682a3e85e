import AdapterKit
import RecordStorage

/// From expressions to SQL, each with its kind.
struct ExpressionCompiler {
    let relations: RelationCompiler

    var budget: StatementBudget { relations.budget }

    func all(_ expressions: [RowExpression]) throws(PorticoError) -> [TypedSQL] {
        var compiled: [TypedSQL] = []
        for expression in expressions { compiled.append(try value(expression)) }
        return compiled
    }

    /// With the parts that `compile` counts.
    func counted(_ compile: () throws(PorticoError) -> TypedSQL) throws(PorticoError) -> CountedSQL {
        let before = budget.parts
        let typed = try compile()
        return CountedSQL(typed: typed, parts: budget.parts - before)
    }

    /// What can be ordered by. Throws `request.invalid` for lists and dictionaries.
    func comparable(_ expression: RowExpression) throws(PorticoError) -> TypedSQL {
        let compiled = try value(expression)
        guard compiled.kind != .tree else { throw Self.invalid("Lists and dictionaries have no order.") }
        return compiled
    }

    /// Throws `request.limitExceeded` where the statement becomes too large (``StatementBudget``), `request.invalid` where
    /// the expression means nothing.
    func value(_ expression: RowExpression) throws(PorticoError) -> TypedSQL {
        try budget.count()
        let compiled = try compiled(expression)
        try budget.charge(compiled.fragment)
        return compiled
    }

    private func compiled(_ expression: RowExpression) throws(PorticoError) -> TypedSQL {
        switch expression {
        case .field(let source, let name): return try field(name, of: source)
        case .revision(let source):
            _ = try relations.scope.layout(source)
            return TypedSQL("\(source.sql).\(CollectionLayout.revisionColumn)", .integer)
        case .output(let source, let column):
            let output = try relations.scope.output(column, of: source)
            try budget.count(output.parts)
            return TypedSQL("\(source.sql).c\(column)", output.kind)
        case .element(let source): return try member(of: .element(source), [], .tree)
        case .value(let value): return try literal(value)
        case .member(let whole, let steps, let kind): return try member(of: whole, steps, kind)
        case .arithmetic(let operation, let left, let right): return try arithmetic(operation, left, right)
        case .call(let function, let arguments): return try call(function, arguments)
        case .choose(let branches, let otherwise): return try choose(branches, otherwise)
        case .aggregate(let aggregate, let operand, let isDistinct):
            return try self.aggregate(aggregate, operand, isDistinct)
        case .sumBefore(let operand, let groups, let order): return try sumBefore(operand, groups, order)
        case .sumWithin(let operand, let groups): return try sum(operand, over: try partition(groups))
        case .first(let relation): return try first(relation)
        default: return TypedSQL(try logic(expression, nullIsFalse: false), .bool)
        }
    }

    /// Whether no row has null here, as far as the declaration says so.
    func isNeverNull(_ expression: RowExpression) -> Bool {
        switch expression {
        case .field(let source, let name):
            guard let field = try? relations.scope.layout(source).column(name).field else { return false }
            return field.isRequired && !field.isNullable && relations.scope.isMandatory(source)
        case .revision(let source): return relations.scope.isMandatory(source)
        default: return false
        }
    }

    private func field(_ name: FieldName, of source: SourceName) throws(PorticoError) -> TypedSQL {
        let column = try relations.scope.layout(source).column(name)
        guard case .scalar(let scalar) = column.kind else { return TypedSQL(source.sql + "." + column.name, .tree) }
        let compared = SQLFragment(source.sql + "." + column.comparisonName)
        let stored = scalar == .decimal ? SQLFragment(source.sql + "." + column.name) : nil
        return TypedSQL(compared, RowValueType(scalar), written: stored)
    }

    private func literal(_ value: WireValue) throws(PorticoError) -> TypedSQL {
        guard let compiled = TypedSQL.literal(value, for: nil) else {
            if value.isNull { return TypedSQL("NULL", nil) }
            throw Self.invalid("A value cannot be asked for.")
        }
        return compiled
    }

    private func first(_ relation: Relation) throws(PorticoError) -> TypedSQL {
        let compiled = try relations.compile(relation)
        guard compiled.kinds.count == 1 else { throw Self.invalid("A relation in place of a value has one column.") }
        return TypedSQL(.build("($)", [compiled.fragment]), compiled.kinds[0])
    }

    private func choose(
        _ branches: [RowExpression.Branch], _ otherwise: RowExpression
    ) throws(PorticoError) -> TypedSQL {
        let values = try unified(try all(branches.map(\.value) + [otherwise]))
        guard !branches.isEmpty else { return values[0] }
        var sql = SQLFragment("CASE")
        for (branch, value) in zip(branches, values) {
            sql = sql + .build(" WHEN $ THEN $", [try condition(branch.condition), value.fragment])
        }
        sql = sql + .build(" ELSE $ END", [values[values.count - 1].fragment])
        return TypedSQL(.build("($)", [sql]), values[values.count - 1].kind)
    }

    /// All of one kind.
    func unified(_ values: [TypedSQL]) throws(PorticoError) -> [TypedSQL] {
        var kind: RowValueType?
        for value in values {
            guard let common = RowValueType.common(kind, value.kind) else {
                throw Self.invalid("Values of different kinds meet.")
            }
            kind = common
        }
        return values.map { $0.converted(to: kind) }
    }

    static func invalid(_ message: String) -> PorticoError { PorticoError(.requestInvalid, message) }
}

// Conditions. Where null counts as false, as it does in WHERE and below AND and OR there, comparisons stay as an index
// can use them; elsewhere they are distinguished.
extension ExpressionCompiler {
    /// Throws `request.invalid` where it is no condition.
    func condition(_ expression: RowExpression) throws(PorticoError) -> SQLFragment {
        try logic(expression, nullIsFalse: true)
    }

    func logic(_ expression: RowExpression, nullIsFalse: Bool) throws(PorticoError) -> SQLFragment {
        try budget.count()
        let compiled = try compiledLogic(expression, nullIsFalse: nullIsFalse)
        try budget.charge(compiled)
        return compiled
    }

    private func compiledLogic(_ expression: RowExpression, nullIsFalse: Bool) throws(PorticoError) -> SQLFragment {
        switch expression {
        case .all(let parts): return try join(parts, " AND ", empty: "1", nullIsFalse)
        case .any(let parts): return try join(parts, " OR ", empty: "0", nullIsFalse)
        case .not(let inner): return .build("(NOT $)", [try logic(inner, nullIsFalse: false)])
        case .isTrue(let inner):
            let condition = try logic(inner, nullIsFalse: true)
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
            if nullIsFalse, let found = try element(expression) { return found }
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
        return .binary(a, nullIsFalse && (left.isValue || right.isValue) ? " = " : " IS ", b)
    }

    private func compare(
        _ comparison: Comparison, _ left: RowExpression, _ right: RowExpression
    ) throws(PorticoError) -> SQLFragment {
        let (a, b) = try pair(left, right)
        return .binary(a, comparison.sqlOperator, b)
    }

    /// Two operands as they compare. A literal takes the other's kind; SQLite compares integers and doubles exactly.
    private func pair(
        _ left: RowExpression, _ right: RowExpression
    ) throws(PorticoError) -> (SQLFragment, SQLFragment) {
        var a = try value(left)
        let b = if let fitted = try fitted(right, to: a.kind) { fitted } else { try value(right) }
        if case .value(let literal) = left, let fitted = TypedSQL.literal(literal, for: b.kind) { a = fitted }
        guard let common = RowValueType.common(a.kind, b.kind) else {
            throw Self.invalid("Values of different kinds meet.")
        }
        if common == .double, a.kind != .decimal, b.kind != .decimal { return (a.fragment, b.fragment) }
        return (a.converted(to: common).fragment, b.converted(to: common).fragment)
    }

    /// A literal as it is bound where it meets expressions of that kind; nil for everything else.
    private func fitted(_ expression: RowExpression, to kind: RowValueType?) throws(PorticoError) -> TypedSQL? {
        guard case .value(let literal) = expression, let fitted = TypedSQL.literal(literal, for: kind) else {
            return nil
        }
        try budget.count()
        try budget.charge(fitted.fragment)
        return fitted
    }

    private func among(_ operand: RowExpression, _ relation: Relation) throws(PorticoError) -> SQLFragment {
        let value = try value(operand)
        let nested = try relations.compile(relation)
        guard nested.kinds.count == 1, let kind = RowValueType.common(value.kind, nested.kinds[0]) else {
            throw Self.invalid("A value is looked for among values of its kind.")
        }
        return .build("($ IN ($))", [value.converted(to: kind).fragment, nested.converted(to: [kind])])
    }
}

extension RowExpression {
    /// A value that is there.
    fileprivate var isValue: Bool {
        if case .value(let value) = self { !value.isNull } else { false }
    }
}

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

    /// Differences of instants, and what is added to them, are exact seconds.
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
        var values: [TypedSQL] = []
        for criterion in order { values.append(try comparable(criterion.expression)) }
        let criteria = ClauseCompiler.order(zip(order, values))
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

extension Comparison {
    fileprivate var sqlOperator: String {
        switch self {
        case .equal: " = "
        case .notEqual: " <> "
        case .less: " < "
        case .lessOrEqual: " <= "
        case .greater: " > "
        case .greaterOrEqual: " >= "
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
