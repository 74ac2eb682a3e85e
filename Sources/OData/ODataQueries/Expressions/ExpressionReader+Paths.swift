import AdapterKit
import ODataLanguage
import ODataModel
import ODataRecords

// Paths: from what is in scope, segment after segment.
extension ExpressionReader {
    func read(_ path: MemberPath, on ground: ExpressionScope) throws(QueryProblem) -> TypedExpression {
        let segments = path.segments[...]
        switch path.start {
        case .it: return try follow(segments, from: ground.it, path.range, on: ground)
        case .this: return try follow(segments, from: ground.current, path.range, on: ground)
        case .alias(let name): return try alias(name, segments, path.range, on: ground)
        case .root: return try root(segments, path.range, on: ground)
        case .these: return try these(path, on: ground)
        case .current: break
        }
        if let node = try rollupNode(path, on: ground) { return node }
        if let function = HierarchyFunction(path, self, on: ground) { return try function.meaning() }
        if let name = segments.first?.name, name.namespace == nil {
            if let place = ground.variables[name.name] {
                return try follow(segments.dropFirst(), from: place, path.range, on: ground)
            }
            if let computed = ground.computed[name.name], segments.count == 1 {
                try numbering.count(name.name, at: path.range)
                return computed
            }
        }
        return try follow(segments, from: ground.current, path.range, on: ground)
    }

    /// Aliases within each other at most.
    private static let maximumOpenAliases = 16

    private func alias(
        _ name: String, _ rest: ArraySlice<PathSegment>, _ range: SourceRange, on ground: ExpressionScope
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
        return try inner.read(expression, on: ground)
    }

    func follow(
        _ segments: ArraySlice<PathSegment>, from place: Place, _ range: SourceRange, on ground: ExpressionScope
    ) throws(QueryProblem) -> TypedExpression {
        switch place {
        case .entity(let entity): return try follow(segments, from: entity, range, on: ground)
        case .value(let base, let steps, let type):
            return try follow(segments, value: base, steps, type, range, on: ground)
        case .outputs(let columns):
            let name = segments.compactMap { $0.name?.description }.joined(separator: "/")
            guard let column = columns[name] else { throw QueryProblem("There is no \(name) here.", at: range) }
            return column
        }
    }

    private func follow(
        _ segments: ArraySlice<PathSegment>, from entity: EntityPlace, _ range: SourceRange, on ground: ExpressionScope
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
            return try follow(rest, from: narrowed, range, on: ground)
        }
        if let column = entity.table.column(name.name), model.structured(entity.type)?.property(name.name) != nil {
            let field = RowExpression.field(entity.source, column.field)
            return try follow(rest, value: field, [], column.type, range, on: ground)
        }
        if let navigation = model.structured(entity.type)?.navigation(name.name) {
            return try follow(navigation, of: entity, rest, first.range, on: ground)
        }
        throw QueryProblem("\(entity.type.name) has no property \(name).", at: first.range)
    }

    private func follow(
        _ segments: ArraySlice<PathSegment>, value base: RowExpression, _ steps: [RowStep], _ type: TypeReference,
        _ range: SourceRange, on ground: ExpressionScope
    ) throws(QueryProblem) -> TypedExpression {
        let value = self.value(base, steps, type)
        guard let first = segments.first else { return TypedExpression(value, type) }
        let rest = segments.dropFirst()
        if type.isCollection { return try follow(first, rest, list: value, type, on: ground) }
        guard let name = first.name, case .complex(let own) = type.type else { throw unsupported(first) }
        if name.namespace != nil {
            let cast = resolved(name)
            guard model.type(cast, isA: own) else {
                throw QueryProblem("\(cast) does not derive from \(own).", at: first.range)
            }
            return try follow(rest, value: base, steps, TypeReference(.complex(cast)), range, on: ground)
        }
        guard let property = model.structured(own)?.property(name.name) else {
            throw QueryProblem("\(own.name) has no property \(name).", at: first.range)
        }
        return try follow(rest, value: base, steps + [.member(name.name)], property.type, range, on: ground)
    }

    private func value(_ base: RowExpression, _ steps: [RowStep], _ type: TypeReference) -> RowExpression {
        if case .element = base { return .member(base, steps, model.kind(of: type)) }
        return steps.isEmpty ? base : .member(base, steps, model.kind(of: type))
    }

    func unsupported(_ segment: PathSegment) -> QueryProblem {
        QueryProblem("This cannot follow here.", at: segment.range)
    }
}
