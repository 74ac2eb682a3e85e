import AdapterKit
import RecordStorage

/// The records that relations and queries are evaluated on: those of one adapter, as far as they may be seen.
public protocol EvaluatedRecords {
    /// Throws for an entity that is not there, or not for the caller.
    func entity(_ name: EntityName) throws(PorticoError) -> Entity
    /// The records in the order in which they are read.
    func records(of entity: EntityName) throws -> [Record]
    /// The record with that id; nil where there is none.
    func record(_ id: RecordID, of entity: EntityName) throws -> Record?
}

/// Evaluates a ``Relation``, and a ``Query`` or ``Filter`` as the relation that it is short for (``QueryLowering``), on
/// records in memory: the reference that stores are compared with, and what a store in memory answers with.
///
/// Every source is read whole and joins compare each row with each. Regular expressions and geography are not evaluated:
/// they throw `adapter.unavailable`. Decimals are computed with 38 significant digits.
public struct RelationEvaluator {
    /// Rows of one recursion at most.
    private static let recursionLimit = 10_000

    private let source: any EvaluatedRecords
    /// Whether a null is as good as false in all that is evaluated. It is in a filter, whose negations ask whether a
    /// condition is true.
    private var nullIsFalse = false

    /// An evaluator of these records.
    public init(_ source: any EvaluatedRecords) {
        self.source = source
    }

    /// The relation's rows. Throws `request.invalid` for an expression that names a source that is not there, and
    /// `request.limitExceeded` for a recursion without end.
    public func rows(_ relation: Relation) throws -> [[WireValue]] {
        try rows(relation, in: RowScope())
    }

    func rows(_ relation: Relation, in outer: RowScope) throws -> [[WireValue]] {
        let units = try units(relation, in: outer)
        var rows = try units.map { unit in try relation.columns.map { try unit.value($0, self) } }
        if relation.isDistinct { rows = Self.distinct(rows) }
        return Self.part(rows, of: relation)
    }

    /// The rows in their order, before the part that the relation begins and ends with is taken.
    private func units(_ relation: Relation, in outer: RowScope) throws -> [RowUnit] {
        var scopes = try self.scopes(relation.source, in: outer)
        for join in relation.joins { scopes = try scopes.flatMap { try joined($0, join) } }
        if let condition = relation.condition {
            scopes = try scopes.filter { try RowUnit($0).isTrue(condition, self) }
        }
        var units = try grouped(scopes, relation, outer)
        if let condition = relation.groupCondition { units = try units.filter { try $0.isTrue(condition, self) } }
        let all = units.map(\.rows)
        for position in units.indices { (units[position].index, units[position].all) = (position, all) }
        if case .after(let values) = relation.start {
            guard values.count == relation.order.count else {
                throw PorticoError(.cursorInvalid, "The cursor belongs to another query.", target: "cursor")
            }
            units = try units.filter { Self.precedes(values, try keys($0, relation.order), relation.order) }
        }
        units = try sorted(units, relation.order)
        return try relation.window.map { try windowed(units, $0) } ?? units
    }

    private static func part<Row>(_ rows: [Row], of relation: Relation) -> [Row] {
        var rows = rows[...]
        if case .offset(let count) = relation.start { rows = rows.dropFirst(max(0, count)) }
        return Array(relation.limit.map { rows.prefix(max(0, $0)) } ?? rows)
    }

    private static func distinct(_ rows: [[WireValue]]) -> [[WireValue]] {
        rows.reduce(into: []) { kept, row in if !kept.contains(where: { isSame($0, row) }) { kept.append(row) } }
    }

    static func isSame(_ left: [WireValue], _ right: [WireValue]) -> Bool {
        zip(left, right).allSatisfy { isSame($0, $1) }
    }

    /// Null equals null; numbers of different kinds may be equal.
    static func isSame(_ left: WireValue, _ right: WireValue) -> Bool {
        left == right || ValueOrder.compare(left, right) == 0
    }
}

// Queries and filters.
extension RelationEvaluator {
    /// The page of the entity's records that the query asks for. Throws as ``QueryLowering`` does.
    public func page(_ query: Query, of entity: Entity) throws -> RecordPage {
        let relation = try QueryLowering.relation(query, of: entity, source.entity)
        let found = Self.part(try units(relation, in: RowScope()), of: relation)
        let page = found.prefix(query.limit)
        let last = found.count > query.limit ? page.last : nil
        return RecordPage(
            records: try page.compactMap { try $0.scope.record(0) },
            next: try last.map { last in Cursor(values: try relation.columns.map { try last.value($0, self) }) },
            total: query.countsAll ? try count(query.filter, of: entity) : nil)
    }

