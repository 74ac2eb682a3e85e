import AdapterKit
import ODataLanguage
import ODataModel

/// Plans `join` and `outerjoin`: each entity once for every related one, which is added under a name (OData Extension
/// for Data Aggregation 4.0, section 3.5.1).
struct JoinTransformation {
    let applier: ApplyPlanner
    let rows: AppliedRows

    private var reader: ExpressionReader { applier.reader }

    func joined(
        _ path: MemberPath, _ name: String, _ then: [Transformation], isOuter: Bool
    ) throws(QueryProblem) -> AppliedRows {
        guard case .entities(let entity) = rows.content else {
            throw QueryProblem("Only entities are joined.", at: path.range, kind: .notSupported)
        }
        let type = reader.model.structured(entity.type)
        guard type?.property(name) == nil, type?.navigation(name) == nil, rows.scope.variables[name] == nil,
            rows.scope.computed[name] == nil, !rows.nested.contains(where: { $0.name == name })
        else { throw QueryProblem("There is a property \(name) already.", at: path.range) }
        let (navigation, cast) = try applier.navigation(path, of: entity)
        guard navigation.isCollection else {
            throw QueryProblem("What is joined is a collection of entities.", at: path.range, kind: .notSupported)
        }
        guard then.allSatisfy(\.looksAtOne) else {
            var owned = try OwnedRows(navigation, cast: cast, from: entity, reader, path.range)
            if rows.joins.isEmpty { owned.keep(rows.condition, of: entity, reader) }
            return try made(owned, name, then, at: path.range, isOuter ? .left : .inner)
        }
        var linked = try reader.linked(navigation, from: entity, path.range)
        if let cast { linked.entity.type = cast }
        var condition = cast.map { reader.isOf($0, linked.entity) }
        for step in then { condition = reader.both(condition, try restriction(step, linked.entity)) }
        var result = rows
        let reached: EntitySource
        (result.joins, reached) = isOuter ? outer(linked, condition) : inner(linked, condition)
        result.joins = rows.joins + result.joins
        result.joined.append(
            JoinedRows(
                name: name, content: .entity(reached), presence: .field(reached.source, reached.table.keyField)))
        return result
    }

