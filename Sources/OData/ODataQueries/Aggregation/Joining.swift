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
            rows.ground.computed[name] == nil
        else { throw QueryProblem("There is a property \(name) already.", at: path.range) }
        var linked = try reader.linked(try navigation(path, type), from: place, path.range)
        let cast = try self.cast(path, linked.place)
        if let cast { linked.place.type = cast }
        var condition = cast.map { reader.isOf($0, linked.place) }
        for step in then { condition = reader.both(condition, try restriction(step, linked.place)) }
        var result = rows
        let reached: EntityPlace
        (result.joins, reached) = isOuter ? outer(linked, condition) : inner(linked, condition)
        result.joins = rows.joins + result.joins
        result.joined.append(AppliedRows.Joined(name: name, place: reached))
        return result
    }

    private func navigation(_ path: MemberPath, _ type: StructuredType?) throws(QueryProblem) -> NavigationProperty {
        guard let name = path.segments.first?.name, name.namespace == nil, let found = type?.navigation(name.name),
            found.isCollection
        else { throw QueryProblem("What is joined is a collection of entities.", at: path.range, kind: .notSupported) }
        return found
    }

    private func cast(_ path: MemberPath, _ place: EntityPlace) throws(QueryProblem) -> QualifiedName? {
        guard path.segments.count > 1 else { return nil }
        guard path.segments.count == 2, let name = path.segments[1].name, name.namespace != nil,
            reader.model.type(reader.resolved(name), isA: place.table.type.name)
        else { throw QueryProblem("Behind what is joined only a derived type can stand.", at: path.range) }
        return reader.resolved(name)
    }

    /// What narrows the joined entities one by one.
    private func restriction(_ step: Transformation, _ place: EntityPlace) throws(QueryProblem) -> RowExpression? {
        switch step {
        case .identity: return nil
        case .filter(let filter): return try reader.condition(filter, on: Ground(.entity(place)))
        case .search(let search): return .found(place.source, try reader.read(search, SourceRange(0, 0)))
        default: throw QueryProblem("What is joined can be filtered and searched.", kind: .notSupported)
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
