import AdapterKit
import ODataLanguage
import ODataModel

// Paths: from what is in scope, segment after segment.
extension ExpressionReader {
    func read(_ path: MemberPath, on scope: ExpressionScope) throws(QueryProblem) -> TypedExpression {
        let segments = path.segments[...]
        switch path.start {
        case .it: return try follow(segments, from: scope.it, path.range, on: scope)
        case .this: return try follow(segments, from: scope.current, path.range, on: scope)
        case .alias(let name): return try alias(name, segments, path.range, on: scope)
        case .root: return try root(segments, path.range, on: scope)
        case .these: return try these(path, on: scope)
        case .current: break
        }
        if let node = try rollupNode(path, on: scope) { return node }
        if let function = HierarchyFunction(path, self, on: scope) { return try function.typed() }
        if let name = segments.first?.name, name.namespace == nil {
            if let entity = scope.variables[name.name] {
                return try follow(segments.dropFirst(), from: entity, path.range, on: scope)
            }
            if let computed = scope.computed[name.name], segments.count == 1 {
                try numbering.count(name.name, at: path.range)
                return computed
            }
        }
        return try follow(segments, from: scope.current, path.range, on: scope)
    }

    /// Aliases within each other at most.
    private static let maximumOpenAliases = 16

    private func alias(
        _ name: String, _ rest: ArraySlice<PathSegment>, _ range: SourceRange, on scope: ExpressionScope
    ) throws(QueryProblem) -> TypedExpression {
        // One without a value is null (URL Conventions 4.01, section 5.1.1.15).
        guard let expression = aliases[name] else { return .null }
        guard rest.isEmpty, !openAliases.contains(name) else {
            throw QueryProblem("The alias @\(name) cannot be used here.", at: range)
        }
        numbering.aliasReads += 1
        guard openAliases.count < Self.maximumOpenAliases, numbering.aliasReads <= SourceNumbering.maximumAliasReads
        else {
            throw QueryProblem("Aliases stand for too many others.", at: range, kind: .limitExceeded)
        }
        var inner = self
        inner.openAliases.insert(name)
        return try inner.read(expression, on: scope)
    }

    func follow(
        _ segments: ArraySlice<PathSegment>, from entity: PathOrigin, _ range: SourceRange, on scope: ExpressionScope
    ) throws(QueryProblem) -> TypedExpression {
        switch entity {
        case .entity(let owner): return try follow(segments, from: owner, range, on: scope)
        case .value(let base, let steps, let type):
            return try follow(segments, value: base, steps, type, range, on: scope)
        case .outputs(let columns):
            let name = segments.compactMap { $0.name?.description }.joined(separator: "/")
            guard let column = columns[name] else { throw QueryProblem("There is no \(name) here.", at: range) }
            return column
        }
    }

    private func follow(
        _ segments: ArraySlice<PathSegment>, from entity: EntitySource, _ range: SourceRange, on scope: ExpressionScope
    ) throws(QueryProblem) -> TypedExpression {
        guard let first = segments.first else {
            return TypedExpression(.field(entity.source, entity.table.keyField), TypeReference(.entity(entity.type)))
        }
        let rest = segments.dropFirst()
        guard let name = first.name else { throw unsupported(first) }
        if name.namespace != nil {
            let cast = resolved(name)
            guard let type = model.structured(cast), type.isEntity else { throw unsupported(first) }
            guard model.type(cast, isA: entity.table.type.name) else {
                throw QueryProblem("\(cast) does not derive from \(entity.table.type.name).", at: first.range)
            }
            var narrowed = entity
            narrowed.type = cast
            return try follow(rest, from: narrowed, range, on: scope)
        }
        if let column = entity.table.column(name.name), model.structured(entity.type)?.property(name.name) != nil {
            let field = RowExpression.field(entity.source, column.field)
            return try follow(rest, value: field, [], column.type, range, on: scope)
        }
        if let navigation = model.structured(entity.type)?.navigation(name.name) {
            return try follow(navigation, of: entity, rest, first.range, on: scope)
        }
        throw QueryProblem("\(entity.type.name) has no property \(name).", at: first.range)
    }

    private func follow(
        _ segments: ArraySlice<PathSegment>, value base: RowExpression, _ steps: [RowStep], _ type: TypeReference,
        _ range: SourceRange, on scope: ExpressionScope
    ) throws(QueryProblem) -> TypedExpression {
        let value = self.value(base, steps, type)
        guard let first = segments.first else { return TypedExpression(value, type) }
        let rest = segments.dropFirst()
        if type.isCollection { return try follow(first, rest, list: value, type, on: scope) }
        guard let name = first.name, case .complex(let own) = type.type else { throw unsupported(first) }
        if name.namespace != nil {
            let cast = resolved(name)
            guard model.type(cast, isA: own) else {
                throw QueryProblem("\(cast) does not derive from \(own).", at: first.range)
            }
            return try follow(rest, value: base, steps, TypeReference(.complex(cast)), range, on: scope)
        }
        guard let property = model.structured(own)?.property(name.name) else {
            throw QueryProblem("\(own.name) has no property \(name).", at: first.range)
        }
        return try follow(rest, value: base, steps + [.member(name.name)], property.type, range, on: scope)
    }

