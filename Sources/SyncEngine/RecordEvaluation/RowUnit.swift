import AdapterKit
import Foundation

/// The unit that expressions are computed for: one row, or a group of rows that became one.
struct RowUnit {
    let scope: RowScope
    /// The rows of the group.
    let rows: [RowScope]
    /// Its place among all units, before they are ordered.
    var index = 0
    /// The rows of all units, for sums over a window.
    var all: [[RowScope]] = []

    init(_ scope: RowScope, of rows: [RowScope]? = nil) {
        self.scope = scope
        self.rows = rows ?? [scope]
    }

    func isTrue(_ condition: RowExpression, _ evaluator: RelationEvaluator) throws -> Bool {
        try value(condition, evaluator) == .bool(true)
    }

    func value(_ expression: RowExpression, _ evaluator: RelationEvaluator) throws -> WireValue {
        let value = { (inner: RowExpression) in try self.value(inner, evaluator) }
        switch expression {
        case .field(let source, let name):
            switch try scope.row(source) {
            case .record(let record, let entity):
                guard entity.field(name) != nil else { throw RowScope.unknown }
                return record[name]
            default: return .null
            }
        case .revision(let source):
            if case .record(let record, _) = try scope.row(source) { return .int64(record.revision.number) }
            return .null
        case .output(let source, let column):
            guard case .columns(let values) = try scope.row(source) else { return .null }
            guard values.indices.contains(column) else { throw RowScope.unknown }
            return values[column]
        case .element(let source):
            if case .element(let element) = try scope.row(source) { return element }
            return .null
        case .value(let value): return value
        case .member(let whole, let steps, let type):
            return steps.reduce(try value(whole)) { $0.member(at: $1) ?? .null }.fitted(to: type)
        case .arithmetic(let operation, let left, let right):
            return try operation.result(try value(left), try value(right))
        case .call(let function, let arguments): return try function.result(arguments.map(value))
        case .choose(let branches, let otherwise):
            return try value(branches.first { try isTrue($0.condition, evaluator) }?.value ?? otherwise)
        case .aggregate(let aggregate, let operand, let isDistinct):
            guard let operand else { return .int64(Int64(rows.count)) }
            let values = try rows.map { try RowUnit($0).value(operand, evaluator) }.filter { !$0.isNull }
            return try aggregate.result(isDistinct ? values.distinct : values)
        case .sumWithin(let operand, let groups):
            return try sum(operand, over: try window(groups, evaluator), evaluator)
        case .sumBefore(let operand, let groups, let order):
            let before = try evaluator.sorted(try window(groups, evaluator), order).prefix { $0.index != index }
            return try sum(operand, over: Array(before), evaluator)
        case .first(let relation): return try evaluator.rows(relation, in: scope).first?.first ?? .null
        default: return try truth(expression, evaluator).map { .bool($0) } ?? .null
        }
    }

    /// True, false or neither.
    private func truth(_ expression: RowExpression, _ evaluator: RelationEvaluator) throws -> Bool? {
        let value = { (inner: RowExpression) in try self.value(inner, evaluator) }
        switch expression {
        case .isNull(let inner): return try value(inner).isNull
        case .isTrue(let inner): return try isTrue(inner, evaluator)
        case .not(let inner): return try value(inner).boolValue.map { !$0 }
        case .all(let parts):
            let values = try parts.map { try value($0).boolValue }
            return values.contains(false) ? false : values.contains(nil) ? nil : true
        case .any(let parts):
            let values = try parts.map { try value($0).boolValue }
            return values.contains(true) ? true : values.contains(nil) ? nil : false
        case .same(let left, let right): return RelationEvaluator.isSame(try value(left), try value(right))
        case .compare(let comparison, let left, let right):
            return try compare(comparison, try value(left), try value(right))
        case .oneOf(let operand, let values):
            return try Self.isAmong(try value(operand), values.filter { !$0.isNull })
        case .among(let operand, let relation):
            let value = try value(operand)
            if let isFound = try evaluator.finds(value, in: relation, scope) { return isFound }
            return try Self.isAmong(value, evaluator.rows(relation, in: scope).map { $0[0] })
        case .exists(let relation): return try !evaluator.rows(relation, in: scope).isEmpty
        case .found(let source, let search):
            guard case .record(let record, let entity) = try scope.row(source) else { return nil }
            guard !entity.searchFields.isEmpty else {
                throw PorticoError(.searchUnavailable, "\(entity.name) has no full-text search.", target: "search")
            }
            return search.finds(record, in: entity)
        default: throw PorticoError(.requestInvalid, "A condition is true or false.")
        }
    }

