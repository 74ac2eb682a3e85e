import AdapterKit
import ODataLanguage
import ODataModel
import ODataRecords

/// `nest` and `addnested`: collections within rows (OData Extension for Data Aggregation 4.0, sections 3.4.3 and 3.5.2).
///
/// Each is read for all rows of a page at once, as what is expanded is.
struct Nesting {
    let applier: Applier
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
        let place = try rows.entities(applier, at: path.range)
        let (navigation, cast) = try applier.navigation(path, of: place)
        var result = rows
        for sequence in sequences {
            try check(sequence, result)
            let owned = try OwnedRows(navigation, cast: cast, from: place, reader, path.range)
            if !navigation.isCollection { try Self.checkSingle(sequence.transformations, path) }
            let inner = try applier.deeper(to: owned, at: sequence.nameRange)
            let made = try level(sequence.transformations, owned.rows, inner)
            result.nested.append(
                NestedRows(
                    sequence.name, isCollection: navigation.isCollection,
                    near: try rows.told(owned.near, of: place, at: path.range), made, inner))
        }
        return result
    }

    private func level(
        _ transformations: [Transformation], _ start: AppliedRows, _ inner: Applier
    ) throws(QueryProblem) -> (level: LevelPlan, far: [RowExpression]) {
        let rows = try inner.settled(try inner.apply(transformations, to: start))
        let options = try CollectedOptions([], limits: applier.limits)
        var level = try AppliedLevel(applier: inner, options: options).level(rows)
        let far = rows.owner.isEmpty ? [.value(.int64(1))] : rows.owner
        level.relation.columns += far
        return (level, far)
    }

    private func check(_ sequence: NestedApply, _ result: AppliedRows) throws(QueryProblem) {
        let name = sequence.name
        var isTaken = result.nested.contains { $0.name == name } || rows.columns.contains { $0.path.first == name }
        if case .entities(let place) = result.content {
            let type = reader.model.structured(place.type)
            isTaken =
                isTaken || type?.property(name) != nil || type?.navigation(name) != nil
                || rows.ground.variables[name] != nil
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

extension Applier {
    /// The navigation property that a path of `join` and `addnested` leads to, and the type behind it.
    func navigation(
        _ path: MemberPath, of place: EntityPlace
    ) throws(QueryProblem) -> (NavigationProperty, cast: QualifiedName?) {
        guard let name = path.segments.first?.name, name.namespace == nil,
            let found = reader.model.structured(place.type)?.navigation(name.name)
        else { throw QueryProblem("A navigation property is expected.", at: path.range) }
        guard path.segments.count > 1 else { return (found, nil) }
        let cast = path.segments[1].name.map { reader.resolved($0) }
        guard path.segments.count == 2, path.segments[1].name?.namespace != nil, let cast,
            reader.model.type(cast, isA: found.target)
        else { throw QueryProblem("Behind \(found.name) only a derived type can stand.", at: path.range) }
        return (found, cast)
    }

    /// For a sequence within a sequence: over the same rows, or over what belongs to them. Throws where there are too many.
    func deeper(to owned: OwnedRows? = nil, at range: SourceRange) throws(QueryProblem) -> Applier {
        reader.numbering.expansions += 1
        guard depth < limits.expandDepth else {
            throw QueryProblem("Sequences nest at most \(limits.expandDepth) deep.", at: range, kind: .limitExceeded)
        }
        guard reader.numbering.expansions <= limits.expansions else {
            throw QueryProblem(
                "A query has at most \(limits.expansions) nested sequences.", at: range, kind: .limitExceeded)
        }
        return Applier(
            reader: reader, limits: limits, depth: depth + 1, set: owned?.place.table.source ?? set,
            sources: owned?.sources ?? sources)
    }
}
