import AdapterKit
import ODataLanguage
import ODataModel

/// Plans `rolluprecursive`: each node of a hierarchy with all rows of it and its descendants (OData Extension for Data
/// Aggregation 4.0, section 6.3).
struct RecursiveRollup {
    let applier: ApplyPlanner
    let hierarchy: Hierarchy
    let path: MemberPath
    /// Which of the nodes have a part in the result.
    let narrowing: [Transformation]

    private var reader: ExpressionReader { applier.reader }

    init(
        _ reference: HierarchyReference, _ narrowing: [Transformation], _ applier: ApplyPlanner
    ) throws(QueryProblem) {
        self.applier = applier
        hierarchy = try Hierarchy(reference.root, qualifier: reference.qualifier, applier.reader)
        path = reference.nodeProperty
        self.narrowing = narrowing
        for case .hierarchy(.traverse) in narrowing {
            throw QueryProblem("Nodes have no order here.", at: path.range, kind: .notSupported)
        }
    }

    /// The rows once for every node that they count for, to which they belong now.
    func spread(_ rows: AppliedRows) throws(QueryProblem) -> AppliedRows {
        let below = try hierarchy.identifiers(
            try hierarchy.walk(
                .down, from: try nodes(keys: 2), distance: nil, keepsStart: true, at: path.range))
        let name = reader.numbering.next()
        let isOf = RowExpression.compare(.equal, .output(name, 0), try hierarchy.node(path, of: rows))
        var result = rows
        result.joins.append(Join(.inner, .rows(below, as: name), on: isOf))
        let node = RollupNode(hierarchy, owner: rows.owner.count, key: .output(name, 1))
        result.belonging = AppliedRows.Belonging(
            values: rows.owner + [node.key], owners: try owners(rows.belonging),
            nodes: (rows.belonging?.nodes ?? []) + [node])
        return result
    }

    private func nodes(keys: Int) throws(QueryProblem) -> Relation {
        let node = hierarchy.node()
        let all = AppliedRows(
            source: .records(hierarchy.table.entity, as: node.source), condition: try hierarchy.belongs(node),
            content: .entities(node))
        let left = try applier.settled(try applier.apply(narrowing, to: all))
        guard case .entities(let entity) = left.content else {
            throw QueryProblem("A part of the nodes is taken here.", at: path.range)
        }
        return left.relation(Array(repeating: hierarchy.key(entity), count: keys))
    }

    /// Every node, for each of the owners around.
    private func owners(_ around: AppliedRows.Belonging?) throws(QueryProblem) -> Relation {
        let nodes = try nodes(keys: 1)
        guard let around else { return nodes }
        let (outer, inner) = (reader.numbering.next(), reader.numbering.next())
        return Relation(
            .rows(around.owners, as: outer), joins: [Join(.inner, .rows(nodes, as: inner), on: .value(true))],
            columns: around.values.indices.map { .output(outer, $0) } + [.output(inner, 0)])
    }

    /// The values made of each node's rows, with what they were made for: the node's properties where it is known as an entity,
    /// otherwise its identifier.
    func identified(_ made: AppliedRows, around: AppliedRows.Belonging?) throws(QueryProblem) -> AppliedRows {
        var result = applier.flattened(try applier.settled(made))
        guard let key = result.owner.last, case .columns(let columns) = result.content else { return made }
        let node = hierarchy.node()
        result.joins.append(
            Join(
                .inner, .records(hierarchy.table.entity, as: node.source),
                on: .compare(.equal, hierarchy.key(node), key)))
        let own = try properties(of: node)
        result.content = .columns(own + columns.filter { column in !own.contains { $0.path == column.path } })
        result.belonging = around?.identified(by: result.owner.dropLast())
        return result
    }

    private func properties(of node: EntitySource) throws(QueryProblem) -> [AppliedRows.Column] {
        let (names, identifier) = (Grouping.names(path), Grouping.names(hierarchy.identifier))
        if names == identifier, applier.set == hierarchy.table.source { return applier.properties(of: node) }
        let above = Array(names.dropLast(identifier.count))
        if names.suffix(identifier.count) == identifier[...], leads(above) {
            return applier.properties(of: node, below: above)
        }
        return [AppliedRows.Column(path: names, typed: try hierarchy.identifier(of: node))]
    }

