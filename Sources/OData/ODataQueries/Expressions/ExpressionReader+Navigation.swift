import AdapterKit
import ODataLanguage
import ODataModel
import ODataRecords

/// The rows that a navigation property leads to: sources, and the condition that makes them belong.
struct LinkedRows {
    let source: RelationSource
    let joins: [Join]
    let condition: RowExpression
    var place: EntityPlace

    func relation(where more: RowExpression? = nil, columns: [RowExpression], limit: Int? = nil) -> Relation {
        Relation(
            source, joins: joins, where: more.map { .all([condition, $0]) } ?? condition, columns: columns, limit: limit
        )
    }
}

extension ExpressionReader {
    /// Throws where the property leads to what is in no set.
    func linked(
        _ navigation: NavigationProperty, from entity: EntityPlace, _ range: SourceRange
    ) throws(QueryProblem) -> LinkedRows {
        guard let relation = entity.table.relations[navigation.name], let table = tables[relation.target] else {
            throw QueryProblem("\(navigation.name) leads to no entity set.", at: range)
        }
        let place = EntityPlace(source: numbering.next(), table: table, type: navigation.target)
        let records = RelationSource.records(table.entity, as: place.source)
        switch relation {
        case .fields(_, let pairs, _):
            let same = pairs.map { pair in
                RowExpression.compare(
                    .equal, .field(place.source, pair.far), .field(entity.source, pair.near))
            }
            return LinkedRows(source: records, joins: [], condition: .all(same), place: place)
        case .links(_, let through, let near, let far, _):
            let link = numbering.next()
            let belongs = RowExpression.compare(
                .equal, .field(link, near), .field(entity.source, entity.table.keyField))
            let leads = RowExpression.compare(.equal, .field(place.source, table.keyField), .field(link, far))
            return LinkedRows(
                source: .records(through, as: link), joins: [Join(.inner, records, on: leads)], condition: belongs,
                place: place)
        }
    }

    func follow(
        _ navigation: NavigationProperty, of entity: EntityPlace, _ rest: ArraySlice<PathSegment>,
        _ range: SourceRange, on ground: ExpressionScope
    ) throws(QueryProblem) -> TypedExpression {
        let rows = try linked(navigation, from: entity, range)
        if navigation.isCollection { return try follow(rest, among: rows, nil, range, on: ground) }
        return try follow(rest, fromOne: rows, range, on: ground)
    }

    /// `$root/…`: a set, one of its entities, or a singleton, whatever the row (URL Conventions 4.01, section 5.1.1.14.5).
    func root(
        _ segments: ArraySlice<PathSegment>, _ range: SourceRange, on ground: ExpressionScope
    ) throws(QueryProblem) -> TypedExpression {
        guard let name = segments.first?.name, name.namespace == nil else {
            throw QueryProblem("A set or singleton is expected behind $root.", at: range)
        }
        guard let table = tables[name.name] else {
            throw QueryProblem(
                "Behind $root there is no set or singleton \(name).", at: range,
                kind: model.container.functionImport(name.name) == nil ? .invalid : .notSupported)
        }
        var rest = segments.dropFirst()
        let place = EntityPlace(source: numbering.next(), table: table, type: table.type.name)
        let source = RelationSource.records(table.entity, as: place.source)
        guard case .arguments(let key)? = rest.first?.form else {
            let rows = LinkedRows(source: source, joins: [], condition: .value(true), place: place)
            if table.isSingleton { return try follow(rest, fromOne: rows, range, on: ground) }
            return try follow(rest, among: rows, nil, range, on: ground)
        }
        rest = rest.dropFirst()
        let rows = LinkedRows(source: source, joins: [], condition: try isKey(key, of: place, range), place: place)
        return try follow(rest, fromOne: rows, range, on: ground)
    }

    private func isKey(
        _ key: Arguments, of place: EntityPlace, _ range: SourceRange
    ) throws(QueryProblem) -> RowExpression {
        let parts: [(name: String, value: Expression)] =
            switch key {
            case .single(let value): place.table.keyNames.map { ($0, value) }
            case .named(let arguments): arguments.map { ($0.name, $0.value) }
            case .names: []
            }
        guard parts.count == place.table.keyNames.count, Set(parts.map(\.name)) == Set(place.table.keyNames) else {
            throw QueryProblem("This is no key of \(place.table.source).", at: range)
        }
        var conditions: [RowExpression] = []
        for part in parts {
            let name = PathSegment(.name(WrittenName(nil, part.name)), range)
            let property = Expression(.path(MemberPath([name], range)), range)
            let isSame = Expression(.binary(.equal, property, part.value), range)
            conditions.append(try condition(isSame, on: ExpressionScope(.entity(place))))
        }
        return .all(conditions)
    }

    /// What is read of the one row that there is at most.
    func follow(
        _ rest: ArraySlice<PathSegment>, fromOne rows: LinkedRows, _ range: SourceRange, on ground: ExpressionScope
    ) throws(QueryProblem) -> TypedExpression {
        if case .all? = rest.last?.form {
            // Nothing is there: then all of it is so.
            let inner = try follow(rest, from: .entity(rows.place), range, on: ground)
            let opposite = Relation.first(rows, .not(inner.expression))
            return TypedExpression(.not(.isTrue(opposite)), .boolean)
        }
        let inner = try follow(rest, from: .entity(rows.place), range, on: ground)
        let value = Relation.first(rows, inner.expression)
        if case .any? = rest.last?.form { return TypedExpression(.isTrue(value), .boolean) }
        return TypedExpression(value, inner.type)
    }