    /// The rows that a sequence makes of each entity's: carried out for all owners at once, then put beside them.
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
        if case .entities(let entity) = part.content, part.computed.isEmpty, part.joined.isEmpty {
            let reached = EntitySource(source: reader.numbering.next(), table: entity.table, type: entity.type)
            let (key, own) = (entity.table.keyField, RowExpression.field(reached.source, entity.table.keyField))
            let pairs = part.relation(part.owner + [.field(entity.source, key)])
            result.joins.append(Join(kind, .rows(pairs, as: source), on: isOwned))
            result.joins.append(
                Join(
                    kind, .records(entity.table.entity, as: reached.source),
                    on: .compare(.equal, own, .output(source, width))))
            result.joined.append(JoinedRows(name: name, content: .entity(reached), presence: own))
            return result
        }
        let flat = inner.flattened(part)
        let columns = flat.columns
        let relation = flat.relation(flat.owner + [.value(.int64(1))] + columns.map(\.typed.expression))
        let outputs = columns.enumerated().map { position, column in
            AppliedRows.Column(
                path: column.path, typed: TypedExpression(.output(source, width + 1 + position), column.typed.type))
        }
        result.joins.append(Join(kind, .rows(relation, as: source), on: isOwned))
        result.joined.append(
            JoinedRows(name: name, content: .columns(outputs), presence: .output(source, width)))
        return result
    }

    /// The condition that narrows the joined entities one by one.
    private func restriction(_ step: Transformation, _ entity: EntitySource) throws(QueryProblem) -> RowExpression? {
        switch step {
        case .filter(let filter): try reader.condition(filter, on: ExpressionScope(.entity(entity)))
        case .search(let search): .found(entity.source, try reader.read(search, SourceRange(0, 0)))
        default: nil
        }
    }

    private func inner(_ linked: LinkedRows, _ condition: RowExpression?) -> ([Join], EntitySource) {
        var joins = linked.inner
        if let condition, let last = joins.popLast() {
            joins.append(Join(.inner, last.source, on: .all([last.condition, condition])))
        }
        return (joins, linked.entity)
    }

    /// Where links stand between the two, those that lead to what is not seen count for nothing.
    private func outer(_ linked: LinkedRows, _ condition: RowExpression?) -> ([Join], EntitySource) {
        guard case .records(_, let link) = linked.source, !linked.joins.isEmpty,
            case .compare(_, .field(_, let near), let owner) = linked.condition
        else {
            let on = reader.both(linked.condition, condition) ?? linked.condition
            return ([Join(.left, linked.source, on: on)], linked.entity)
        }
        let pairs = Relation(
            linked.source, joins: linked.joins, where: condition,
            columns: [.field(link, near), .field(linked.entity.source, linked.entity.table.keyField)])
        let (name, table) = (reader.numbering.next(), linked.entity.table)
        let entity = EntitySource(source: reader.numbering.next(), table: table, type: linked.entity.type)
        return (
            [
                Join(.left, .rows(pairs, as: name), on: .compare(.equal, .output(name, 0), owner)),
                Join(
                    .left, .records(table.entity, as: entity.source),
                    on: .compare(.equal, .field(entity.source, table.keyField), .output(name, 1))),
            ], entity
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

/// Plans `nest` and `addnested`: collections within rows (OData Extension for Data Aggregation 4.0, sections 3.4.3 and
/// 3.5.2).
///
/// Each collection is read for all rows of a page at once, like an expansion.
struct NestTransformation {
    let applier: ApplyPlanner
    let rows: AppliedRows

    private var reader: ExpressionReader { applier.reader }

    /// One row, or one for each owner, that has the results of all sequences.
    func nested(_ sequences: [NestedApply]) throws(QueryProblem) -> AppliedRows {
        let owner = reader.numbering.next()
        var result = AppliedRows(source: .one, content: .columns([]))
        if let belonging = rows.belonging {
            result.source = .rows(belonging.owners, as: owner)
            result.belonging = belonging.moved(to: owner)
        }
        for sequence in sequences {
            try check(sequence, result)
            let inner = try applier.deeper(at: sequence.nameRange)
            let made = try level(sequence.transformations, rows, inner)
            // Without an owner all of it belongs to the one row that there is.
            let near = result.owner.isEmpty ? [.value(.int64(1))] : result.owner
            result.nested.append(NestedRows(sequence.name, isCollection: true, near: near, made, inner))
        }
        return result
    }

    func added(_ path: MemberPath, _ sequences: [NestedApply]) throws(QueryProblem) -> AppliedRows {
        let entity = try rows.entities(applier, at: path.range)
        let (navigation, cast) = try applier.navigation(path, of: entity)
        var result = rows
        for sequence in sequences {
            try check(sequence, result)
            let owned = try OwnedRows(navigation, cast: cast, from: entity, reader, path.range)
            if !navigation.isCollection { try Self.checkSingle(sequence.transformations, path) }
            let inner = try applier.deeper(to: owned, at: sequence.nameRange)
            let made = try level(sequence.transformations, owned.rows, inner)
            result.nested.append(
                NestedRows(
                    sequence.name, isCollection: navigation.isCollection,
                    near: try rows.identified(owned.near, of: entity, at: path.range), made, inner))
        }
        return result
    }

    private func level(
        _ transformations: [Transformation], _ start: AppliedRows, _ inner: ApplyPlanner
    ) throws(QueryProblem) -> (level: LevelPlan, far: [RowExpression]) {
        let rows = try inner.settled(try inner.apply(transformations, to: start))
        let options = try LevelOptions([], limits: applier.limits)
        var level = try AppliedLevel(applier: inner, options: options).level(rows)
        let far = rows.owner.isEmpty ? [.value(.int64(1))] : rows.owner
        level.relation.columns += far
        return (level, far)
    }

    private func check(_ sequence: NestedApply, _ result: AppliedRows) throws(QueryProblem) {
        let name = sequence.name
        var isTaken = result.nested.contains { $0.name == name } || rows.columns.contains { $0.path.first == name }
        if case .entities(let entity) = result.content {
            let type = reader.model.structured(entity.type)
            isTaken =
                isTaken || type?.property(name) != nil || type?.navigation(name) != nil
                || rows.scope.variables[name] != nil
        }
        if isTaken { throw QueryProblem("There is a property \(name) already.", at: sequence.nameRange) }
    }

    /// One entity can only stay one (section 3.4.3).
    private static func checkSingle(_ steps: [Transformation], _ path: MemberPath) throws(QueryProblem) {
        for step in steps {
            switch step {
            case .identity, .compute, .addNested: continue
            default:
                throw QueryProblem(
                    "Of one entity there is only identity, compute and addnested.", at: path.range)
            }
        }
    }
}

extension ApplyPlanner {
    /// The navigation property that a path of `join` and `addnested` leads to, and the type behind it.
    func navigation(
        _ path: MemberPath, of entity: EntitySource
    ) throws(QueryProblem) -> (NavigationProperty, cast: QualifiedName?) {
        guard let name = path.segments.first?.name, name.namespace == nil,
            let found = reader.model.structured(entity.type)?.navigation(name.name)
        else { throw QueryProblem("A navigation property is expected.", at: path.range) }
        guard path.segments.count > 1 else { return (found, nil) }
        let cast = path.segments[1].name.map { reader.resolved($0) }
        guard path.segments.count == 2, path.segments[1].name?.namespace != nil, let cast,
            reader.model.type(cast, isA: found.target)
        else { throw QueryProblem("Behind \(found.name) only a derived type can stand.", at: path.range) }
        return (found, cast)
    }

    /// For a sequence within a sequence: over the same rows, or over what belongs to them. Throws where there are too many.
    func deeper(to owned: OwnedRows? = nil, at range: SourceRange) throws(QueryProblem) -> ApplyPlanner {
        reader.numbering.expansions += 1
        guard depth < limits.expandDepth else {
            throw QueryProblem("Sequences nest at most \(limits.expandDepth) deep.", at: range, kind: .limitExceeded)
        }
        guard reader.numbering.expansions <= limits.expansions else {
            throw QueryProblem(
                "A query has at most \(limits.expansions) nested sequences.", at: range, kind: .limitExceeded)
        }
        return ApplyPlanner(
            reader: reader, limits: limits, depth: depth + 1, set: owned?.entity.table.source ?? set,
            sources: owned?.sources ?? sources)
    }
}
