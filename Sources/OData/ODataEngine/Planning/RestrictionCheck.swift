import ODataLanguage
import ODataModel

/// Checks the options of one level against the model's restrictions of the set (Capabilities vocabulary:
/// `FilterRestrictions`, `SortRestrictions`, `SearchRestrictions`, `CountRestrictions`): `$filter` and `$orderby`, the
/// transformations of `$apply` that do the same, and what is computed or aggregated from a property under another name. Paths
/// from `$root` or a lambda's variable belong to other sets and are not checked.
struct RestrictionCheck {
    let source: String
    let restrictions: SetRestrictions
    /// Values of parameter aliases, by name.
    let aliases: [String: Expression]
    /// The beginning of the set's properties in paths: nothing, or the set's name in a cross join.
    private let prefix: String
    /// The expressions that other names than properties stand for.
    private var named: [String: Expression] = [:]

    init(of source: String, _ reader: ExpressionReader, inCrossJoin: Bool = false) {
        self.source = source
        restrictions = reader.model.restrictions(of: source)
        aliases = reader.aliases
        prefix = inCrossJoin ? "\(source)/" : ""
    }

    mutating func check(_ options: LevelOptions) throws(QueryProblem) {
        name(options.compute)
        if let filter = options.filter { try check(filter: filter) }
        try check(order: options.order.map(\.expression))
        if let search = options.search { try checkSearch(search.range) }
        try refuse(options.count && !restrictions.isCountable, "\(source) cannot be counted.", nil)
    }

    /// A filter that chooses among all of the set's entities.
    func check(filter: Expression) throws(QueryProblem) {
        try check(condition: filter)
        try require(in: [filter], at: filter.range)
    }

    /// `$apply`, and the options that come after it.
    mutating func check(
        applying transformations: [Transformation], _ options: LevelOptions
    ) throws(QueryProblem) {
        try check(transformations)
        name(options.compute)
        if let filter = options.filter { try check(condition: filter) }
        try check(order: options.order.map(\.expression))
    }

    /// For a set as a whole, of which a filter must choose.
    func requireFilter(_ options: LevelOptions) throws(QueryProblem) {
        try requireFilter(in: options.filter.map { [$0] } ?? [])
    }

    /// The same of `$apply`: filters before entities become something else.
    func requireFilter(_ transformations: [Transformation]) throws(QueryProblem) {
        var filters: [Expression] = []
        for transformation in transformations {
            switch transformation {
            case .filter(let filter): filters.append(filter)
            case .identity, .compute, .search, .orderBy: continue
            default: return try requireFilter(in: filters)
            }
        }
        try requireFilter(in: filters)
    }

    private func requireFilter(in filters: [Expression]) throws(QueryProblem) {
        try refuse(
            restrictions.needsFilter && !filters.contains(where: isUsed), "\(source) is read with $filter only.", nil)
        try require(in: filters, at: filters.first?.range)
    }

    private mutating func name(_ items: [ComputeItem]) {
        for item in items { named[item.name] = item.expression }
    }

    private mutating func check(_ transformations: [Transformation]) throws(QueryProblem) {
        for transformation in transformations {
            switch transformation {
            case .filter(let filter): try check(condition: filter)
            case .search: try checkSearch(nil)
            case .orderBy(let items): try check(order: items.map(\.expression))
            case .ranked(_, _, let value): try check(order: [value])
            case .compute(let items): name(items)
            case .aggregate(let values):
                for value in values { if let name = value.name { named[name] = value.value } }
            case .groupBy(_, let then): try check(then)
            case .concat(let branches):
                for branch in branches {
                    var own = self
                    try own.check(branch)
                }
            case .nest(let nested):
                for one in nested {
                    var own = self
                    try own.check(one.transformations)
                }
            // What is joined and added belongs to other sets; of a hierarchy whole nodes are chosen.
            case .top, .skip, .identity, .addNested, .join, .hierarchy, .custom: continue
            }
        }
    }

