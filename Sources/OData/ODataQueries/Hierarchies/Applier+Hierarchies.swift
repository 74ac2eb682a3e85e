import AdapterKit
import ODataLanguage
import ODataModel
import ODataRecords

// `ancestors`, `descendants` and `traverse`. OData Extension for Data Aggregation 4.0, section 6.2.
extension Applier {
    func hierarchical(_ step: HierarchyStep, _ rows: AppliedRows) throws(QueryProblem) -> AppliedRows {
        let rows = try settled(rows)
        switch step {
        case .ancestors(let reference, let steps, let distance, let keepsStart):
            return try related(.up, rows, reference, steps, distance, keepsStart)
        case .descendants(let reference, let steps, let distance, let keepsStart):
            return try related(.down, rows, reference, steps, distance, keepsStart)
        case .traverse(let reference, let isPostorder, let start, let order):
            guard start.isEmpty else {
                throw QueryProblem(
                    "A traversal begins at the roots.", at: reference.nodeProperty.range, kind: .notSupported)
            }
            return try traversed(rows, reference, isPostorder: isPostorder, order)
        }
    }

    /// The rows whose node is above or below one of those that the sequence leaves; each owner's among its own.
    private func related(
        _ direction: Hierarchy.Direction, _ rows: AppliedRows, _ reference: HierarchyReference,
        _ steps: [[Transformation]], _ distance: String?, _ keepsStart: Bool
    ) throws(QueryProblem) -> AppliedRows {
        let range = reference.nodeProperty.range
        guard steps.count == 1 else {
            throw QueryProblem("A hierarchy is not narrowed by a sequence.", at: range, kind: .notSupported)
        }
        let hierarchy = try Hierarchy(reference.root, qualifier: reference.qualifier, reader)
        let node = try hierarchy.node(reference.nodeProperty, of: rows)
        let begun = try settled(try apply(steps[0], to: rows.again(reader)))
        let named = begun.relation([try hierarchy.node(reference.nodeProperty, of: begun)] + begun.owner)
        let found = try hierarchy.identifiers(
            try hierarchy.walk(
                direction, from: try hierarchy.keys(named),
                distance: try distance.map { digits throws(QueryProblem) in try Hierarchy.distance(digits, range) },
                keepsStart: keepsStart, at: range))
        var result = rows
        if rows.owner.isEmpty {
            result.condition = reader.both(rows.condition, .among(node, found))
        } else {
            let name = reader.numbering.next()
            let isOwn = rows.owner.enumerated().map { RowExpression.same(.output(name, $0 + 1), $1) }
            let isFound = RowExpression.compare(.equal, .output(name, 0), node)
            result.joins.append(Join(.inner, .rows(found, as: name), on: .all([isFound] + isOwn)))
        }
        return result
    }

    /// The rows in the order in which their nodes are reached, branch by branch from the roots.
    private func traversed(
        _ rows: AppliedRows, _ reference: HierarchyReference, isPostorder: Bool, _ order: [OrderItem]
    ) throws(QueryProblem) -> AppliedRows {
        let range = reference.nodeProperty.range
        let hierarchy = try Hierarchy(reference.root, qualifier: reference.qualifier, reader)
        let node = try hierarchy.node(reference.nodeProperty, of: rows)
        let places = try hierarchy.identifiers(
            try hierarchy.traversal(order, isPostorder: isPostorder, self, at: range))
        let name = reader.numbering.next()
        var result = rows
        result.joins.append(
            Join(.inner, .rows(places, as: name), on: .compare(.equal, .output(name, 0), node)))
        result.order = [RowOrder(.output(name, 1), descending: isPostorder)]
        return result
    }
}

extension Hierarchy {
    /// By which a row names a node.
    func node(_ path: MemberPath, of rows: AppliedRows) throws(QueryProblem) -> RowExpression {
        let named = try reader.read(Expression(.path(path), path.range), on: rows.ground)
        return try reader.pair(try identifier(of: node()), named, path.range).1
    }

    /// All nodes that are below a root, and their places in the order in which they are reached before those below them. A
    /// tree in postorder is the same from its other end, siblings turned round.
    fileprivate func traversal(
        _ order: [OrderItem], isPostorder: Bool, _ applier: Applier, at range: SourceRange
    ) throws(QueryProblem) -> Relation {
        guard !navigation.isCollection else {
            throw QueryProblem("Nodes with several parents are not traversed.", at: range, kind: .notSupported)
        }
        let (root, found, whole) = (node(), reader.numbering.next(), reader.numbering.next())
        func siblings(_ node: EntityPlace) throws(QueryProblem) -> [RowOrder] {
            try applier.order(order, on: ExpressionScope(.entity(node))) + [RowOrder(key(node))]
        }
        let criteria = try siblings(root)
        let start = try nodes(
            root, where: try isRoot(root, at: range),
            columns: [key(root), .value(.int64(0))] + criteria.map(\.expression))
        let next = try step(.down, from: .found(as: found), found, at: range) { node throws(QueryProblem) in
            [.arithmetic(.add, .output(found, 1), .value(.int64(1)))] + (try siblings(node)).map(\.expression)
        }
        let beside = criteria.enumerated().map {
            Recursion.Criterion($0 + 2, descending: $1.isDescending != isPostorder)
        }
        let recursion = Recursion(from: start, step: next, order: [.init(1, descending: true)] + beside)
        return Relation(
            .recursion(recursion, as: whole), columns: [.output(whole, 0), .output(whole, start.columns.count)])
    }
}
