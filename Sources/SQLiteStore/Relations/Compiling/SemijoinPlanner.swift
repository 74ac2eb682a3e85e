import AdapterKit
import RecordStorage

/// Chooses how a condition on related records is evaluated: for each row of the outer table, or once for all of them.
///
/// `EXISTS` and a related record's value search the related table for each outer row. `IN` searches it once, and an index
/// of the outer table leads from what was found to the outer rows. SQLite does not turn one into the other, so the choice
/// is made here, by the tables' statistics: whichever reads fewer rows. Both forms select the same rows.
struct SemijoinPlanner {
    let catalogue: LayoutCatalogue
    let adapter: AdapterName

    /// Conditions within conditions deeper than this stay as they are: each level is planned twice.
    private static let maximumDepth = 6
    /// Rows of a source of which nothing is known.
    private static let unknownRows = 1_000.0
    /// The share of rows that a comparison without an index is taken to leave.
    private static let comparedShare = 0.25

    private struct Plan {
        var relation: Relation
        /// Rows that are read.
        var scanned: Double
        /// Rows that are found.
        var found: Double
    }

    func planned(_ relation: Relation) -> Relation { plan(relation, depth: 0).relation }

    private func plan(_ relation: Relation, depth: Int) -> Plan {
        var relation = relation
        var sourceRows: Double?
        switch relation.source {
        case .rows(let inner, let name) where depth < Self.maximumDepth:
            let nested = plan(inner, depth: depth + 1)
            relation.source = .rows(nested.relation, as: name)
            sourceRows = nested.found
        case .union(let parts, let name) where depth < Self.maximumDepth:
            relation.source = .union(parts.map { plan($0, depth: depth + 1).relation }, as: name)
        default: break
        }
        var conjuncts = relation.condition?.conjuncts ?? []
        let access = TableAccess(relation, catalogue, adapter)
        var rows = access.rows(where: conjuncts) ?? sourceRows ?? Self.unknownRows
        if depth < Self.maximumDepth {
            for position in conjuncts.indices {
                let outer = Outer(access: access, rows: rows, relation: relation, depth: depth)
                guard let choice = semijoin(conjuncts[position], outer) else { continue }
                conjuncts[position] = choice.expression
                rows = min(rows, choice.rows ?? rows)
            }
            if relation.condition != nil { relation.condition = .all(conjuncts) }
        }
        let compared = conjuncts.count { !access.isEquality($0) && !$0.isAmong }
        var share = 1.0
        for _ in 0..<min(compared, 8) { share *= Self.comparedShare }
        return Plan(relation: relation, scanned: max(rows, 1), found: max(rows * share, 1))
    }

    /// The relation whose condition is looked at.
    private struct Outer {
        let access: TableAccess
        /// Rows that its other conditions leave.
        let rows: Double
        let relation: Relation
        let depth: Int

        /// Rows that are looked at until its limit is reached, where of all rows `matching` are found.
        func rows(until matching: Double) -> Double {
            guard let limit = relation.limit, relation.groups == nil, relation.window == nil,
                relation.columns.allSatisfy({ !$0.isAggregate }), let all = access.tableRows,
                relation.order.first.map({ access.isIndexed($0.expression) }) ?? true
            else { return rows }
            var wanted = Double(limit)
            if case .offset(let skipped) = relation.start { wanted += Double(skipped) }
            return min(rows, wanted * all / max(min(matching, all), 1))
        }
    }

    private struct Choice {
        var expression: RowExpression
        /// Rows of the outer relation to which it leads; nil: it does not lead to them.
        var rows: Double?
    }

    /// Nil where the expression is no condition on related records.
    private func semijoin(_ expression: RowExpression, _ outer: Outer) -> Choice? {
        switch expression {
        case .isTrue(let inner): return semijoin(inner, outer)
        case .any(let parts): return alternatives(parts, outer)
        case .exists(let relation): return choice(relation, insteadOf: nil, outer)
        case .not(.exists(let relation)), .not(.isTrue(.exists(let relation))): return exclusion(relation, outer)
        default:
            guard let relation = existence(expression) else { return nil }
            return choice(relation, insteadOf: expression, outer)
        }
    }

