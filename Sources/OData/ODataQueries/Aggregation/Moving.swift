import AdapterKit
import ODataRecords

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
    /// What it says of a row around it; its own sources stay.
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
    /// What it says of a row around it; its own name stays.
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
