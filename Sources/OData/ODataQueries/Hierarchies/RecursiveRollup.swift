import AdapterKit
import ODataLanguage
import ODataModel
import ODataRecords

/// `rolluprecursive`: each node of a hierarchy with all rows that are of it or below it (OData Extension for Data Aggregation
/// 4.0, section 6.3). The nodes are the rows' owners until the sequence has been carried out.
struct RecursiveRollup {
    let applier: Applier
    let hierarchy: Hierarchy
    let path: MemberPath
    /// Which of the nodes have a part in the result.
    let narrowing: [Transformation]

    private var reader: ExpressionReader { applier.reader }

    init(
        _ reference: HierarchyReference, _ narrowing: [Transformation], _ applier: Applier
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
        guard case .entities(let place) = left.content else {
            throw QueryProblem("A part of the nodes is taken here.", at: path.range)
        }
        return left.relation(Array(repeating: hierarchy.key(place), count: keys))
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

    /// What was made of each node's rows, with what it was made for: the node's properties where it is known as an entity,
    /// otherwise its identifier.
    func told(_ made: AppliedRows, around: AppliedRows.Belonging?) throws(QueryProblem) -> AppliedRows {
        var result = applier.flattened(try applier.settled(made))
        guard let key = result.owner.last, case .columns(let columns) = result.content else { return made }
        let node = hierarchy.node()
        result.joins.append(
            Join(
                .inner, .records(hierarchy.table.entity, as: node.source),
                on: .compare(.equal, hierarchy.key(node), key)))
        let own = try properties(of: node)
        result.content = .columns(own + columns.filter { column in !own.contains { $0.path == column.path } })
        result.belonging = around?.told(by: result.owner.dropLast())
        return result
    }

    private func properties(of node: EntityPlace) throws(QueryProblem) -> [AppliedRows.Column] {
        let (names, identifier) = (Grouping.names(path), Grouping.names(hierarchy.identifier))
        if names == identifier, applier.set == hierarchy.table.source { return applier.properties(of: node) }
        let above = Array(names.dropLast(identifier.count))
        if names.suffix(identifier.count) == identifier[...], leads(above) {
            return applier.properties(of: node, below: above)
        }
        return [AppliedRows.Column(path: names, meaning: try hierarchy.identifier(of: node))]
    }

    /// Whether the navigation properties lead from the rows' set to the hierarchy's.
    private func leads(_ names: [String]) -> Bool {
        var table = reader.tables[applier.set]
        for name in names { table = table?.relations[name].flatMap { reader.tables[$0.target] } }
        return !names.isEmpty && table?.source == hierarchy.table.source
    }
}