    private func alternatives(_ parts: [RowExpression], _ outer: Outer) -> Choice? {
        var result: [RowExpression] = []
        var rows: Double? = 0
        var isChanged = false
        for part in parts {
            var conjuncts = part.conjuncts
            var leading: Double?
            for position in conjuncts.indices {
                guard let choice = semijoin(conjuncts[position], outer) else { continue }
                conjuncts[position] = choice.expression
                leading = choice.rows ?? leading
                isChanged = true
            }
            rows = rows.flatMap { sum in leading.map { sum + $0 } }
            result.append(conjuncts.count == 1 ? conjuncts[0] : .all(conjuncts))
        }
        return isChanged ? Choice(expression: .any(result), rows: rows) : nil
    }

    /// `original`: what says the same in another way, and stays where it costs less.
    private func choice(_ relation: Relation, insteadOf original: RowExpression?, _ outer: Outer) -> Choice? {
        let each = plan(relation, depth: outer.depth + 1)
        let stays = Choice(expression: original ?? .exists(each.relation), rows: nil)
        guard let link = Correlation(relation, in: outer.access) else { return stays }
        let once = plan(link.relation, depth: outer.depth + 1)
        let matching = once.found * outer.access.rows(of: link.near)
        guard once.scanned < outer.rows(until: matching) * (1 + each.scanned) else { return stays }
        return Choice(expression: .among(link.near, once.relation), rows: matching)
    }

    /// Never null, whatever is null in the rows: `EXISTS` is never either.
    private func exclusion(_ relation: Relation, _ outer: Outer) -> Choice? {
        let each = plan(relation, depth: outer.depth + 1)
        let stays = Choice(expression: .not(.exists(each.relation)), rows: nil)
        guard let link = Correlation(relation, in: outer.access) else { return stays }
        let once = plan(link.relation, depth: outer.depth + 1)
        // Of most rows there is nothing to be found, so a limit is soon reached.
        guard once.scanned < outer.rows(until: outer.rows) * each.scanned else { return stays }
        return Choice(expression: .not(.isTrue(.among(link.near, once.relation))), rows: nil)
    }

    /// A comparison of one related record's value, as the question whether there is a record that fulfils it. Nil where
    /// it might be true without such a record, or where there may be several.
    private func existence(_ expression: RowExpression) -> Relation? {
        var found: Relation?
        let replaced: RowExpression
        switch expression {
        case .compare(let comparison, let operand, .value(let value)):
            guard let inner = replacing(operand, &found) else { return nil }
            replaced = .compare(comparison, inner, .value(value))
        case .same(let operand, .value(let value)) where !value.isNull:
            guard let inner = replacing(operand, &found) else { return nil }
            replaced = .compare(.equal, inner, .value(value))
        case .call, .first:
            guard let inner = replacing(expression, &found) else { return nil }
            replaced = inner
        default: return nil
        }
        guard var relation = found, isOfOneRecord(relation) else { return nil }
        relation.condition = .all((relation.condition?.conjuncts ?? []) + [replaced])
        relation.columns = [.value(1)]
        relation.limit = nil
        return relation
    }

    /// The expression with the only related value in it replaced by that value's own expression. Of functions only those
    /// of values beside it, which are null where it is null.
    private func replacing(_ expression: RowExpression, _ found: inout Relation?) -> RowExpression? {
        switch expression {
        case .first(let relation):
            guard relation.columns.count == 1, relation.groups == nil, !relation.columns[0].isAggregate else {
                return nil
            }
            found = relation
            return relation.columns[0]
        case .call(let function, let arguments):
            guard let first = arguments.first, arguments.dropFirst().allSatisfy(\.isLiteral),
                let inner = replacing(first, &found)
            else { return nil }
            return .call(function, [inner] + arguments.dropFirst())
        default: return nil
        }
    }

    /// Whether the condition names the record by its key.
    private func isOfOneRecord(_ relation: Relation) -> Bool {
        guard case .records(let entity, let name) = relation.source, relation.joins.isEmpty, relation.start == .first,
            let layout = try? catalogue.layout(CollectionID(adapter, entity))
        else { return false }
        let key = RowExpression.field(name, layout.entity.key.field)
        return relation.condition?.conjuncts.contains { conjunct in
            guard case .compare(.equal, let left, let right) = conjunct else { return false }
            return (left == key && !right.references.names.contains(name))
                || (right == key && !left.references.names.contains(name))
        } ?? false
    }
}

