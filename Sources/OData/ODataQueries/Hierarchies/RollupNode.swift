import AdapterKit
import ODataLanguage
import ODataModel
import ODataRecords

/// The node that rows are aggregated for while `rolluprecursive` is carried out.
struct RollupNode {
    let hierarchy: Hierarchy
    /// Which of the values that tell the rows' owner it is.
    let owner: Int
    let key: RowExpression

    init(_ hierarchy: Hierarchy, owner: Int, key: RowExpression) {
        (self.hierarchy, self.owner, self.key) = (hierarchy, owner, key)
    }
}

extension ExpressionReader {
    /// `Aggregation.rollupnode(Position=1)` and what follows it; nil where the path calls something else. OData Extension for
    /// Data Aggregation 4.0, section 6.3.
    func rollupNode(_ path: MemberPath, on ground: ExpressionScope) throws(QueryProblem) -> TypedExpression? {
        guard path.segments.count > 1, let written = path.segments[0].name, written.namespace != nil,
            resolved(written) == QualifiedName(AggregationTerm.namespace, "rollupnode"),
            case .arguments(.named(let arguments)) = path.segments[1].form
        else { return nil }
        let position = try position(arguments, path.range, on: ground)
        guard ground.rollups.indices.contains(position &- 1) else {
            throw QueryProblem("There is no node that is rolled up here.", at: path.range)
        }
        let node = ground.rollups[position - 1]
        let rest = path.segments.dropFirst(2)
        guard !rest.isEmpty else { return TypedExpression(node.key, TypeReference(.entity(node.hierarchy.type))) }
        let place = node.hierarchy.node()
        let rows = LinkedRows(
            source: .records(place.table.entity, as: place.source), joins: [],
            condition: .compare(.equal, node.hierarchy.key(place), node.key), place: place)
        return try follow(rest, fromOne: rows, path.range, on: ground)
    }

    private func position(
        _ arguments: [NamedArgument], _ range: SourceRange, on ground: ExpressionScope
    ) throws(QueryProblem) -> Int {
        guard let argument = arguments.first else { return 1 }
        guard arguments.count == 1, argument.name == "Position",
            case .value(let value) = try read(argument.value, on: ground).expression, let number = value.int64Value
        else { throw QueryProblem("rollupnode takes a Position.", at: range) }
        return Int(number)
    }
}
