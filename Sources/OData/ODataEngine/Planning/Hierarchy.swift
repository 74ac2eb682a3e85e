import AdapterKit
import ODataLanguage
import ODataModel

/// A recursive hierarchy of a set: its nodes and the navigation property to their parents. OData Extension for Data
/// Aggregation 4.0, section 5.5.2.
struct Hierarchy {
    let reader: ExpressionReader
    let table: RecordTable
    /// To the property by which rows name a node.
    let identifier: MemberPath
    let navigation: NavigationProperty
    let type: QualifiedName
    /// The conditions that belong to the set, not to the hierarchy.
    let filters: [Expression]

    /// `nodes`: `$root/` with a set behind it, which a cast and filters may narrow. Throws where their type has no such
    /// hierarchy, or one that leads out of the set.
    init(_ nodes: MemberPath, qualifier: String, _ reader: ExpressionReader) throws(QueryProblem) {
        guard nodes.start == .root, let set = nodes.segments.first?.name, set.namespace == nil,
            let table = reader.tables[set.name], !table.isSingleton
        else { throw QueryProblem("The nodes of a hierarchy are a set behind $root.", at: nodes.range) }
        let (type, filters) = try Self.narrowed(nodes.segments.dropFirst(), table, reader)
        guard let declared = reader.model.hierarchy(qualifier, of: type) else {
            throw QueryProblem("\(type) has no recursive hierarchy \(qualifier).", at: nodes.range)
        }
        guard let navigation = reader.model.structured(type)?.navigation(declared.parentNavigation),
            table.relations[navigation.name]?.target == table.source
        else { throw QueryProblem("The hierarchy \(qualifier) leads out of \(table.source).", at: nodes.range) }
        self.reader = reader
        (self.table, self.type, self.filters, self.navigation) = (table, type, filters, navigation)
        let segments = declared.nodeProperty.map { PathSegment(.name(WrittenName(nil, $0)), nodes.range) }
        identifier = MemberPath(segments, nodes.range)
    }

    private static func narrowed(
        _ segments: ArraySlice<PathSegment>, _ table: RecordTable, _ reader: ExpressionReader
    ) throws(QueryProblem) -> (QualifiedName, [Expression]) {
        var (type, filters) = (table.type.name, [Expression]())
        for segment in segments {
            switch segment.form {
            case .name(let name) where name.namespace != nil && reader.model.type(reader.resolved(name), isA: type):
                type = reader.resolved(name)
            case .filter(let filter): filters.append(filter)
            default: throw QueryProblem("This does not narrow a hierarchy's nodes.", at: segment.range)
            }
        }
        return (type, filters)
    }

    /// One of them, under a name of its own.
    func node() -> EntitySource { EntitySource(source: reader.numbering.next(), table: table, type: type) }

    func key(_ node: EntitySource) -> RowExpression { .field(node.source, table.keyField) }

    func identifier(of node: EntitySource) throws(QueryProblem) -> TypedExpression {
        try reader.read(identifier, on: ExpressionScope(.entity(node)))
    }

    /// Whether an entity of the set is a node of this hierarchy; nil: each is.
    func belongs(_ node: EntitySource) throws(QueryProblem) -> RowExpression? {
        var condition = type == table.type.name ? nil : reader.isOf(type, node)
        for filter in filters {
            condition = reader.both(condition, try reader.condition(filter, on: ExpressionScope(.entity(node))))
        }
        return condition
    }

    /// The nodes for which the condition is true, by those columns.
    func nodes(
        _ node: EntitySource, where condition: RowExpression?, columns: [RowExpression]
    ) throws(QueryProblem) -> Relation {
        Relation(
            .records(table.entity, as: node.source), where: reader.both(try belongs(node), condition), columns: columns)
    }
}

// From nodes to those above or below them, as far as it goes.
extension Hierarchy {
    enum Direction {
        case up, down
    }