/// The one equality by which a relation belongs to a row around it.
private struct Correlation {
    /// The outer row's field.
    let near: RowExpression
    /// The relation without the equality, with the inner field as its only column.
    let relation: Relation

    /// Nil where the relation looks at the outer row in another way too, or is more than its rows.
    init?(_ relation: Relation, in access: TableAccess) {
        guard relation.groups == nil, relation.groupCondition == nil, relation.window == nil,
            relation.start == .first, relation.limit != 0, relation.columns.allSatisfy({ !$0.isAggregate })
        else { return nil }
        let own = TableAccess(relation, access.catalogue, access.adapter)
        var rest: [RowExpression] = []
        var pair: (near: RowExpression, far: RowExpression)?
        for conjunct in relation.condition?.conjuncts ?? [] {
            if pair == nil, let found = Self.pair(conjunct, own, access) { pair = found } else { rest.append(conjunct) }
        }
        guard let pair else { return nil }
        var inner = relation
        inner.condition = rest.isEmpty ? nil : .all(rest)
        inner.columns = [pair.far]
        inner.order = []
        inner.limit = nil
        guard inner.references.isClosed else { return nil }
        near = pair.near
        self.relation = inner
    }

    private static func pair(
        _ conjunct: RowExpression, _ own: TableAccess, _ outer: TableAccess
    ) -> (near: RowExpression, far: RowExpression)? {
        guard case .compare(.equal, let left, let right) = conjunct else { return nil }
        for (far, near) in [(left, right), (right, left)] {
            // Of one kind, so that neither is converted and their indexes serve.
            if let inner = own.kind(of: far), let around = outer.kind(of: near), inner == around { return (near, far) }
        }
        return nil
    }
}

/// The tables that a relation reads directly, and how many rows its conditions leave of them.
private struct TableAccess {
    let catalogue: LayoutCatalogue
    let adapter: AdapterName
    private var layouts: [SourceName: CollectionLayout] = [:]
    /// Those that may come first: an outer join's table never does.
    private var leading: [SourceName] = []

    init(_ relation: Relation, _ catalogue: LayoutCatalogue, _ adapter: AdapterName) {
        self.catalogue = catalogue
        self.adapter = adapter
        add(relation.source, leads: true)
        for join in relation.joins { add(join.source, leads: join.kind == .inner) }
    }

    private mutating func add(_ source: RelationSource, leads: Bool) {
        guard case .records(let entity, let name) = source,
            let layout = try? catalogue.layout(CollectionID(adapter, entity))
        else { return }
        layouts[name] = layout
        if leads { leading.append(name) }
    }

    /// Of the first table.
    var tableRows: Double? { leading.first.flatMap { layouts[$0] }?.estimates.rows }

    /// The rows of the table that the conditions narrow most; nil where there is none.
    func rows(where conjuncts: [RowExpression]) -> Double? {
        leading.compactMap { name in layouts[name].map { rows(of: name, $0, conjuncts) } }.min()
    }

    private func rows(of name: SourceName, _ layout: CollectionLayout, _ conjuncts: [RowExpression]) -> Double {
        var equal: [FieldName: Double] = [:]
        var compared: [FieldName: Int] = [:]
        for conjunct in conjuncts {
            switch conjunct {
            case .compare(let comparison, let left, let right):
                for (field, other) in [(left, right), (right, left)] {
                    guard case .field(name, let field) = field, !other.references.names.contains(name) else { continue }
                    if comparison == .equal { equal[field] = 1 } else { compared[field, default: 0] += 1 }
                }
            case .same(.field(name, let field), .value), .same(.value, .field(name, let field)): equal[field] = 1
            case .oneOf(.field(name, let field), let values): equal[field] = Double(values.count)
            default: continue
            }
        }
        return layout.estimates.rows(equal: equal, compared: compared, in: layout)
    }