    private func check(condition: Expression) throws(QueryProblem) {
        try refuse(
            !restrictions.isFilterable && isUsed(in: condition), "\(source) cannot be filtered.", condition.range)
        try refuse(restrictions.nonFilterable, in: condition, "filtered")
        try FilterExpressionCheck(source: source, allowed: restrictions.filterExpressions) { uses(in: $0) }
            .check(condition)
    }

    private func check(order expressions: [Expression]) throws(QueryProblem) {
        for expression in expressions {
            try refuse(
                !restrictions.isSortable && isUsed(in: expression), "\(source) cannot be sorted.", expression.range)
            try refuse(restrictions.nonSortable, in: expression, "sorted")
        }
    }

    private func checkSearch(_ range: SourceRange?) throws(QueryProblem) {
        try refuse(!restrictions.isSearchable, "\(source) cannot be searched.", range)
    }

    private func refuse(_ isRefused: Bool, _ message: String, _ range: SourceRange?) throws(QueryProblem) {
        if isRefused { throw QueryProblem(message, at: range) }
    }

    private func refuse(_ names: Set<String>, in expression: Expression, _ verb: String) throws(QueryProblem) {
        guard !names.isEmpty else { return }
        for use in uses(in: expression) where names.contains(where: use.isOf) {
            throw QueryProblem("\(source) cannot be \(verb) by \(use.path).", at: use.range)
        }
    }

    private func require(in filters: [Expression], at range: SourceRange?) throws(QueryProblem) {
        guard !restrictions.requiredInFilter.isEmpty else { return }
        let uses = filters.flatMap { self.uses(in: $0) }
        for name in restrictions.requiredInFilter.sorted() where !uses.contains(where: { $0.isOf(name) }) {
            throw QueryProblem("The filter of \(source) must look at \(name).", at: range)
        }
    }

    /// In a cross join an expression may look at other sets alone.
    private func isUsed(in expression: Expression) -> Bool { prefix.isEmpty || !uses(in: expression).isEmpty }

    /// The set's properties that an expression uses.
    private func uses(in expression: Expression) -> [PropertyUses.Use] {
        PropertyUses(of: expression, aliases: aliases, named: named).all.compactMap { use in
            guard use.path.hasPrefix(prefix) else { return nil }
            return PropertyUses.Use(path: String(use.path.dropFirst(prefix.count)), range: use.range)
        }
    }
}

/// Checks a filter against the expressions that the model allows of a property (Capabilities vocabulary,
/// `FilterExpressionRestrictions`): conjunctions, one value, several values, or one range.
struct FilterExpressionCheck {
    let source: String
    /// By the property's path: `SingleValue`, `MultiValue` or `SingleRange`.
    let allowed: [String: String]
    /// The set's properties that an expression uses.
    let uses: (Expression) -> [PropertyUses.Use]

    func check(_ filter: Expression) throws(QueryProblem) {
        guard !allowed.isEmpty else { return }
        let parts = Self.parts(filter, of: .and)
        for (name, kind) in allowed.sorted(by: { $0.key < $1.key }) {
            let own = parts.filter { looks(at: name, $0) }
            guard let first = own.first, !isAllowed(own, name, kind) else { continue }
            throw QueryProblem("\(source) is filtered by \(name) with \(Self.words(kind)) only.", at: first.range)
        }
    }

    private static func words(_ kind: String) -> String {
        switch kind {
        case "SingleValue": "one value"
        case "MultiValue": "values"
        default: "one range"
        }
    }

    private func isAllowed(_ parts: [Expression], _ name: String, _ kind: String) -> Bool {
        switch kind {
        case "SingleValue": parts.count == 1 && comparison(parts[0], name) == .equal
        case "MultiValue": parts.count == 1 && Self.parts(parts[0], of: .or).allSatisfy { isValues($0, name) }
        case "SingleRange":
            {
                let comparisons = parts.map { comparison($0, name) }
                if comparisons == [.equal] { return true }
                return !comparisons.contains(nil) && !comparisons.contains(.equal)
                    && Set(comparisons).count == comparisons.count
            }()
        default: true
        }
    }

