import AdapterKit
import RecordStorage

/// Refuses filters that name an unknown field or compare one with a value of another type, as a database does when it
/// compiles them.
public struct FilterCheck {
    private let entity: Entity
    private let declaration: (EntityName) throws -> Entity

    /// `declaration` gives the other entities of the adapter, and throws for one that is not there.
    public init(_ entity: Entity, declaration: @escaping (EntityName) throws -> Entity) {
        self.entity = entity
        self.declaration = declaration
    }

    /// Throws `request.limitExceeded`, `record.searchUnavailable`, and `request.invalid` with the field as the target.
    public func check(_ filter: Filter) throws {
        try FilterLimits.standard.check(filter)
        try check(part: filter)
    }

    private func check(part: Filter) throws {
        switch part {
        case .compare(let name, _, let value): try checkComparable(try entity.known(name), value)
        case .oneOf(let name, let values):
            for value in values { try checkComparable(try entity.known(name), value) }
        case .isNull(let name): _ = try entity.known(name)
        case .hasPrefix(let name, _), .hasSuffix(let name, _), .containsText(let name, _):
            try checkComparable(try entity.known(name), "")
        case .listContains(let name, let value): try checkElement(try entity.known(name), value)
        case .search:
            guard !entity.searchFields.isEmpty else {
                throw PorticoError(.searchUnavailable, "\(entity.name) has no search.")
            }
        case .related(let name, let other, let inner):
            _ = try entity.known(name)
            try FilterCheck(declaration(other), declaration: declaration).check(part: inner)
        case .all(let parts), .any(let parts): for part in parts { try check(part: part) }
        case .not(let inner): try check(part: inner)
        }
    }

    private func checkComparable(_ field: Field, _ value: WireValue) throws(PorticoError) {
        guard field.shape.isScalar, value.isNull || field.shape.compares(with: value) else {
            throw PorticoError(
                .requestInvalid, "`\(field.name)` cannot be compared with such a value.", target: field.name.text)
        }
    }

    private func checkElement(_ field: Field, _ value: WireValue) throws(PorticoError) {
        guard case .list(let element) = field.shape, element.compares(with: value) else {
            throw PorticoError(.requestInvalid, "`\(field.name)` holds no such values.", target: field.name.text)
        }
    }
}

extension Entity {
    fileprivate func known(_ name: FieldName) throws(PorticoError) -> Field {
        guard let field = field(name) else {
            throw PorticoError(.requestInvalid, "\(self.name) has no field `\(name)`.", target: name.text)
        }
        return field
    }
}

extension Shape {
    func compares(with value: WireValue) -> Bool {
        switch (self, value) {
        case (.bool, .bool), (.string, .string), (.choice, .string), (.date, .date), (.data, .data): true
        case (.integer, _), (.double, _), (.decimal, _):
            value.doubleValue != nil || value.int64Value != nil || value.isDecimal
        default: false
        }
    }
}

extension WireValue {
    fileprivate var isDecimal: Bool {
        if case .decimal = self { true } else { false }
    }
}

extension Entity {
    /// Throws `record.cursorInvalid` for a cursor of another order.
    public func checkCursor(of query: Query) throws(PorticoError) {
        let order = try totalOrder(query.order)
        guard case .after(let cursor) = query.start else { return }
        let fits =
            cursor.values.count == order.count && cursor.values.last?.isNull == false
            && zip(order, cursor.values).allSatisfy { key, value in
                value.isNull || (field(key.field).map { $0.shape.compares(with: value) } ?? false)
            }
        guard fits else { throw PorticoError(.cursorInvalid, "The cursor belongs to another query.", target: "cursor") }
    }
}