    /// The nodes directly above or below those whose keys `source` has in its first column. `more`: further columns
    /// of each besides its key.
    func step(
        _ direction: Direction, from source: RelationSource, _ name: SourceName, at range: SourceRange,
        _ more: (EntitySource) throws(QueryProblem) -> [RowExpression]
    ) throws(QueryProblem) -> Relation {
        let child = node()
        let children = RelationSource.records(table.entity, as: child.source)
        if direction == .down, let field = directField {
            let isBelow = RowExpression.compare(.equal, .field(child.source, field), .output(name, 0))
            return Relation(
                source, joins: [Join(.inner, children, on: isBelow)], where: try belongs(child),
                columns: [key(child)] + (try more(child)))
        }
        let linked = try reader.linked(navigation, from: child, range)
        let (known, found) = direction == .up ? (child, linked.entity) : (linked.entity, child)
        let isKnown = RowExpression.compare(.equal, key(known), .output(name, 0))
        return Relation(
            source, joins: [Join(.inner, children, on: direction == .up ? isKnown : .value(true))] + linked.inner,
            where: reader.both(direction == .up ? nil : isKnown, try belongs(found)),
            columns: [key(found)] + (try more(found)))
    }

    /// A node's own field that holds the key of the one above.
    private var directField: FieldName? {
        guard case .fields(_, let pairs, _)? = table.relations[navigation.name], pairs.count == 1,
            pairs[0].far == table.keyField
        else { return nil }
        return pairs[0].near
    }

    /// The nodes above or below those whose keys `start` has in its first column. The columns behind that are carried
    /// along; what differs in them goes its own way.
    func walk(
        _ direction: Direction, from start: Relation, distance: Int?, keepsStart: Bool, at range: SourceRange
    ) throws(QueryProblem) -> Relation {
        var start = start
        let (width, found, whole) = (start.columns.count, reader.numbering.next(), reader.numbering.next())
        func carried(_ name: SourceName) -> [RowExpression] {
            let own = (1..<width).map { RowExpression.output(name, $0) }
            return distance == nil ? own : own + [.arithmetic(.add, .output(name, width), .value(1))]
        }
        if distance != nil { start.columns.append(.value(0)) }
        if !keepsStart {
            let name = reader.numbering.next()
            start = try step(direction, from: .rows(start, as: name), name, at: range) { _ in carried(name) }
        }
        var next = try step(direction, from: .found(as: found), found, at: range) { _ in carried(found) }
        if let distance {
            let isNear = RowExpression.compare(.less, .output(found, width), .value(.int64(Int64(distance))))
            next.condition = reader.both(isNear, next.condition)
        }
        return Relation(
            .recursion(Recursion(from: start, step: next), as: whole),
            columns: (0..<width).map { .output(whole, $0) }, isDistinct: distance != nil)
    }

    /// Beyond this, rows that lead in a circle would be gone through too often.
    static let maximumDistance = 1000

    static func distance(_ digits: String, _ range: SourceRange) throws(QueryProblem) -> Int {
        guard let number = Int(digits), number <= maximumDistance else {
            throw QueryProblem("A distance is at most \(maximumDistance).", at: range, kind: .limitExceeded)
        }
        guard number > 0 else { throw QueryProblem("A distance is at least 1.", at: range) }
        return number
    }

    /// The identifiers of the nodes whose keys the relation has in its first column, and what it has behind them.
    func identifiers(_ nodes: Relation) throws(QueryProblem) -> Relation {
        let (name, node) = (reader.numbering.next(), node())
        let identifier = try identifier(of: node).expression
        guard identifier != key(node) else { return nodes }
        let isSame = RowExpression.compare(.equal, key(node), .output(name, 0))
        return Relation(
            .rows(nodes, as: name), joins: [Join(.inner, .records(table.entity, as: node.source), on: isSame)],
            columns: [identifier] + (1..<nodes.columns.count).map { .output(name, $0) })
    }

    /// The keys of the nodes whose identifiers the rows have in their first column, and what they have behind it.
    func keys(_ rows: Relation) throws(QueryProblem) -> Relation {
        let (name, node) = (reader.numbering.next(), node())
        let isSame = RowExpression.compare(.equal, try identifier(of: node).expression, .output(name, 0))
        return Relation(
            .rows(rows, as: name), joins: [Join(.inner, .records(table.entity, as: node.source), on: isSame)],
            where: try belongs(node), columns: [key(node)] + (1..<rows.columns.count).map { .output(name, $0) })
    }

    /// Whether nothing of the hierarchy is above the node.
    func isRoot(_ node: EntitySource, at range: SourceRange) throws(QueryProblem) -> RowExpression {
        let above = try reader.linked(navigation, from: node, range)
        return .not(.exists(above.relation(where: try belongs(above.entity), columns: [.value(1)])))
    }