    private enum Side { case equal, above, below }

    /// The comparison of the property with something else; nil where the part does anything else.
    private func comparison(_ part: Expression, _ name: String) -> Side? {
        guard case .binary(let operation, let left, let right) = part.form else { return nil }
        let isLeft = isProperty(left, name)
        guard isLeft ? !looks(at: name, right) : isProperty(right, name) && !looks(at: name, left) else { return nil }
        switch operation {
        case .equal: return .equal
        case .greater, .greaterOrEqual: return isLeft ? .above : .below
        case .less, .lessOrEqual: return isLeft ? .below : .above
        default: return nil
        }
    }

    private func isValues(_ part: Expression, _ name: String) -> Bool {
        if case .binary(.isIn, let left, let right) = part.form {
            return isProperty(left, name) && !looks(at: name, right)
        }
        return comparison(part, name) == .equal
    }

    private func isProperty(_ expression: Expression, _ name: String) -> Bool {
        guard case .path = expression.form else { return false }
        return uses(expression).contains { $0.path == name }
    }

    private func looks(at name: String, _ expression: Expression) -> Bool {
        uses(expression).contains { $0.isOf(name) }
    }

    private static func parts(_ expression: Expression, of connective: BinaryOperator) -> [Expression] {
        guard case .binary(connective, let left, let right) = expression.form else { return [expression] }
        return parts(left, of: connective) + parts(right, of: connective)
    }
}

/// Finds the properties that an expression uses, by their paths.
struct PropertyUses {
    struct Use {
        /// `ResourcePath/City`
        let path: String
        let range: SourceRange

        /// Whether it is the property of that path or inside of it.
        func isOf(_ property: String) -> Bool { path == property || path.hasPrefix("\(property)/") }
    }

    private(set) var all: [Use] = []
    private var aliases: [String: Expression]
    private var named: [String: Expression]

    /// `named`: what names stand for that are no properties.
    init(of expression: Expression, aliases: [String: Expression], named: [String: Expression]) {
        self.aliases = aliases
        self.named = named
        add(expression, variables: [])
    }

    private mutating func add(_ expression: Expression, variables: Set<String>) {
        switch expression.form {
        case .literal: return
        case .path(let path), .isDefined(let path): add(path, variables)
        case .list(let items), .array(let items), .call(_, let items):
            for item in items { add(item, variables: variables) }
        case .object(let members): for member in members { add(member.value, variables: variables) }
        case .choice(let branches):
            for branch in branches {
                add(branch.condition, variables: variables)
                add(branch.value, variables: variables)
            }
        case .cast(let inner, _), .isOf(let inner, _): if let inner { add(inner, variables: variables) }
        case .not(let inner), .negated(let inner): add(inner, variables: variables)
        case .binary(_, let left, let right):
            add(left, variables: variables)
            add(right, variables: variables)
        }
    }

    private mutating func add(_ path: MemberPath, _ variables: Set<String>) {
        if case .alias(let name) = path.start, let value = aliases.removeValue(forKey: name) {
            add(value, variables: variables)
        }
        var names: [String] = []
        for segment in path.segments {
            switch segment.form {
            case .name(let name) where name.namespace == nil: names.append(name.name)
            case .any(let lambda?), .all(let lambda):
                add(lambda.condition, variables: variables.union([lambda.variable]))
            default: continue
            }
        }
        guard let first = names.first, Self.isHere(path.start), !variables.contains(first) else { return }
        if let value = named.removeValue(forKey: first) { return add(value, variables: []) }
        all.append(Use(path: names.joined(separator: "/"), range: path.range))
    }

    private static func isHere(_ start: MemberPath.Start) -> Bool {
        switch start {
        case .current, .it, .this: true
        case .these, .root, .alias: false
        }
    }
}