    /// What follows a collection of entities: a cast, a filter, `any`, `all`, `$count`.
    private func follow(
        _ segments: ArraySlice<PathSegment>, among rows: LinkedRows, _ condition: RowExpression?, _ range: SourceRange,
        on ground: ExpressionScope
    ) throws(QueryProblem) -> TypedExpression {
        guard let first = segments.first else {
            throw QueryProblem("A collection of entities is no value; `any`, `all` or `$count` make one.", at: range)
        }
        let rest = segments.dropFirst()
        switch first.form {
        case .name(let name) where name.namespace != nil:
            let cast = resolved(name)
            guard model.structured(cast)?.isEntity == true else { throw unsupported(first) }
            var place = rows.place
            place.type = cast
            let narrowed = LinkedRows(
                source: rows.source, joins: rows.joins, condition: rows.condition, place: place)
            return try follow(rest, among: narrowed, both(condition, isOf(cast, place)), range, on: ground)
        case .filter(let filter):
            let inner = try self.condition(filter, on: ExpressionScope(.entity(rows.place), it: ground.it))
            return try follow(rest, among: rows, both(condition, inner), range, on: ground)
        case .any(let lambda):
            let inner = try lambda.map { lambda throws(QueryProblem) in
                try self.lambda(lambda, .entity(rows.place), on: ground)
            }
            return TypedExpression(
                .exists(rows.relation(where: both(condition, inner), columns: [.value(1)])), .boolean)
        case .all(let lambda):
            let inner = try self.lambda(lambda, .entity(rows.place), on: ground)
            let fails = both(condition, .not(.isTrue(inner)))
            return TypedExpression(.not(.exists(rows.relation(where: fails, columns: [.value(1)]))), .boolean)
        case .count(let options):
            let chosen = try restriction(options, rows.place, on: ground)
            let count = RowExpression.aggregate(.count, nil, isDistinct: false)
            return TypedExpression(.first(rows.relation(where: both(condition, chosen), columns: [count])), .int64)
        case .aggregate(let aggregate) where rest.isEmpty:
            return try aggregated(aggregate, among: rows, condition, on: ground)
        default: throw unsupported(first)
        }
    }

    /// What `$filter` and `$search` in `$count(…)` leave.
    private func restriction(
        _ options: [QueryOption], _ place: EntityPlace, on ground: ExpressionScope
    ) throws(QueryProblem) -> RowExpression? {
        var chosen: RowExpression?
        for option in options {
            switch option.form {
            case .filter(let filter):
                chosen = both(chosen, try condition(filter, on: ExpressionScope(.entity(place), it: ground.it)))
            case .search(let search): chosen = both(chosen, .found(place.source, try read(search, option.range)))
            default: throw QueryProblem("Only $filter and $search go with $count here.", at: option.range)
            }
        }
        return chosen
    }

    /// A list of values: `any`, `all`, `$count`.
    func follow(
        _ first: PathSegment, _ rest: ArraySlice<PathSegment>, list: RowExpression, _ type: TypeReference,
        on ground: ExpressionScope
    ) throws(QueryProblem) -> TypedExpression {
        let element = numbering.next()
        let item = Place.value(.element(element), [], type.item)
        let source = RelationSource.elements(of: list, as: element)
        switch first.form {
        case .count: return TypedExpression(.call(.count, [list]), .int64)
        case .any(let lambda):
            let inner = try lambda.map { lambda throws(QueryProblem) in try self.lambda(lambda, item, on: ground) }
            return TypedExpression(.exists(Relation(source, where: inner, columns: [.value(1)])), .boolean)
        case .all(let lambda):
            let inner = RowExpression.not(.isTrue(try self.lambda(lambda, item, on: ground)))
            return TypedExpression(.not(.exists(Relation(source, where: inner, columns: [.value(1)]))), .boolean)
        default: throw unsupported(first)
        }
    }

    private func lambda(_ lambda: Lambda, _ place: Place, on ground: ExpressionScope) throws(QueryProblem)
        -> RowExpression
    {
        var inner = ground
        inner.variables[lambda.variable] = place
        return try condition(lambda.condition, on: inner)
    }

    func both(_ left: RowExpression?, _ right: RowExpression?) -> RowExpression? {
        switch (left, right) {
        case (let left?, let right?): .all([left, right])
        default: left ?? right
        }
    }

    func read(_ search: SearchExpression, _ range: SourceRange) throws(QueryProblem) -> RowSearch {
        switch search {
        case .word(let text): return .word(text)
        case .phrase(let text): return .phrase(text)
        case .not(let inner): return .not(try read(inner, range))
        case .and(let left, let right): return .all([try read(left, range), try read(right, range)])
        case .or(let left, let right): return .any([try read(left, range), try read(right, range)])
        case .incomplete: throw QueryProblem("The search expression is not complete.", at: range)
        }
    }
}

extension Relation {
    /// The value of one column of the only row.
    fileprivate static func first(_ rows: LinkedRows, _ column: RowExpression) -> RowExpression {
        .first(rows.relation(columns: [column], limit: 1))
    }
}
