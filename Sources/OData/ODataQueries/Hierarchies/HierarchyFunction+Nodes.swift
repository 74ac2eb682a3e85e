import AdapterKit
import ODataLanguage
import ODataModel
import ODataRecords

// The identifiers among which a function looks for the node.
extension HierarchyFunction {
    func nodes(
        of hierarchy: Hierarchy, where condition: (EntityPlace) throws(QueryProblem) -> RowExpression?
    ) throws(QueryProblem) -> Relation {
        let node = hierarchy.node()
        return try hierarchy.nodes(
            node, where: try condition(node), columns: [try hierarchy.identifier(of: node).expression])
    }

    func related(to other: RowExpression, _ hierarchy: Hierarchy) throws(QueryProblem) -> Relation {
        let keepsSelf = try constant("IncludeSelf")?.boolValue ?? false
        let distance = try constant("MaxDistance").map { value throws(QueryProblem) in
            try Hierarchy.distance(value.int64Value.map(String.init) ?? "", range)
        }
        return try hierarchy.identifiers(
            try hierarchy.walk(
                name == .isdescendant ? .down : .up, from: try start(other, hierarchy),
                distance: distance, keepsStart: keepsSelf, at: range))
    }

    private func start(_ identifier: RowExpression, _ hierarchy: Hierarchy) throws(QueryProblem) -> Relation {
        let node = hierarchy.node()
        let isOther = RowExpression.compare(.equal, try hierarchy.identifier(of: node).expression, identifier)
        return try hierarchy.nodes(node, where: isOther, columns: [hierarchy.key(node)])
    }

    /// Those with a parent that the other has too, and where that is a root, the other roots.
    func siblings(of other: RowExpression, _ hierarchy: Hierarchy) throws(QueryProblem) -> Relation {
        let (first, second, node, root) =
            (reader.numbering.next(), reader.numbering.next(), hierarchy.node(), hierarchy.node())
        let above = try hierarchy.step(.up, from: .rows(try start(other, hierarchy), as: first), first, at: range) {
            _ in
            []
        }
        let beside = try hierarchy.step(.down, from: .rows(above, as: second), second, at: range) { _ in [] }
        let isRoot = RowExpression.compare(.equal, try hierarchy.identifier(of: root).expression, other)
        let roots = try hierarchy.nodes(
            root, where: reader.both(isRoot, try hierarchy.isRoot(root, at: range)), columns: [.value(1)])
        let identifier = try hierarchy.identifier(of: node).expression
        let isBeside = RowExpression.any([
            .among(hierarchy.key(node), beside), .all([try hierarchy.isRoot(node, at: range), .exists(roots)]),
        ])
        return try hierarchy.nodes(
            node, where: .all([.not(.compare(.equal, identifier, other)), isBeside]), columns: [identifier])
    }
}