    /// Whether the navigation properties lead from the rows' set to the hierarchy's.
    private func leads(_ names: [String]) -> Bool {
        var table = reader.tables[applier.set]
        for name in names { table = table?.relations[name].flatMap { reader.tables[$0.target] } }
        return !names.isEmpty && table?.source == hierarchy.table.source
    }
}

/// The node that rows are aggregated for within `rolluprecursive`.
struct RollupNode {
    let hierarchy: Hierarchy
    /// Its position among the owner's values.
    let owner: Int
    let key: RowExpression

    init(_ hierarchy: Hierarchy, owner: Int, key: RowExpression) {
        (self.hierarchy, self.owner, self.key) = (hierarchy, owner, key)
    }
}

extension ExpressionReader {
    /// `Aggregation.rollupnode(Position=1)` and what follows it; nil where the path calls something else. OData Extension for
    /// Data Aggregation 4.0, section 6.3.
    func rollupNode(_ path: MemberPath, on scope: ExpressionScope) throws(QueryProblem) -> TypedExpression? {
        guard path.segments.count > 1, let written = path.segments[0].name, written.namespace != nil,
            resolved(written) == QualifiedName(AggregationTerm.namespace, "rollupnode"),
            case .arguments(.named(let arguments)) = path.segments[1].form
        else { return nil }
        let position = try position(arguments, path.range, on: scope)
        guard scope.rollups.indices.contains(position &- 1) else {
            throw QueryProblem("There is no node that is rolled up here.", at: path.range)
        }
        let node = scope.rollups[position - 1]
        let rest = path.segments.dropFirst(2)
        guard !rest.isEmpty else { return TypedExpression(node.key, TypeReference(.entity(node.hierarchy.type))) }
        let entity = node.hierarchy.node()
        let rows = LinkedRows(
            source: .records(entity.table.entity, as: entity.source), joins: [],
            condition: .compare(.equal, node.hierarchy.key(entity), node.key), entity: entity)
        return try follow(rest, fromOne: rows, path.range, on: scope)
    }

    private func position(
        _ arguments: [NamedArgument], _ range: SourceRange, on scope: ExpressionScope
    ) throws(QueryProblem) -> Int {
        guard let argument = arguments.first else { return 1 }
        guard arguments.count == 1, argument.name == "Position",
            case .value(let value) = try read(argument.value, on: scope).expression, let number = value.int64Value
        else { throw QueryProblem("rollupnode takes a Position.", at: range) }
        return Int(number)
    }
}

// `ancestors`, `descendants` and `traverse`. OData Extension for Data Aggregation 4.0, section 6.2.
extension ApplyPlanner {
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
        let entities = try hierarchy.identifiers(
            try hierarchy.traversal(order, isPostorder: isPostorder, self, at: range))
        let name = reader.numbering.next()
        var result = rows
        result.joins.append(
            Join(.inner, .rows(entities, as: name), on: .compare(.equal, .output(name, 0), node)))
        result.order = [RowOrder(.output(name, 1), descending: isPostorder)]
        return result
    }
}

extension Hierarchy {
    /// By which a row names a node.
    func node(_ path: MemberPath, of rows: AppliedRows) throws(QueryProblem) -> RowExpression {
        let named = try reader.read(Expression(.path(path), path.range), on: rows.scope)
        return try reader.pair(try identifier(of: node()), named, path.range).1
    }

    /// All nodes that are below a root, and their places in the order in which they are reached before those below them. A
    /// tree in postorder is the same from its other end, siblings turned round.
    fileprivate func traversal(
        _ order: [OrderItem], isPostorder: Bool, _ applier: ApplyPlanner, at range: SourceRange
    ) throws(QueryProblem) -> Relation {
        guard !navigation.isCollection else {
            throw QueryProblem("Nodes with several parents are not traversed.", at: range, kind: .notSupported)
        }
        let (root, found, whole) = (node(), reader.numbering.next(), reader.numbering.next())
        func siblings(_ node: EntitySource) throws(QueryProblem) -> [RowOrder] {
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