    private func value(_ base: RowExpression, _ steps: [RowStep], _ type: TypeReference) -> RowExpression {
        if case .element = base { return .member(base, steps, model.kind(of: type)) }
        return steps.isEmpty ? base : .member(base, steps, model.kind(of: type))
    }

    func unsupported(_ segment: PathSegment) -> QueryProblem {
        QueryProblem("This cannot follow here.", at: segment.range)
    }
}

/// The rows that a navigation property leads to: sources, and the condition that relates them to their owner.
struct LinkedRows {
    let source: RelationSource
    let joins: [Join]
    let condition: RowExpression
    var entity: EntitySource

    func relation(where more: RowExpression? = nil, columns: [RowExpression], limit: Int? = nil) -> Relation {
        Relation(
            source, joins: joins, where: more.map { .all([condition, $0]) } ?? condition, columns: columns, limit: limit
        )
    }
}

extension ExpressionReader {
    /// Throws where the property leads to what is in no set.
    func linked(
        _ navigation: NavigationProperty, from owner: EntitySource, _ range: SourceRange
    ) throws(QueryProblem) -> LinkedRows {
        guard let relation = owner.table.relations[navigation.name], let table = tables[relation.target] else {
            throw QueryProblem("\(navigation.name) leads to no entity set.", at: range)
        }
        let entity = EntitySource(source: numbering.next(), table: table, type: navigation.target)
        let records = RelationSource.records(table.entity, as: entity.source)
        switch relation {
        case .fields(_, let pairs, _):
            let same = pairs.map { pair in
                RowExpression.compare(
                    .equal, .field(entity.source, pair.far), .field(owner.source, pair.near))
            }
            return LinkedRows(source: records, joins: [], condition: .all(same), entity: entity)
        case .links(_, let through, let near, let far, _):
            let link = numbering.next()
            let belongs = RowExpression.compare(
                .equal, .field(link, near), .field(owner.source, owner.table.keyField))
            let leads = RowExpression.compare(.equal, .field(entity.source, table.keyField), .field(link, far))
            return LinkedRows(
                source: .records(through, as: link), joins: [Join(.inner, records, on: leads)], condition: belongs,
                entity: entity)
        }
    }

    func follow(
        _ navigation: NavigationProperty, of entity: EntitySource, _ rest: ArraySlice<PathSegment>,
        _ range: SourceRange, on scope: ExpressionScope
    ) throws(QueryProblem) -> TypedExpression {
        let rows = try linked(navigation, from: entity, range)
        if navigation.isCollection { return try follow(rest, among: rows, nil, range, on: scope) }
        return try follow(rest, fromOne: rows, range, on: scope)
    }

    /// `$root/…`: a set, one of its entities, or a singleton, whatever the row (URL Conventions 4.01, section 5.1.1.14.5).
    func root(
        _ segments: ArraySlice<PathSegment>, _ range: SourceRange, on scope: ExpressionScope
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
        let entity = EntitySource(source: numbering.next(), table: table, type: table.type.name)
        let source = RelationSource.records(table.entity, as: entity.source)
        guard case .arguments(let key)? = rest.first?.form else {
            let rows = LinkedRows(source: source, joins: [], condition: .value(true), entity: entity)
            if table.isSingleton { return try follow(rest, fromOne: rows, range, on: scope) }
            return try follow(rest, among: rows, nil, range, on: scope)
        }
        rest = rest.dropFirst()
        let rows = LinkedRows(source: source, joins: [], condition: try isKey(key, of: entity, range), entity: entity)
        return try follow(rest, fromOne: rows, range, on: scope)
    }

    private func isKey(
        _ key: Arguments, of entity: EntitySource, _ range: SourceRange
    ) throws(QueryProblem) -> RowExpression {
        let parts: [(name: String, value: Expression)] =
            switch key {
            case .single(let value): entity.table.keyNames.count == 1 ? [(entity.table.keyNames[0], value)] : []
            case .named(let arguments): arguments.map { ($0.name, $0.value) }
            case .names: []
            }
        guard parts.count == entity.table.keyNames.count, Set(parts.map(\.name)) == Set(entity.table.keyNames) else {
            throw QueryProblem("This is no key of \(entity.table.source).", at: range)
        }
        var conditions: [RowExpression] = []
        for part in parts {
            let name = PathSegment(.name(WrittenName(nil, part.name)), range)
            let property = Expression(.path(MemberPath([name], range)), range)
            let isSame = Expression(.binary(.equal, property, part.value), range)
            conditions.append(try condition(isSame, on: ExpressionScope(.entity(entity))))
        }
        return .all(conditions)
    }