    /// The number of the entity's records for which the filter holds.
    public func count(_ filter: Filter?, of entity: Entity) throws -> Int {
        let condition = try filter.map { try QueryLowering.condition($0, of: entity, source.entity) }
        let number = RowExpression.aggregate(.count, nil, isDistinct: false)
        let rows = try rows(Relation(.records(entity.name, as: 0), where: condition, columns: [number]))
        return rows.first?.first?.int64Value.map { Int($0) } ?? 0
    }

    /// The records, of those given, for which the filter holds. They are the entity's.
    public func matching(_ filter: Filter?, _ records: [Record], of entity: Entity) throws -> [Record] {
        guard let filter else { return records }
        let condition = try QueryLowering.condition(filter, of: entity, source.entity)
        var evaluator = self
        evaluator.nullIsFalse = true
        return try records.filter { record in
            try RowUnit(RowScope().adding(0, .record(record, entity))).isTrue(condition, evaluator)
        }
    }

    /// Whether the relation has a row with that value, where its only column is its records' key: the record is looked up
    /// then, and no other is read. Nil for any other relation.
    func finds(_ key: WireValue, in relation: Relation, _ outer: RowScope) throws -> Bool? {
        guard case .records(let name, let alias) = relation.source, relation.isOfRows else { return nil }
        if nullIsFalse, key.isNull { return false }
        guard let id = RecordID(key: key) else { return nil }
        let entity = try source.entity(name)
        guard relation.columns == [.field(alias, entity.key.field)] else { return nil }
        guard let record = try source.record(id, of: name), Self.isSame(record[entity.key.field], key) else {
            return false
        }
        guard let condition = relation.condition else { return true }
        return try RowUnit(outer.adding(alias, .record(record, entity))).isTrue(condition, self)
    }
}

extension Relation {
    /// Whether its rows are all of its source's for which the condition is true.
    fileprivate var isOfRows: Bool {
        joins.isEmpty && groups == nil && groupCondition == nil && window == nil && start == .first && limit == nil
    }
}

// Sources and joins.
extension RelationEvaluator {
    private func scopes(_ source: RelationSource, in outer: RowScope) throws -> [RowScope] {
        switch source {
        case .one: return [outer]
        case .records(let name, let alias):
            let entity = try self.source.entity(name)
            return try self.source.records(of: name).map { outer.adding(alias, .record($0, entity)) }
        case .rows(let relation, let alias):
            return try rows(relation, in: outer).map { outer.adding(alias, .columns($0)) }
        case .union(let relations, let alias):
            return try relations.flatMap { try rows($0, in: outer) }.map { outer.adding(alias, .columns($0)) }
        case .elements(let list, let alias):
            let value = try RowUnit(outer).value(list, self)
            return (value.arrayValue ?? []).map { outer.adding(alias, .element($0)) }
        case .recursion(let recursion, let alias):
            return try rows(recursion, in: outer).map { outer.adding(alias, .columns($0)) }
        case .found(let alias):
            guard let found = outer.found else { throw RowScope.unknown }
            return [outer.adding(alias, .columns(found))]
        }
    }

    private func joined(_ scope: RowScope, _ join: Join) throws -> [RowScope] {
        let matching = try scopes(join.source, in: scope).filter { try RowUnit($0).isTrue(join.condition, self) }
        guard matching.isEmpty, join.kind == .left else { return matching }
        return [join.source.alias.map { scope.adding($0, .absent) } ?? scope]
    }

    private func rows(_ recursion: Recursion, in outer: RowScope) throws -> [[WireValue]] {
        var pending = try rows(recursion.start, in: outer)
        var found: [[WireValue]] = []
        while !pending.isEmpty {
            let next = pending.remove(at: Self.first(of: pending, recursion.order))
            if recursion.order.isEmpty, found.contains(where: { Self.isSame($0, next) }) { continue }
            found.append(next)
            guard found.count <= Self.recursionLimit else {
                throw PorticoError(.requestLimitExceeded, "A recursion finds too many rows.")
            }
            pending += try rows(recursion.step, in: outer.following(next))
        }
        guard !recursion.order.isEmpty else { return found }
        return found.enumerated().map { $1 + [.int64(Int64($0 + 1))] }
    }

    /// The position of the pending row that is followed next.
    private static func first(of pending: [[WireValue]], _ order: [Recursion.Criterion]) -> Int {
        pending.indices.reduce(0) { best, next in
            for criterion in order {
                let result = ValueOrder.withNull(pending[next][criterion.column], pending[best][criterion.column])
                if result != 0 { return (criterion.isDescending ? result > 0 : result < 0) ? next : best }
            }
            return best
        }
    }
}

