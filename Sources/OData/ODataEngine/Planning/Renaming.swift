import AdapterKit

// The same rows once more, within a relation that has them already.
extension AppliedRows {
    /// Under other names, as no relation and none within it have sources of one name.
    func again(_ reader: ExpressionReader) -> AppliedRows {
        var result = self
        for name in [source.name].compactMap({ $0 }) + joins.compactMap(\.source.name) {
            result.rename(name, reader.numbering.next())
        }
        return result
    }

    private mutating func rename(_ old: SourceName, _ new: SourceName) {
        source = source.renamed(from: old, to: new)
        joins = joins.map {
            Join($0.kind, $0.source.renamed(from: old, to: new), on: $0.condition.moved(from: old, to: new))
        }
        condition = condition?.moved(from: old, to: new)
        order = order.map { RowOrder($0.expression.moved(from: old, to: new), descending: $0.isDescending) }
        computed = computed.map { $0.moved(from: old, to: new) }
        nested = nested.map { $0.moved(from: old, to: new) }
        joined = joined.map { $0.renamed(from: old, to: new) }
        switch content {
        case .entities(let entity): content = .entities(entity.renamed(from: old, to: new))
        case .columns(let columns): content = .columns(columns.map { $0.moved(from: old, to: new) })
        }
        belonging = belonging.map { $0.identified(by: $0.values.map { $0.moved(from: old, to: new) }) }
    }
}

extension AppliedRows.Column {
    func moved(from old: SourceName, to new: SourceName) -> Self {
        Self(path: path, typed: typed.moved(from: old, to: new), presence: presence?.moved(from: old, to: new))
    }
}

extension JoinedRows {
    fileprivate func renamed(from old: SourceName, to new: SourceName) -> Self {
        let moved: Content =
            switch content {
            case .entity(let entity): .entity(entity.renamed(from: old, to: new))
            case .columns(let columns): .columns(columns.map { $0.moved(from: old, to: new) })
            }
        return JoinedRows(name: name, content: moved, presence: presence.moved(from: old, to: new))
    }
}

extension EntitySource {
    fileprivate func renamed(from old: SourceName, to new: SourceName) -> Self {
        source == old ? EntitySource(source: new, table: table, type: type) : self
    }
}

extension RelationSource {
    /// Nil where nothing is known by a name.
    fileprivate var name: SourceName? {
        switch self {
        case .records(_, let name), .rows(_, let name), .union(_, let name), .recursion(_, let name),
            .elements(_, let name), .found(let name):
            name
        case .one: nil
        }
    }

    fileprivate func renamed(from old: SourceName, to new: SourceName) -> Self {
        guard name == old else { return moved(from: old, to: new) }
        return switch self {
        case .records(let entity, _): .records(entity, as: new)
        case .rows(let relation, _): .rows(relation, as: new)
        case .union(let parts, _): .union(parts, as: new)
        case .recursion(let recursion, _): .recursion(recursion, as: new)
        case .elements(let list, _): .elements(of: list, as: new)
        case .found: .found(as: new)
        case .one: .one
        }
    }
}

// The same rows under another source's name.
extension TypedExpression {
    func moved(from old: SourceName, to new: SourceName) -> TypedExpression {
        TypedExpression(expression.moved(from: old, to: new), type, literal: literal)
    }
}

extension RowExpression {
    func moved(from old: SourceName, to new: SourceName) -> RowExpression {
        func moved(_ expression: RowExpression) -> RowExpression { expression.moved(from: old, to: new) }
        switch self {
        case .field(let source, let name): return source == old ? .field(new, name) : self
        case .revision(let source): return source == old ? .revision(new) : self
        case .found(let source, let search): return source == old ? .found(new, search) : self
        case .output(let source, let column): return source == old ? .output(new, column) : self
        case .element(let source): return source == old ? .element(new) : self
        case .value: return self
        case .member(let inner, let steps, let kind): return .member(moved(inner), steps, kind)
        case .same(let left, let right): return .same(moved(left), moved(right))
        case .compare(let comparison, let left, let right): return .compare(comparison, moved(left), moved(right))
        case .isNull(let inner): return .isNull(moved(inner))
        case .isTrue(let inner): return .isTrue(moved(inner))
        case .not(let inner): return .not(moved(inner))
        case .all(let parts): return .all(parts.map(moved))
        case .any(let parts): return .any(parts.map(moved))
        case .oneOf(let inner, let values): return .oneOf(moved(inner), values)
        case .among(let inner, let relation): return .among(moved(inner), relation.moved(from: old, to: new))
        case .exists(let relation): return .exists(relation.moved(from: old, to: new))
        case .first(let relation): return .first(relation.moved(from: old, to: new))
        case .arithmetic(let operation, let left, let right): return .arithmetic(operation, moved(left), moved(right))
        case .call(let function, let arguments): return .call(function, arguments.map(moved))
        case .choose(let branches, let otherwise):
            return .choose(
                branches.map { Branch(when: moved($0.condition), then: moved($0.value)) }, otherwise: moved(otherwise))
        case .sumBefore(let inner, let groups, let order):
            return .sumBefore(
                moved(inner), by: groups.map(moved),
                order: order.map { RowOrder(moved($0.expression), descending: $0.isDescending) })
        case .sumWithin(let inner, let groups): return .sumWithin(moved(inner), by: groups.map(moved))
        case .aggregate(let aggregate, let operand, let isDistinct):
            return .aggregate(aggregate, operand.map(moved), isDistinct: isDistinct)
        }
    }
}

extension Relation {
    /// The relation with what it says of a row around it moved; its own sources stay.
    func moved(from old: SourceName, to new: SourceName) -> Relation {
        var result = self
        func moved(_ expression: RowExpression) -> RowExpression { expression.moved(from: old, to: new) }
        result.source = source.moved(from: old, to: new)
        result.joins = joins.map { Join($0.kind, $0.source.moved(from: old, to: new), on: moved($0.condition)) }
        result.condition = condition.map(moved)
        result.columns = columns.map(moved)
        result.groups = groups?.map(moved)
        result.groupCondition = groupCondition.map(moved)
        result.order = order.map { RowOrder(moved($0.expression), descending: $0.isDescending) }
        return result
    }
}

extension RelationSource {
    /// The source with what it says of a row around it moved; its own name stays.
    func moved(from old: SourceName, to new: SourceName) -> RelationSource {
        switch self {
        case .elements(let list, let name): .elements(of: list.moved(from: old, to: new), as: name)
        case .rows(let nested, let name): .rows(nested.moved(from: old, to: new), as: name)
        case .union(let parts, let name): .union(parts.map { $0.moved(from: old, to: new) }, as: name)
        case .recursion(let recursion, let name): .recursion(recursion.moved(from: old, to: new), as: name)
        case .records, .found, .one: self
        }
    }
}

extension Recursion {
    fileprivate func moved(from old: SourceName, to new: SourceName) -> Recursion {
        Recursion(from: start.moved(from: old, to: new), step: step.moved(from: old, to: new), order: order)
    }
}