    /// Reads from the one row that there is at most.
    func follow(
        _ rest: ArraySlice<PathSegment>, fromOne rows: LinkedRows, _ range: SourceRange, on scope: ExpressionScope
    ) throws(QueryProblem) -> TypedExpression {
        if case .all? = rest.last?.form {
            // Nothing is there: then all of it is so.
            let inner = try follow(rest, from: .entity(rows.entity), range, on: scope)
            let opposite = Relation.first(rows, .not(inner.expression))
            return TypedExpression(.not(.isTrue(opposite)), .boolean)
        }
        let inner = try follow(rest, from: .entity(rows.entity), range, on: scope)
        let value = Relation.first(rows, inner.expression)
        if case .any? = rest.last?.form { return TypedExpression(.isTrue(value), .boolean) }
        return TypedExpression(value, inner.type)
    }

    /// Reads what stands behind a collection of entities: a cast, a filter, `any`, `all`, `$count`.
    private func follow(
        _ segments: ArraySlice<PathSegment>, among rows: LinkedRows, _ condition: RowExpression?, _ range: SourceRange,
        on scope: ExpressionScope
    ) throws(QueryProblem) -> TypedExpression {
        guard let first = segments.first else {
            throw QueryProblem("A collection of entities is no value; `any`, `all` or `$count` make one.", at: range)
        }
        let rest = segments.dropFirst()
        switch first.form {
        case .name(let name) where name.namespace != nil:
            let cast = resolved(name)
            guard model.structured(cast)?.isEntity == true else { throw unsupported(first) }
            var entity = rows.entity
            entity.type = cast
            let narrowed = LinkedRows(
                source: rows.source, joins: rows.joins, condition: rows.condition, entity: entity)
            return try follow(rest, among: narrowed, both(condition, isOf(cast, entity)), range, on: scope)
        case .filter(let filter):
            let inner = try self.condition(filter, on: ExpressionScope(.entity(rows.entity), it: scope.it))
            return try follow(rest, among: rows, both(condition, inner), range, on: scope)
        case .any(let lambda):
            let inner = try lambda.map { lambda throws(QueryProblem) in
                try self.lambda(lambda, .entity(rows.entity), on: scope)
            }
            return TypedExpression(
                .exists(rows.relation(where: both(condition, inner), columns: [.value(1)])), .boolean)
        case .all(let lambda):
            let inner = try self.lambda(lambda, .entity(rows.entity), on: scope)
            let fails = both(condition, .not(.isTrue(inner)))
            return TypedExpression(.not(.exists(rows.relation(where: fails, columns: [.value(1)]))), .boolean)
        case .count(let options):
            let chosen = try restriction(options, rows.entity, on: scope)
            let count = RowExpression.aggregate(.count, nil, isDistinct: false)
            return TypedExpression(.first(rows.relation(where: both(condition, chosen), columns: [count])), .int64)
        case .aggregate(let aggregate) where rest.isEmpty:
            return try aggregated(aggregate, among: rows, condition, on: scope)
        default: throw unsupported(first)
        }
    }

    /// The restriction of `$filter` and `$search` in `$count(…)`.
    private func restriction(
        _ options: [QueryOption], _ entity: EntitySource, on scope: ExpressionScope
    ) throws(QueryProblem) -> RowExpression? {
        var chosen: RowExpression?
        for option in options {
            switch option.form {
            case .filter(let filter):
                chosen = both(chosen, try condition(filter, on: ExpressionScope(.entity(entity), it: scope.it)))
            case .search(let search): chosen = both(chosen, .found(entity.source, try read(search, option.range)))
            default: throw QueryProblem("Only $filter and $search go with $count here.", at: option.range)
            }
        }
        return chosen
    }

    /// A list of values: `any`, `all`, `$count`.
    func follow(
        _ first: PathSegment, _ rest: ArraySlice<PathSegment>, list: RowExpression, _ type: TypeReference,
        on scope: ExpressionScope
    ) throws(QueryProblem) -> TypedExpression {
        let element = numbering.next()
        let item = PathOrigin.value(.element(element), [], type.item)
        let source = RelationSource.elements(of: list, as: element)
        switch first.form {
        case .count: return TypedExpression(.call(.count, [list]), .int64)
        case .any(let lambda):
            let inner = try lambda.map { lambda throws(QueryProblem) in try self.lambda(lambda, item, on: scope) }
            return TypedExpression(.exists(Relation(source, where: inner, columns: [.value(1)])), .boolean)
        case .all(let lambda):
            let inner = RowExpression.not(.isTrue(try self.lambda(lambda, item, on: scope)))
            return TypedExpression(.not(.exists(Relation(source, where: inner, columns: [.value(1)]))), .boolean)
        default: throw unsupported(first)
        }
    }

    private func lambda(_ lambda: Lambda, _ entity: PathOrigin, on scope: ExpressionScope) throws(QueryProblem)
        -> RowExpression
    {
        var inner = scope
        inner.variables[lambda.variable] = entity
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
