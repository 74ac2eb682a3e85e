import AdapterKit
import ODataLanguage
import ODataModel
import ODataRecords

/// From expressions as they were written to expressions over rows: names are found in the model, literals take the type
/// of what they meet, null gets the meaning that OData gives it.
///
/// OData compares null with `eq` and `ne` as a value; every other comparison with it is false, so a comparison is never
/// null. Everything else follows SQL's three values (URL Conventions 4.01, section 5.1.1.1).
struct ExpressionReader {
    let tables: ServiceTables
    let numbering: SourceNumbering
    /// Values of parameter aliases, by name.
    let aliases: [String: Expression]
    let now: WireDate
    /// Aliases that are being read, so that one does not lead to itself.
    var openAliases: Set<String> = []

    var model: EntityDataModel { tables.model }

    func read(_ expression: Expression, on ground: ExpressionScope) throws(QueryProblem) -> TypedExpression {
        try numbering.count(at: expression.range)
        switch expression.form {
        case .literal(let literal): return try natural(literal, expression.range)
        case .path(let path): return try read(path, on: ground)
        case .not(let inner): return TypedExpression(.not(try condition(inner, on: ground)), .boolean)
        case .negated(let inner): return try negated(inner, expression.range, on: ground)
        case .binary(let operation, let left, let right):
            return try binary(operation, left, right, expression.range, on: ground)
        case .call(let function, let arguments): return try call(function, arguments, expression.range, on: ground)
        case .choice(let branches): return try choice(branches, on: ground)
        case .cast(let inner, let type): return try cast(inner, type, expression.range, on: ground)
        case .isOf(let inner, let type): return try isOf(inner, type, expression.range, on: ground)
        case .isDefined(let path):
            // What is defined is in the model: reading the path finds out.
            _ = try read(path, on: ground)
            return TypedExpression(.value(true), .boolean)
        case .list, .array, .object: return try tree(expression, on: ground)
        }
    }

    /// Throws where it is neither true nor false nor null.
    func condition(_ expression: Expression, on ground: ExpressionScope) throws(QueryProblem) -> RowExpression {
        let meaning = try read(expression, on: ground)
        guard let type = meaning.type else { return meaning.expression }
        guard model.family(of: type) == .boolean else {
            throw QueryProblem("A condition is expected, this is of the type \(type).", at: expression.range)
        }
        return meaning.expression
    }

    private func choice(_ branches: [Expression.Branch], on ground: ExpressionScope) throws(QueryProblem)
        -> TypedExpression
    {
        var read: [RowExpression.Branch] = []
        var type: TypeReference?
        for branch in branches {
            let value = try self.read(branch.value, on: ground)
            type = type ?? value.type
            let condition = try self.condition(branch.condition, on: ground)
            read.append(RowExpression.Branch(when: condition, then: value.expression))
        }
        return TypedExpression(.choose(read, otherwise: .value(.null)), type)
    }

    /// A list or an object in JSON, of literals.
    private func tree(_ expression: Expression, on ground: ExpressionScope) throws(QueryProblem) -> TypedExpression {
        let value = try constant(expression)
        return TypedExpression(
            .value(value), TypeReference(.abstract("Untyped"), isCollection: value.arrayValue != nil))
    }

    private func constant(_ expression: Expression) throws(QueryProblem) -> WireValue {
        switch expression.form {
        case .literal(let literal):
            guard case .value(let value) = try natural(literal, expression.range).expression else { return .null }
            return value
        case .list(let items), .array(let items):
            var values: [WireValue] = []
            for item in items { values.append(try constant(item)) }
            return .array(values)
        case .object(let members):
            var object = WireDictionary()
            for member in members { object[member.name] = try constant(member.value) }
            return .dictionary(object)
        case .negated(let inner):
            let value = try constant(inner)
            guard let number = value.decimalValue, let turned = WireDecimal("-\(number)") else { break }
            return StoredForm.decimal(turned)
        default: break
        }
        throw QueryProblem("Only values can stand in a list or an object.", at: expression.range)
    }
}

extension TypeReference {
    static let boolean = TypeReference(.primitive(.boolean))
    static let int64 = TypeReference(.primitive(.int64))
    static let string = TypeReference(.primitive(.string))
    static let decimal = TypeReference(.primitive(.decimal))
    static let double = TypeReference(.primitive(.double))
}
