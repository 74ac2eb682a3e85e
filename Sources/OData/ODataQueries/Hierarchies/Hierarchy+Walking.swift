import AdapterKit
import ODataLanguage
import ODataModel
import ODataRecords

// From nodes to those above or below them, as far as it goes.
extension Hierarchy {
    enum Direction {
        case up, down
    }

    /// What is directly above or below the nodes whose keys `source` has in its first column. `more`: what is told of each
    /// besides its key.
    func step(
        _ direction: Direction, from source: RelationSource, _ name: SourceName, at range: SourceRange,
        _ more: (EntityPlace) throws(QueryProblem) -> [RowExpression]
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
        let (known, found) = direction == .up ? (child, linked.place) : (linked.place, child)
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
    func isRoot(_ node: EntityPlace, at range: SourceRange) throws(QueryProblem) -> RowExpression {
        let above = try reader.linked(navigation, from: node, range)
        return .not(.exists(above.relation(where: try belongs(above.place), columns: [.value(1)])))
    }

    func isLeaf(_ node: EntityPlace, at range: SourceRange) throws(QueryProblem) -> RowExpression {
        let child = self.node()
        let above = try reader.linked(navigation, from: child, range)
        return .not(
            .exists(
                Relation(
                    .records(table.entity, as: child.source), joins: above.inner,
                    where: reader.both(
                        .compare(.equal, key(above.place), key(node)), try belongs(child)), columns: [.value(1)])))
    }
}
