import AdapterKit
import RecordStorage

/// Refuses filters that mean nothing, as a database does when it compiles them.
struct FilterCheck {
    let tables: MemoryTables

    func check(_ filter: Filter, in collection: CollectionID) throws(PorticoError) {
        try FilterLimits.standard.check(filter)
        try check(part: filter, in: collection)
    }

    private func check(part: Filter, in id: CollectionID) throws(PorticoError) {
        let entity = try tables.collection(id).entity
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
            try check(part: inner, in: CollectionID(id.adapter, other))
        case .all(let parts), .any(let parts): for part in parts { try check(part: part, in: id) }
        case .not(let inner): try check(part: inner, in: id)
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
