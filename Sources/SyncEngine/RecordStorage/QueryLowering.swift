import AdapterKit

/// Turns the short forms that adapters and clients write, ``Filter`` and ``Query``, into the ``RowExpression`` and the
/// ``Relation`` that choose the same records. Stores compile and evaluate those alone.
///
/// A filter's logic has two values, an expression's three. A negation is therefore pushed down to the conditions, where
/// `not(isTrue(condition))` is true for null; everywhere else null lets no record through, as false does not.
///
/// Sizes, names and kinds are checked here, so that every store refuses the same filters with the same errors.
public struct QueryLowering {
    /// The declaration of an entity of the same adapter; throws for one that is not there.
    public typealias Declaration = (EntityName) throws(PorticoError) -> Entity

    private let declaration: Declaration
    /// The number of the next source.
    private var next: Int

    /// Lowers a filter on the records that `source` names. Those of related entities get the numbers after its own.
    ///
    /// Throws `request.limitExceeded`, `record.searchUnavailable`, and `request.invalid` with the field as the target.
    public static func condition(
        _ filter: Filter, of entity: Entity, as source: SourceName = 0, _ declaration: Declaration
    ) throws(PorticoError) -> RowExpression {
        try FilterLimits.standard.check(filter)
        return try withoutActuallyEscaping(declaration) { (declaration) throws(PorticoError) in
            var lowering = QueryLowering(declaration: declaration, next: source.number + 1)
            return try lowering.lowered(filter, Scope(entity: entity, source: source), isNegated: false)
        }
    }

    /// Lowers a query: source 0 is the entity's records, the columns are the total order's. It has one row more than the
    /// page, which shows whether there is a next one.
    ///
    /// Throws as ``condition(_:of:as:_:)`` and `Entity.totalOrder(_:)` do, and `record.cursorInvalid` for a cursor of another
    /// order.
    public static func relation(
        _ query: Query, of entity: Entity, _ declaration: Declaration
    ) throws(PorticoError) -> Relation {
        let order = try entity.totalOrder(query.order)
        let condition = try query.filter.map { (filter) throws(PorticoError) in
            try self.condition(filter, of: entity, declaration)
        }
        let criteria = order.map { RowOrder(.field(0, $0.field), descending: $0.isDescending) }
        return Relation(
            .records(entity.name, as: 0), where: condition, columns: criteria.map(\.expression), order: criteria,
            start: try start(query.start, order, entity), limit: query.limit + 1)
    }

    private static func start(
        _ start: Query.Start, _ order: [SortKey], _ entity: Entity
    ) throws(PorticoError) -> Relation.Start {
        switch start {
        case .first: return .first
        case .offset(let rows): return .offset(rows)
        case .after(let cursor):
            let fits =
                cursor.values.count == order.count && cursor.values.last?.isNull == false
                && zip(order, cursor.values).allSatisfy { key, value in
                    value.isNull || (entity.field(key.field).map { $0.shape.compares(with: value) } ?? false)
                }
            guard fits else {
                throw PorticoError(.cursorInvalid, "The cursor belongs to another query.", target: "cursor")
            }
            return .after(cursor.values)
        }
    }
}

extension QueryLowering {
    /// The records that a filter is about.
    private struct Scope {
        let entity: Entity
        let source: SourceName

        func field(_ name: FieldName) -> RowExpression { .field(source, name) }

        /// Throws `request.invalid` where the entity has no such field.
        func known(_ name: FieldName) throws(PorticoError) -> Field {
            guard let field = entity.field(name) else {
                throw PorticoError(.requestInvalid, "\(entity.name) has no field `\(name)`.", target: name.text)
            }
            return field
        }

        func single(_ name: FieldName) throws(PorticoError) -> Field {
            let field = try known(name)
            guard field.shape.isScalar else {
                throw PorticoError(.requestInvalid, "`\(name)` is no single value.", target: name.text)
            }
            return field
        }

        func checkIsText(_ name: FieldName) throws(PorticoError) {
            guard ScalarKind(try known(name).shape) == .text else {
                throw PorticoError(.requestInvalid, "`\(name)` is no text.", target: name.text)
            }
        }
    }

    private mutating func lowered(
        _ filter: Filter, _ scope: Scope, isNegated: Bool
    ) throws(PorticoError) -> RowExpression {
        switch filter {
        case .all(let parts):
            let parts = try lowered(parts, scope, isNegated: isNegated)
            return isNegated ? .any(parts) : .all(parts)
        case .any(let parts):
            let parts = try lowered(parts, scope, isNegated: isNegated)
            return isNegated ? .all(parts) : .any(parts)
        case .not(let inner): return try lowered(inner, scope, isNegated: !isNegated)
        case .compare(let field, .notEqual, let value):
            return try lowered(.compare(field, .equal, value), scope, isNegated: !isNegated)
        default:
            let condition = try condition(filter, scope)
            return isNegated ? .not(.isTrue(condition)) : condition
        }
    }

