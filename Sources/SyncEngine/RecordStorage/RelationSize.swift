import AdapterKit

extension RelationLimits {
    /// Throws `request.limitExceeded`, and `request.invalid` for negative numbers of rows.
    public func check(_ relation: Relation) throws(PorticoError) {
        var size = RelationSize(limits: self)
        try size.add(relation, depth: 1)
    }
}

/// One walk over a relation, nested ones included, before anything is made of it.
private struct RelationSize {
    let limits: RelationLimits
    var nodes = 0
    var values = 0

    mutating func add(_ relation: Relation, depth: Int) throws(PorticoError) {
        try enter(depth)
        guard relation.joins.count < limits.sources else { throw Self.excess("sources", limits.sources) }
        try add(relation.source, depth: depth + 1)
        for join in relation.joins {
            try add(join.source, depth: depth + 1)
            try add(join.condition, depth: depth + 1)
        }
        for part in relation.columns + (relation.groups ?? []) + (relation.window?.groups ?? []) {
            try add(part, depth: depth + 1)
        }
        for criterion in relation.order { try add(criterion.expression, depth: depth + 1) }
        if let condition = relation.condition { try add(condition, depth: depth + 1) }
        if let condition = relation.groupCondition { try add(condition, depth: depth + 1) }
        try checkNumbers(of: relation)
    }

    private mutating func checkNumbers(of relation: Relation) throws(PorticoError) {
        var numbers = [relation.limit, relation.window?.skip, relation.window?.limit].compactMap { $0 }
        switch relation.start {
        case .first: break
        case .after(let listed): try add(values: listed.count * listed.count)
        case .offset(let rows): numbers.append(rows)
        }
        guard numbers.allSatisfy({ (0...Int(Int32.max)).contains($0) }) else {
            throw PorticoError(.requestInvalid, "A number of rows is not negative and below two thousand million.")
        }
    }

    private mutating func add(_ source: RelationSource, depth: Int) throws(PorticoError) {
        try enter(depth)
        switch source {
        case .records, .found, .one: return
        case .rows(let relation, _): try add(relation, depth: depth + 1)
        case .union(let relations, _): for relation in relations { try add(relation, depth: depth + 1) }
        case .recursion(let recursion, _):
            try add(recursion.start, depth: depth + 1)
            try add(recursion.step, depth: depth + 1)
        case .elements(let list, _): try add(list, depth: depth + 1)
        }
    }

    private mutating func add(_ expression: RowExpression, depth: Int) throws(PorticoError) {
        try enter(depth)
        switch expression {
        case .field, .revision, .output, .element: return
        case .value: try add(values: 1)
        case .oneOf(_, let listed): try add(values: listed.count)
        case .member(_, let steps, _): try add(values: steps.count)
        case .found(_, let search): try add(search, depth: depth + 1)
        case .exists(let relation), .first(let relation), .among(_, let relation): try add(relation, depth: depth + 1)
        default: break
        }
        for operand in expression.operands { try add(operand, depth: depth + 1) }
    }

    private mutating func add(_ search: RowSearch, depth: Int) throws(PorticoError) {
        try enter(depth)
        switch search {
        case .word, .phrase: try add(values: 1)
        case .not(let inner): try add(inner, depth: depth + 1)
        case .all(let parts), .any(let parts): for part in parts { try add(part, depth: depth + 1) }
        }
    }

    private mutating func enter(_ depth: Int) throws(PorticoError) {
        nodes += 1
        guard nodes <= limits.nodes else { throw Self.excess("parts", limits.nodes) }
        guard depth <= limits.depth else { throw Self.excess("levels", limits.depth) }
    }

    private mutating func add(values count: Int) throws(PorticoError) {
        values += count
        guard values <= limits.values else { throw Self.excess("values", limits.values) }
    }

    static func excess(_ what: String, _ limit: Int) -> PorticoError {
        PorticoError(.requestLimitExceeded, "A query has at most \(limit) \(what).")
    }
}

extension RowExpression {
    /// The expressions that it is directly made of; relations within it are not gone into.
    public var operands: [RowExpression] {
        switch self {
        case .field, .revision, .output, .element, .value, .exists, .first, .found: []
        case .isNull(let inner), .isTrue(let inner), .not(let inner): [inner]
        case .member(let inner, _, _), .oneOf(let inner, _), .among(let inner, _): [inner]
        case .same(let left, let right), .compare(_, let left, let right), .arithmetic(_, let left, let right):
            [left, right]
        case .all(let parts), .any(let parts), .call(_, let parts): parts
        case .choose(let branches, let otherwise): branches.flatMap { [$0.condition, $0.value] } + [otherwise]
        case .aggregate(_, let operand, _): operand.map { [$0] } ?? []
        case .sumBefore(let inner, let groups, let order): [inner] + groups + order.map(\.expression)
        case .sumWithin(let inner, let groups): [inner] + groups
        }
    }
}
