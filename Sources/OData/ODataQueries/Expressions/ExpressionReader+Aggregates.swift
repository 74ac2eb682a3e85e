import AdapterKit
import ODataLanguage
import ODataModel
import ODataRecords

// Aggregates over rows, and as values within expressions. OData Extension for Data Aggregation 4.0, sections 3.2.1 and 3.5.
extension ExpressionReader {
    /// Over the rows of a group, which `ground` is one of.
    func meaning(of aggregate: AggregateExpression, on ground: ExpressionScope) throws(QueryProblem) -> TypedExpression
    {
        var isCount = false
        if case .path(let path) = aggregate.value.form, case .count? = path.segments.last?.form {
            if path.segments.count == 1 { return TypedExpression(.aggregate(.count, nil, isDistinct: false), .int64) }
            isCount = aggregate.method == nil
        }
        let value = try read(aggregate.value, on: ground)
        if isCount { return TypedExpression(.aggregate(.sum, value.expression, isDistinct: false), .int64) }
        guard let method = aggregate.method else {
            throw QueryProblem("An aggregate needs a method, with `with`.", at: aggregate.range)
        }
        return try meaning(of: method, value, aggregate.range)
    }

    func meaning(of method: WrittenName, _ value: TypedExpression, _ range: SourceRange) throws(QueryProblem)
        -> TypedExpression
    {
        let type = value.type ?? .decimal
        let kind = model.kind(of: type)
        func aggregate(_ aggregate: RowExpression.Aggregate, _ type: TypeReference) -> TypedExpression {
            TypedExpression(.aggregate(aggregate, value.expression, isDistinct: false), type)
        }
        let isNumber = [.number, .duration].contains(model.family(of: type))
        switch method.description {
        case "sum" where isNumber: return aggregate(.sum, kind == .integer ? .int64 : type)
        case "average" where isNumber: return aggregate(.average, kind == .integer ? .double : type)
        case "min" where kind != .tree: return aggregate(.minimum, type)
        case "max" where kind != .tree: return aggregate(.maximum, type)
        case "countdistinct":
            return TypedExpression(.aggregate(.count, value.expression, isDistinct: true), .int64)
        case "sum", "average", "min", "max":
            throw QueryProblem("Values of the type \(type) have no \(method).", at: range)
        default:
            // Methods of their own have a namespace.
            throw QueryProblem(
                "There is no aggregation method \(method).", at: range,
                kind: method.namespace == nil ? .invalid : .notSupported)
        }
    }

    /// `Sales/aggregate(Amount with sum)`: of what a path leads to.
    func aggregated(
        _ aggregate: AggregateExpression, among rows: LinkedRows, _ condition: RowExpression?,
        on ground: ExpressionScope
    ) throws(QueryProblem) -> TypedExpression {
        try checkPlain(aggregate)
        let value = try meaning(of: aggregate, on: ExpressionScope(.entity(rows.place), it: ground.it))
        return TypedExpression(.first(rows.relation(where: condition, columns: [value.expression])), value.type)
    }

    /// `$these/aggregate(Amount with average)`: of the collection that the expression is evaluated on, each owner's its own.
    func these(_ path: MemberPath, on ground: ExpressionScope) throws(QueryProblem) -> TypedExpression {
        guard let rows = ground.these, path.segments.count == 1,
            case .aggregate(let aggregate)? = path.segments.first?.form
        else { throw QueryProblem("Of $these only aggregates are told here.", at: path.range, kind: .notSupported) }
        try checkPlain(aggregate)
        numbering.theseReads += 1
        var all = rows.again(self)
        let value = try meaning(of: aggregate, on: all.ground)
        let own = zip(rows.owner, all.owner).map { RowExpression.same($0, $1) }
        if !own.isEmpty { all.condition = both(.all(own), all.condition) }
        all.belonging = nil
        return TypedExpression(.first(all.relation([value.expression])), value.type)
    }

    private func checkPlain(_ aggregate: AggregateExpression) throws(QueryProblem) {
        guard aggregate.from.isEmpty else {
            throw QueryProblem("`from` is not there within expressions.", at: aggregate.range, kind: .notSupported)
        }
    }
}
