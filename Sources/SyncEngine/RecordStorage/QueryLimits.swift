import AdapterKit

/// Limits of a filter's size. A store refuses what is larger before it compiles it.
public struct FilterLimits: Sendable, Equatable {
    /// Levels of `all`, `any`, `not` and `related` within each other.
    public let depth: Int
    /// Conditions and connectives in all.
    public let terms: Int
    /// Values of all `oneOf` together, and words of all searches.
    public let values: Int

    /// The limits that every store enforces.
    public static let standard = FilterLimits(depth: 32, terms: 512, values: 2048)

    /// Creates limits; each is the largest number that is accepted.
    public init(depth: Int, terms: Int, values: Int) {
        self.depth = depth
        self.terms = terms
        self.values = values
    }

    /// Throws `request.limitExceeded`.
    public func check(_ filter: Filter) throws(PorticoError) {
        var size = FilterSize(limits: self)
        try size.add(filter, depth: 1)
    }
}

private struct FilterSize {
    let limits: FilterLimits
    var terms = 0
    var values = 0

    mutating func add(_ filter: Filter, depth: Int) throws(PorticoError) {
        terms += 1
        guard depth <= limits.depth else { throw Self.excess("levels", limits.depth) }
        guard terms <= limits.terms else { throw Self.excess("conditions", limits.terms) }
        switch filter {
        case .oneOf(_, let listed): values += listed.count
        case .search(let words): values += words.count
        case .related(_, _, let inner), .not(let inner): try add(inner, depth: depth + 1)
        case .all(let parts), .any(let parts):
            for part in parts { try add(part, depth: depth + 1) }
        default: break
        }
        guard values <= limits.values else { throw Self.excess("values", limits.values) }
    }

    static func excess(_ what: String, _ limit: Int) -> PorticoError {
        PorticoError(.requestLimitExceeded, "A filter has at most \(limit) \(what).", target: "filter")
    }
}

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
        case .word, .prefix, .phrase: try add(values: 1)
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

extension Entity {
    /// The sort criteria that make an order total: those asked for up to the key; where it is not among them, the key
    /// in the direction of the last one. A field named twice counts once.
    ///
    /// The key's direction makes `DESC` the exact reverse of `ASC`, and lets one index serve both.
    ///
    /// Throws `request.invalid` for a field that is not there or has no order.
    public func totalOrder(_ asked: [SortKey]) throws(PorticoError) -> [SortKey] {
        guard asked.count <= Self.maximumSortKeys else {
            throw PorticoError(
                .requestLimitExceeded, "An order has at most \(Self.maximumSortKeys) fields.", target: "order")
        }
        var order: [SortKey] = []
        for criterion in asked where !order.contains(where: { $0.field == criterion.field }) {
            guard let field = field(criterion.field), field.shape.isScalar else {
                throw PorticoError(
                    .requestInvalid, "\(name) cannot be ordered by `\(criterion.field)`.", target: "order")
            }
            order.append(criterion)
            if criterion.field == key.field { return order }
        }
        return order + [SortKey(key.field, descending: order.last?.isDescending ?? false)]
    }

    /// Fields in an order, at most.
    public static let maximumSortKeys = 8
}

extension WireValue {
    /// The bytes that the value takes in an answer, about: of JSON, without what has to be escaped. Costs no copy.
    public var writtenSize: Int {
        switch self {
        case .null, .bool: 5
        case .int64, .uint64, .double, .uid: 12
        case .decimal, .date: 32
        case .string(let text): text.utf8.count + 3
        case .data(let bytes): bytes.count / 3 * 4 + 7
        case .array(let values): values.reduce(2) { $0 + $1.writtenSize }
        case .dictionary(let members): members.writtenSize
        }
    }
}

extension WireDictionary {
    package var writtenSize: Int { entries.reduce(2) { $0 + $1.key.utf8.count + 4 + $1.value.writtenSize } }
}

extension Record {
    /// About how many bytes the record takes in an answer.
    public var writtenSize: Int { fields.writtenSize }
}

extension RecordPage {
    /// The number of records that fit into that many bytes: at least the first.
    func count(within bytes: Int) -> Int {
        var size = 0
        let end = records.indices.first { index in
            size += records[index].writtenSize
            return index > 0 && size > bytes
        }
        return end ?? records.count
    }
}