    /// Rows of the outer table for each value of the field.
    func rows(of near: RowExpression) -> Double {
        guard case .field(let name, let field) = near, let layout = layouts[name] else { return 1 }
        return layout.estimates.rows(equal: [field: 1], compared: [:], in: layout)
    }

    func isEquality(_ conjunct: RowExpression) -> Bool {
        guard case .compare(.equal, let left, let right) = conjunct else { return false }
        return isIndexed(left) || isIndexed(right)
    }

    func isIndexed(_ expression: RowExpression) -> Bool {
        guard case .field(let name, let field) = expression, let layout = layouts[name] else { return false }
        return layout.isIndexed(field)
    }

    /// Nil for what is no single value in a field of one of these tables.
    func kind(of expression: RowExpression) -> ScalarKind? {
        guard case .field(let name, let field) = expression,
            case .scalar(let kind)? = try? layouts[name]?.column(field).kind
        else { return nil }
        return kind
    }
}

/// The sources that expressions name, and those that relations within them bring along.
struct SourceReferences {
    var names: Set<SourceName> = []
    /// Of records, by the source's name.
    var fields: [SourceName: Set<FieldName>] = [:]
    var own: Set<SourceName> = []
    /// Whether a recursion's rows are read, which belong to the recursion around it.
    var readsRecursion = false

    /// Whether nothing from outside is named.
    var isClosed: Bool { !readsRecursion && names.isSubset(of: own) }

    mutating func add(_ expressions: [RowExpression]) { for expression in expressions { add(expression) } }

    mutating func add(_ expression: RowExpression) {
        switch expression {
        case .field(let source, let name):
            names.insert(source)
            fields[source, default: []].insert(name)
        case .revision(let source), .output(let source, _), .element(let source), .found(let source, _):
            names.insert(source)
        case .value: return
        case .member(let inner, _, _), .isNull(let inner), .isTrue(let inner), .not(let inner), .oneOf(let inner, _):
            add(inner)
        case .same(let left, let right), .compare(_, let left, let right), .arithmetic(_, let left, let right):
            add([left, right])
        case .all(let parts), .any(let parts), .call(_, let parts): add(parts)
        case .choose(let branches, let otherwise):
            for branch in branches { add([branch.condition, branch.value]) }
            add(otherwise)
        case .among(let operand, let relation):
            add(operand)
            add(relation)
        case .exists(let relation), .first(let relation): add(relation)
        case .aggregate(_, let operand, _): add([operand].compactMap { $0 })
        case .sumBefore(let operand, let groups, let order): add([operand] + groups + order.map(\.expression))
        case .sumWithin(let operand, let groups): add([operand] + groups)
        }
    }

    mutating func add(_ relation: Relation) {
        add(relation.source)
        for join in relation.joins {
            add(join.source)
            add(join.condition)
        }
        add([relation.condition, relation.groupCondition].compactMap { $0 } + relation.columns)
        add((relation.groups ?? []) + (relation.window?.groups ?? []) + relation.order.map(\.expression))
    }

    private mutating func add(_ source: RelationSource) {
        switch source {
        case .records(_, let name): own.insert(name)
        case .rows(let relation, let name):
            own.insert(name)
            add(relation)
        case .union(let relations, let name):
            own.insert(name)
            for relation in relations { add(relation) }
        case .elements(let list, let name):
            own.insert(name)
            add(list)
        case .recursion(let recursion, let name):
            own.insert(name)
            add(recursion.start)
            add(recursion.step)
            readsRecursion = true
        case .found(let name):
            own.insert(name)
            readsRecursion = true
        case .one: return
        }
    }
}

extension Relation {
    var references: SourceReferences {
        var references = SourceReferences()
        references.add(self)
        return references
    }
}

extension RowExpression {
    fileprivate var references: SourceReferences {
        var references = SourceReferences()
        references.add(self)
        return references
    }

    /// The parts all of which must be true.
    fileprivate var conjuncts: [RowExpression] {
        if case .all(let parts) = self { parts.flatMap(\.conjuncts) } else { [self] }
    }

    fileprivate var isLiteral: Bool { if case .value = self { true } else { false } }

    fileprivate var isAmong: Bool { if case .among = self { true } else { false } }

    fileprivate var isAggregate: Bool { if case .aggregate = self { true } else { false } }
}
