import AdapterKit

extension RowExpression {
    /// Whether the value depends on the records of its own row only, not on others.
    var isOfItsRow: Bool {
        switch self {
        case .field, .revision, .output, .element, .value, .found: return true
        case .member(let inner, _, _), .isNull(let inner), .isTrue(let inner), .not(let inner), .oneOf(let inner, _):
            return inner.isOfItsRow
        case .same(let left, let right), .compare(_, let left, let right), .arithmetic(_, let left, let right):
            return left.isOfItsRow && right.isOfItsRow
        case .all(let parts), .any(let parts), .call(_, let parts): return parts.allSatisfy(\.isOfItsRow)
        case .choose(let branches, let otherwise):
            return otherwise.isOfItsRow
                && branches.allSatisfy { $0.condition.isOfItsRow && $0.value.isOfItsRow }
        case .among(let value, let relation): return value.isOfItsRow && relation.isOfItsRow
        case .exists(let relation), .first(let relation): return relation.isOfItsRow
        case .aggregate(_, let inner, _): return inner?.isOfItsRow ?? true
        case .sumBefore, .sumWithin: return false
        }
    }
}

extension Relation {
    /// Whether it is made of a row's own values: the elements of its lists.
    fileprivate var isOfItsRow: Bool {
        source.isOfItsRow && joins.allSatisfy { $0.source.isOfItsRow && $0.condition.isOfItsRow }
            && (condition?.isOfItsRow ?? true) && columns.allSatisfy(\.isOfItsRow)
            && (groups ?? []).allSatisfy(\.isOfItsRow) && (groupCondition?.isOfItsRow ?? true)
            && order.allSatisfy(\.expression.isOfItsRow)
    }
}

extension RelationSource {
    fileprivate var isOfItsRow: Bool {
        switch self {
        case .records, .recursion, .found: false
        case .rows(let relation, _): relation.isOfItsRow
        case .union(let relations, _): relations.allSatisfy(\.isOfItsRow)
        case .elements(let list, _): list.isOfItsRow
        case .one: true
        }
    }
}