extension RelationSource {
    fileprivate var alias: SourceName? {
        switch self {
        case .records(_, let name), .rows(_, let name), .union(_, let name), .elements(_, let name),
            .recursion(_, let name), .found(let name):
            name
        case .one: nil
        }
    }
}

// Groups, order and windows.
extension RelationEvaluator {
    private func grouped(_ scopes: [RowScope], _ relation: Relation, _ outer: RowScope) throws -> [RowUnit] {
        if let keys = relation.groups, !keys.isEmpty {
            var groups: [(key: [WireValue], rows: [RowScope])] = []
            for scope in scopes {
                let key = try keys.map { try RowUnit(scope).value($0, self) }
                if let position = groups.firstIndex(where: { Self.isSame($0.key, key) }) {
                    groups[position].rows.append(scope)
                } else {
                    groups.append((key, [scope]))
                }
            }
            return groups.map { RowUnit($0.rows[0], of: $0.rows) }
        }
        guard relation.columns.contains(where: \.aggregates) else { return scopes.map { RowUnit($0) } }
        return [RowUnit(scopes.first ?? outer, of: scopes)]
    }

    private func keys(_ unit: RowUnit, _ order: [RowOrder]) throws -> [WireValue] {
        try order.map { try unit.value($0.expression, self) }
    }

    func sorted(_ units: [RowUnit], _ order: [RowOrder]) throws -> [RowUnit] {
        guard !order.isEmpty else { return units }
        let keyed = try units.map { (unit: $0, keys: try keys($0, order)) }
        return keyed.sorted { Self.precedes($0.keys, $1.keys, order) }.map(\.unit)
    }

    private static func precedes(_ left: [WireValue], _ right: [WireValue], _ order: [RowOrder]) -> Bool {
        for (position, criterion) in order.enumerated() {
            let result = ValueOrder.withNull(left[position], right[position])
            if result != 0 { return criterion.isDescending ? result > 0 : result < 0 }
        }
        return false
    }

    private func windowed(_ units: [RowUnit], _ window: RowWindow) throws -> [RowUnit] {
        let order = window.groups.map { RowOrder($0) }
        var counts: [(key: [WireValue], count: Int)] = []
        let kept = try units.filter { unit in
            let key = try keys(unit, order)
            let position = counts.firstIndex { Self.isSame($0.key, key) } ?? counts.endIndex
            if position == counts.endIndex { counts.append((key, 0)) }
            counts[position].count += 1
            let number = counts[position].count - window.skip
            return number > 0 && number <= window.limit ?? .max
        }
        return try sorted(kept, order)
    }
}

extension RowExpression {
    /// Whether an aggregate of the relation's own rows is in it.
    fileprivate var aggregates: Bool {
        switch self {
        case .aggregate: true
        case .compare(_, let left, let right), .same(let left, let right), .arithmetic(_, let left, let right):
            left.aggregates || right.aggregates
        case .member(let inner, _, _), .isNull(let inner), .isTrue(let inner), .not(let inner), .oneOf(let inner, _),
            .among(let inner, _):
            inner.aggregates
        case .all(let parts), .any(let parts), .call(_, let parts): parts.contains(where: \.aggregates)
        case .choose(let branches, let otherwise):
            otherwise.aggregates || branches.contains { $0.condition.aggregates || $0.value.aggregates }
        default: false
        }
    }
}

/// The current rows of the sources that an expression may name.
struct RowScope {
    enum Row {
        case record(Record, Entity)
        case columns([WireValue])
        case element(WireValue)
        /// In place of a row that a left join did not find.
        case absent
    }

    private var rows: [SourceName: Row] = [:]
    /// The row that the recursion around it goes on from.
    private(set) var found: [WireValue]?

    func adding(_ name: SourceName, _ row: Row) -> RowScope {
        var scope = self
        scope.rows[name] = row
        return scope
    }

    func following(_ row: [WireValue]) -> RowScope {
        var scope = self
        scope.found = row
        return scope
    }

    func row(_ name: SourceName) throws(PorticoError) -> Row {
        guard let row = rows[name] else { throw Self.unknown }
        return row
    }

    /// Nil where the source is none of records.
    func record(_ name: SourceName) throws(PorticoError) -> Record? {
        if case .record(let record, _) = try row(name) { record } else { nil }
    }

    static var unknown: PorticoError {
        PorticoError(.requestInvalid, "An expression names a source that is not there.")
    }
}