    private mutating func lowered(
        _ parts: [Filter], _ scope: Scope, isNegated: Bool
    ) throws(PorticoError) -> [RowExpression] {
        var lowered: [RowExpression] = []
        lowered.reserveCapacity(parts.count)
        for part in parts { lowered.append(try self.lowered(part, scope, isNegated: isNegated)) }
        return lowered
    }

    /// A comparison with null is never true.
    private mutating func condition(_ filter: Filter, _ scope: Scope) throws(PorticoError) -> RowExpression {
        switch filter {
        case .compare(let name, let comparison, let value):
            let field = try scope.single(name)
            if value.isNull { return .any([]) }
            try field.checkComparable(value, as: field.shape)
            return .compare(comparison, scope.field(name), .value(value))
        case .isNull(let name):
            _ = try scope.known(name)
            return .isNull(scope.field(name))
        case .oneOf(let name, let values):
            let field = try scope.single(name)
            let listed = values.filter { !$0.isNull }
            for value in listed { try field.checkComparable(value, as: field.shape) }
            return listed.isEmpty ? .any([]) : .oneOf(scope.field(name), listed)
        case .hasPrefix(let name, let text): return try call(.startsWith, name, text, scope)
        case .hasSuffix(let name, let text): return try call(.endsWith, name, text, scope)
        case .containsText(let name, let text): return try call(.contains, name, text, scope)
        case .listContains(let name, let value): return try list(name, contains: value, scope)
        case .search(let words): return try search(words, scope)
        case .related(let name, let other, let inner): return try related(name, other, inner, scope)
        case .all, .any, .not: return try lowered(filter, scope, isNegated: false)
        }
    }

    /// Every text begins with, ends with and holds the empty one.
    private func call(
        _ function: RowFunction, _ name: FieldName, _ text: String, _ scope: Scope
    ) throws(PorticoError) -> RowExpression {
        try scope.checkIsText(name)
        if text.isEmpty { return .not(.isNull(scope.field(name))) }
        return .call(function, [scope.field(name), .value(.string(text))])
    }

    private func list(
        _ name: FieldName, contains value: WireValue, _ scope: Scope
    ) throws(PorticoError) -> RowExpression {
        let field = try scope.known(name)
        guard case .list(let element) = field.shape, element.isScalar else {
            throw PorticoError(.requestInvalid, "`\(name)` is no list of single values.", target: name.text)
        }
        if value.isNull { return .any([]) }
        try field.checkComparable(value, as: element)
        return .call(.listContains, [scope.field(name), .value(.array([value]))])
    }

    /// A word without a letter or digit asks for nothing.
    private func search(_ words: [String], _ scope: Scope) throws(PorticoError) -> RowExpression {
        guard !scope.entity.searchFields.isEmpty else {
            throw PorticoError(
                .searchUnavailable, "\(scope.entity.name) has no full-text search.", target: "search")
        }
        let asked = words.filter(\.hasLetterOrDigit)
        if asked.isEmpty { return .all([]) }
        return .found(scope.source, asked.count == 1 ? .prefix(asked[0]) : .all(asked.map { .prefix($0) }))
    }

    private mutating func related(
        _ name: FieldName, _ other: EntityName, _ inner: Filter, _ scope: Scope
    ) throws(PorticoError) -> RowExpression {
        let entity = try declaration(other)
        let field = try scope.known(name)
        let key = entity.key.field
        guard let kind = ScalarKind(field.shape), kind == entity.field(key).flatMap({ ScalarKind($0.shape) }) else {
            throw PorticoError(
                .requestInvalid, "`\(name)` cannot hold the id of a record of \(other).", target: name.text)
        }
        let source = SourceName(next)
        next += 1
        let condition = try lowered(inner, Scope(entity: entity, source: source), isNegated: false)
        return .among(
            scope.field(name),
            Relation(.records(other, as: source), where: condition, columns: [.field(source, key)]))
    }
}

extension Field {
    fileprivate func checkComparable(_ value: WireValue, as shape: Shape) throws(PorticoError) {
        guard shape.compares(with: value) else {
            throw PorticoError(
                .requestInvalid, "`\(name)` cannot be compared with such a value.", target: name.text)
        }
    }
}

extension Shape {
    /// Whether a store compares its values with this one. Integers and doubles with each other, decimals with any finite
    /// number.
    fileprivate func compares(with value: WireValue) -> Bool {
        switch (self, value) {
        case (.bool, .bool), (.string, .string), (.choice, .string), (.date, .date), (.data, .data): true
        case (.integer, _), (.double, _): value.int64Value != nil || value.doubleValue.map { !$0.isNaN } ?? false
        case (.decimal, _): value.decimalValue != nil
        default: false
        }
    }
}

extension String {
    /// Whether a full-text search finds anything in it.
    package var hasLetterOrDigit: Bool {
        unicodeScalars.contains { $0.properties.isAlphabetic || $0.properties.numericType != nil }
    }
}