    func isLeaf(_ node: EntitySource, at range: SourceRange) throws(QueryProblem) -> RowExpression {
        let child = self.node()
        let above = try reader.linked(navigation, from: child, range)
        return .not(
            .exists(
                Relation(
                    .records(table.entity, as: child.source), joins: above.inner,
                    where: reader.both(
                        .compare(.equal, key(above.entity), key(node)), try belongs(child)), columns: [.value(1)])))
    }
}

/// Compiles `Aggregation.isroot(…)` and the other hierarchy functions. OData Extension for Data Aggregation 4.0,
/// section 5.5.2.1.
struct HierarchyFunction {
    enum Name: String {
        case isnode, isroot, isleaf, isdescendant, isancestor, issibling
    }

    let name: Name
    let arguments: [String: Expression]
    let range: SourceRange
    let reader: ExpressionReader
    let scope: ExpressionScope

    /// Nil where the path calls nothing of the Aggregation vocabulary.
    init?(_ path: MemberPath, _ reader: ExpressionReader, on scope: ExpressionScope) {
        guard path.segments.count == 2, let written = path.segments[0].name, written.namespace != nil,
            case .arguments(.named(let arguments)) = path.segments[1].form
        else { return nil }
        let resolved = reader.resolved(written)
        guard resolved.namespace == AggregationTerm.namespace, let name = Name(rawValue: resolved.name) else {
            return nil
        }
        self.name = name
        self.arguments = Dictionary(
            arguments.map { ($0.name, $0.value) }, uniquingKeysWith: { first, _ in first })
        (range, self.reader, self.scope) = (path.range, reader, scope)
    }

    func typed() throws(QueryProblem) -> TypedExpression {
        guard case .path(let set) = try given("HierarchyNodes").form else {
            throw QueryProblem("The nodes of a hierarchy are a set behind $root.", at: range)
        }
        let hierarchy = try Hierarchy(set, qualifier: try text("HierarchyQualifier"), reader)
        let sample = try hierarchy.identifier(of: hierarchy.node())
        let node = try value("Node", like: sample)
        var known: [RowExpression] = [.isNull(node)]
        let found: Relation
        switch name {
        case .isnode: found = try nodes(of: hierarchy) { _ throws(QueryProblem) in nil }
        case .isroot:
            found = try nodes(of: hierarchy) { entity throws(QueryProblem) in try hierarchy.isRoot(entity, at: range) }
        case .isleaf:
            found = try nodes(of: hierarchy) { entity throws(QueryProblem) in try hierarchy.isLeaf(entity, at: range) }
        case .isdescendant, .isancestor, .issibling:
            let other = try value(name.other, like: sample)
            known.append(.isNull(other))
            found = name == .issibling ? try siblings(of: other, hierarchy) : try related(to: other, hierarchy)
        }
        let isThere = RowExpression.isTrue(.among(node, found))
        return TypedExpression(.choose([.init(when: .any(known), then: .value(.null))], otherwise: isThere), .boolean)
    }

    // MARK: Arguments

    private func given(_ name: String) throws(QueryProblem) -> Expression {
        guard let expression = arguments[name] else { throw QueryProblem("\(self.name) needs \(name).", at: range) }
        return expression
    }

    private func value(_ name: String, like sample: TypedExpression) throws(QueryProblem) -> RowExpression {
        let expression = try given(name)
        return try reader.pair(sample, try reader.read(expression, on: scope), expression.range).1
    }

    func constant(_ name: String) throws(QueryProblem) -> WireValue? {
        guard let expression = arguments[name] else { return nil }
        guard case .value(let value) = try reader.read(expression, on: scope).expression else {
            throw QueryProblem("\(name) is a literal.", at: expression.range)
        }
        return value
    }

    private func text(_ name: String) throws(QueryProblem) -> String {
        _ = try given(name)
        guard let text = try constant(name)?.stringValue else { throw QueryProblem("\(name) is a text.", at: range) }
        return text
    }
}

extension HierarchyFunction.Name {
    /// The name of what the node is compared with.
    fileprivate var other: String {
        switch self {
        case .isdescendant: "Ancestor"
        case .isancestor: "Descendant"
        default: "Other"
        }
    }
}

// The identifiers among which a function looks for the node.
extension HierarchyFunction {
    func nodes(
        of hierarchy: Hierarchy, where condition: (EntitySource) throws(QueryProblem) -> RowExpression?
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

    /// The nodes with a parent that the other has too, and where that is a root, the other roots.
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
