import AdapterKit
import ODataLanguage
import ODataModel
import ODataRecords

/// `join` and `outerjoin`: each entity once for every one that a navigation property leads to, which it then has under a
/// name (OData Extension for Data Aggregation 4.0, section 3.5.1).
struct Joining {
    let applier: Applier
    let rows: AppliedRows

    private var reader: ExpressionReader { applier.reader }

    func joined(
        _ path: MemberPath, _ name: String, _ then: [Transformation], isOuter: Bool
    ) throws(QueryProblem) -> AppliedRows {
        guard case .entities(let place) = rows.content else {
            throw QueryProblem("Only entities are joined.", at: path.range, kind: .notSupported)
        }
        let type = reader.model.structured(place.type)
        guard type?.property(name) == nil, type?.navigation(name) == nil, rows.ground.variables[name] == nil,
            rows.ground.computed[name] == nil, !rows.nested.contains(where: { $0.name == name })
        else { throw QueryProblem("There is a property \(name) already.", at: path.range) }
        let (navigation, cast) = try applier.navigation(path, of: place)
        guard navigation.isCollection else {
            throw QueryProblem("What is joined is a collection of entities.", at: path.range, kind: .notSupported)
        }
        guard then.allSatisfy(\.looksAtOne) else {
            var owned = try OwnedRows(navigation, cast: cast, from: place, reader, path.range)
            if rows.joins.isEmpty { owned.keep(rows.condition, of: place, reader) }
            return try made(owned, name, then, at: path.range, isOuter ? .left : .inner)
        }
        var linked = try reader.linked(navigation, from: place, path.range)
        if let cast { linked.place.type = cast }
        var condition = cast.map { reader.isOf($0, linked.place) }
        for step in then { condition = reader.both(condition, try restriction(step, linked.place)) }
        var result = rows
        let reached: EntityPlace
        (result.joins, reached) = isOuter ? outer(linked, condition) : inner(linked, condition)
        result.joins = rows.joins + result.joins
        result.joined.append(
            JoinedRows(
                name: name, content: .entity(reached), presence: .field(reached.source, reached.table.keyField)))
        return result
    }

    /// What a sequence makes of each entity's: carried out for all owners at once, then put beside them.
    private func made(
        _ owned: OwnedRows, _ name: String, _ then: [Transformation], at range: SourceRange, _ kind: Join.Kind
    ) throws(QueryProblem) -> AppliedRows {
        let inner = try applier.deeper(to: owned, at: range)
        let part = try inner.settled(try inner.apply(then, to: owned.rows))
        guard part.nested.isEmpty else {
            throw QueryProblem("What is joined has no nested collections.", at: range, kind: .notSupported)
        }
        let (source, width) = (reader.numbering.next(), part.owner.count)
        let isOwned = RowExpression.all(
            owned.near.enumerated().map { .compare(.equal, .output(source, $0), $1) })
        var result = rows
        if case .entities(let place) = part.content, part.computed.isEmpty, part.joined.isEmpty {
            let reached = EntityPlace(source: reader.numbering.next(), table: place.table, type: place.type)
            let (key, own) = (place.table.keyField, RowExpression.field(reached.source, place.table.keyField))
            let pairs = part.relation(part.owner + [.field(place.source, key)])
            result.joins.append(Join(kind, .rows(pairs, as: source), on: isOwned))
            result.joins.append(
                Join(
                    kind, .records(place.table.entity, as: reached.source),
                    on: .compare(.equal, own, .output(source, width))))
            result.joined.append(JoinedRows(name: name, content: .entity(reached), presence: own))
            return result
        }
        let flat = inner.flattened(part)
        let columns = flat.columns
        let relation = flat.relation(flat.owner + [.value(.int64(1))] + columns.map(\.meaning.expression))
        let outputs = columns.enumerated().map { position, column in
            AppliedRows.Column(
                path: column.path, meaning: TypedExpression(.output(source, width + 1 + position), column.meaning.type))
        }
        result.joins.append(Join(kind, .rows(relation, as: source), on: isOwned))
        result.joined.append(
            JoinedRows(name: name, content: .columns(outputs), presence: .output(source, width)))
        return result
    }

    /// What narrows the joined entities one by one.
    private func restriction(_ step: Transformation, _ place: EntityPlace) throws(QueryProblem) -> RowExpression? {
        switch step {
        case .filter(let filter): try reader.condition(filter, on: ExpressionScope(.entity(place)))
        case .search(let search): .found(place.source, try reader.read(search, SourceRange(0, 0)))
        default: nil
        }
    }

    private func inner(_ linked: LinkedRows, _ condition: RowExpression?) -> ([Join], EntityPlace) {
        var joins = linked.inner
        if let condition, let last = joins.popLast() {
            joins.append(Join(.inner, last.source, on: .all([last.condition, condition])))
        }
        return (joins, linked.place)
    }

    /// Where links stand between the two, those that lead to what is not seen count for nothing.
    private func outer(_ linked: LinkedRows, _ condition: RowExpression?) -> ([Join], EntityPlace) {
        guard case .records(_, let link) = linked.source, !linked.joins.isEmpty,
            case .compare(_, .field(_, let near), let owner) = linked.condition
        else {
            let on = reader.both(linked.condition, condition) ?? linked.condition
            return ([Join(.left, linked.source, on: on)], linked.place)
        }
        let pairs = Relation(
            linked.source, joins: linked.joins, where: condition,
            columns: [.field(link, near), .field(linked.place.source, linked.place.table.keyField)])
        let (name, table) = (reader.numbering.next(), linked.place.table)
        let place = EntityPlace(source: reader.numbering.next(), table: table, type: linked.place.type)
        return (
            [
                Join(.left, .rows(pairs, as: name), on: .compare(.equal, .output(name, 0), owner)),
                Join(
                    .left, .records(table.entity, as: place.source),
                    on: .compare(.equal, .field(place.source, table.keyField), .output(name, 1))),
            ], place
        )
    }
}

extension Transformation {
    /// Whether it decides for each entity by itself whether it stays.
    fileprivate var looksAtOne: Bool {
        switch self {
        case .identity, .filter, .search: true
        default: false
        }
    }
}
