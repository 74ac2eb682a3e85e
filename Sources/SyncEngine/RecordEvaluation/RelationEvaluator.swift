import AdapterKit
import RecordStorage

/// Evaluates a ``Relation`` on records in memory: the reference that stores are compared with, and what a store in memory
/// answers with.
///
/// Every source is read whole and joins compare each row with each. Regular expressions and geography are not evaluated:
/// they throw `adapter.unavailable`. Decimals are computed with 38 significant digits.
public struct RelationEvaluator {
    /// An entity's declaration and those of its records that may be seen, in the order in which they are read.
    public typealias Source = (EntityName) throws -> (entity: Entity, records: [Record])

    /// Rows of one recursion at most.
    private static let recursionLimit = 10_000

    private let source: Source

    /// An evaluator of the records that `source` gives.
    public init(_ source: @escaping Source) {
        self.source = source
    }

    /// The relation's rows. Throws `request.invalid` for an expression that names a source that is not there, and
    /// `request.limitExceeded` for a recursion without end.
    public func rows(_ relation: Relation) throws -> [[WireValue]] {
        try rows(relation, in: RowScope())
    }

    func rows(_ relation: Relation, in outer: RowScope) throws -> [[WireValue]] {
        var scopes = try self.scopes(relation.source, in: outer)
        for join in relation.joins { scopes = try scopes.flatMap { try joined($0, join) } }
        if let condition = relation.condition {
            scopes = try scopes.filter { try RowUnit($0).isTrue(condition, self) }
        }
        var units = try grouped(scopes, relation, outer)
        if let condition = relation.groupCondition { units = try units.filter { try $0.isTrue(condition, self) } }
        for position in units.indices { units[position].index = position }
        for position in units.indices { units[position].all = units.map(\.rows) }
        if case .after(let values) = relation.start {
            guard values.count == relation.order.count else {
                throw PorticoError(.cursorInvalid, "The cursor belongs to another query.", target: "cursor")
            }
            units = try units.filter { Self.precedes(values, try keys($0, relation.order), relation.order) }
        }
        units = try sorted(units, relation.order)
        if let window = relation.window { units = try windowed(units, window) }
        var rows = try units.map { unit in try relation.columns.map { try unit.value($0, self) } }
        if relation.isDistinct { rows = Self.distinct(rows) }
        if case .offset(let count) = relation.start { rows = Array(rows.dropFirst(max(0, count))) }
        return relation.limit.map { Array(rows.prefix(max(0, $0))) } ?? rows
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

// Sources and joins.
extension RelationEvaluator {
    private func scopes(_ source: RelationSource, in outer: RowScope) throws -> [RowScope] {
        switch source {
        case .one: return [outer]
        case .records(let name, let alias):
            let (entity, records) = try self.source(name)
            return records.map { outer.adding(alias, .record($0, entity)) }
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

    static var unknown: PorticoError {
        PorticoError(.requestInvalid, "An expression names a source that is not there.")
    }
}
