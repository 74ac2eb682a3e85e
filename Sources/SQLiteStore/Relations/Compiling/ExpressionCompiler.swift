import AdapterKit

/// From expressions to SQL, each with its kind.
struct ExpressionCompiler {
    let relations: RelationCompiler

    func all(_ expressions: [RowExpression]) throws(PorticoError) -> [TypedSQL] {
        var compiled: [TypedSQL] = []
        for expression in expressions { compiled.append(try value(expression)) }
        return compiled
    }

    /// What can be ordered by. Throws `request.invalid` for lists and dictionaries.
    func comparable(_ expression: RowExpression) throws(PorticoError) -> TypedSQL {
        let compiled = try value(expression)
        guard compiled.kind != .tree else { throw Self.invalid("Lists and dictionaries have no order.") }
        return compiled
    }

    func value(_ expression: RowExpression) throws(PorticoError) -> TypedSQL {
        switch expression {
        case .field(let source, let name): return try field(name, of: source)
        case .revision(let source):
            _ = try relations.scope.layout(source)
            return TypedSQL("\(source.sql).\(CollectionLayout.revisionColumn)", .integer)
        case .output(let source, let column):
            return TypedSQL("\(source.sql).c\(column)", try relations.scope.kind(of: column, in: source))
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
        let stored = SQLFragment("\(source.sql).\(column.name)")
        guard case .scalar(let scalar) = column.kind else { return TypedSQL(stored, .tree) }
        let compared = SQLFragment("\(source.sql).\(column.comparisonName)")
        return TypedSQL(compared, RowKind(scalar), written: scalar == .decimal ? stored : nil)
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
        var kind: RowKind?
        for value in values {
            guard let common = RowKind.common(kind, value.kind) else {
                throw Self.invalid("Values of different kinds meet.")
            }
            kind = common
        }
        return values.map { $0.converted(to: kind) }
    }

    static func invalid(_ message: String) -> PorticoError { PorticoError(.requestInvalid, message) }
}