    private func compare(_ comparison: Comparison, _ left: WireValue, _ right: WireValue) throws -> Bool? {
        if left.isNull || right.isNull { return nil }
        guard let order = ValueOrder.compare(left, right) else {
            throw PorticoError(.requestInvalid, "Values of different kinds meet.")
        }
        return switch comparison {
        case .equal: order == 0
        case .notEqual: order != 0
        case .less: order < 0
        case .lessOrEqual: order <= 0
        case .greater: order > 0
        case .greaterOrEqual: order >= 0
        }
    }

    /// As SQL's `IN`: neither true nor false where a null might be the one that is looked for.
    private static func isAmong(_ value: WireValue, _ values: [WireValue]) throws -> Bool? {
        if values.isEmpty { return false }
        if value.isNull { return nil }
        if values.contains(where: { !$0.isNull && RelationEvaluator.isSame(value, $0) }) { return true }
        return values.contains(where: \.isNull) ? nil : false
    }

    /// The units that agree with this one in `groups`.
    private func window(_ groups: [RowExpression], _ evaluator: RelationEvaluator) throws -> [RowUnit] {
        let own = try groups.map { try value($0, evaluator) }
        return try all.enumerated().compactMap { position, rows in
            guard let first = rows.first else { return nil }
            var unit = RowUnit(first, of: rows)
            unit.index = position
            let other = try groups.map { try unit.value($0, evaluator) }
            return RelationEvaluator.isSame(own, other) ? unit : nil
        }
    }

    private func sum(
        _ operand: RowExpression, over units: [RowUnit], _ evaluator: RelationEvaluator
    ) throws -> WireValue {
        .double(try units.reduce(0) { try $0 + ($1.value(operand, evaluator).number ?? 0) })
    }
}

extension [WireValue] {
    fileprivate var distinct: [WireValue] {
        reduce(into: []) { kept, value in
            if !kept.contains(where: { RelationEvaluator.isSame($0, value) }) { kept.append(value) }
        }
    }
}

extension WireValue {
    /// Any number as a double.
    var number: Double? {
        if case .decimal(let decimal) = self { return Double(decimal.description) }
        return doubleValue ?? int64Value.map { Double($0) }
    }

    fileprivate func member(at step: RowStep) -> WireValue? {
        switch step {
        case .member(let name): return dictionaryValue?[name]
        case .position(let position):
            guard let list = arrayValue else { return nil }
            let index = position < 0 ? list.count + position : position
            return list.indices.contains(index) ? list[index] : nil
        }
    }

    /// Null where it is of another kind; an integer is a decimal and a double too.
    fileprivate func fitted(to type: RowValueType) -> WireValue {
        switch (type, self) {
        case (.bool, .bool), (.integer, .int64), (.double, .double), (.decimal, .decimal), (.text, .string),
            (.date, .date), (.data, .data), (.tree, .array), (.tree, .dictionary):
            self
        case (.double, _): number.map { .double($0) } ?? .null
        case (.decimal, .int64), (.decimal, .uint64), (.decimal, .double): decimalValue.map { .decimal($0) } ?? .null
        default: .null
        }
    }
}

extension RowSearch {
    /// Words that follow each other in one of the search fields; a text with punctuation within is several.
    func finds(_ record: Record, in entity: Entity) -> Bool {
        switch self {
        case .all(let parts): parts.allSatisfy { $0.finds(record, in: entity) }
        case .any(let parts): parts.contains { $0.finds(record, in: entity) }
        case .not(let inner): !inner.finds(record, in: entity)
        case .word(let text), .phrase(let text): Self.finds(text, in: record, of: entity) { $0 == $1 }
        case .prefix(let text): Self.finds(text, in: record, of: entity) { $0.hasPrefix($1) }
        }
    }

    /// `endsWith`: whether a word of the record is what the text's last one asks for.
    private static func finds(
        _ text: String, in record: Record, of entity: Entity, endsWith: (String, String) -> Bool
    ) -> Bool {
        let asked = SearchTokens.of(text)
        guard let last = asked.last else { return false }
        return entity.searchFields.contains { field in
            let tokens = SearchTokens.of(record[field].stringValue ?? "")
            guard tokens.count >= asked.count else { return false }
            return (0...(tokens.count - asked.count)).contains { start in
                tokens[start...].starts(with: asked.dropLast()) && endsWith(tokens[start + asked.count - 1], last)
            }
        }
    }
}

/// The words of a text as a search sees them: runs of letters and digits, case and accents aside.
package enum SearchTokens {
    package static func of(_ text: String) -> [String] {
        text.folding(options: [.caseInsensitive, .diacriticInsensitive], locale: nil)
            .split { !$0.isLetter && !$0.isNumber }
            .map { String($0) }
    }
}
