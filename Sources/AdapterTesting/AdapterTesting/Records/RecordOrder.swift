import AdapterKit

/// A total order of an entity's records: the keys asked for, then the entity's own.
struct RecordOrder {
    private let keys: [SortKey]

    init(_ keys: [SortKey], of entity: Entity) throws {
        for key in keys where entity.field(key.field) == nil {
            throw PorticoError(.requestInvalid, "There is no field \(key.field).", target: key.field.text)
        }
        let isTotal = keys.contains { $0.field == entity.key.field }
        self.keys = isTotal ? keys : keys + [SortKey(entity.key.field)]
    }

    func sorted(_ records: [Record]) -> [Record] {
        records.map { (record: $0, values: values(of: $0)) }
            .sorted { precedes($0.values, $1.values) }
            .map(\.record)
    }

    func cursor(_ record: Record) -> Cursor {
        Cursor(values: values(of: record))
    }

    func check(_ cursor: Cursor) throws {
        guard cursor.values.count == keys.count else {
            throw PorticoError(.cursorInvalid, "The cursor belongs to another order.")
        }
    }

    func isAfter(_ record: Record, _ cursor: Cursor) -> Bool {
        precedes(cursor.values, values(of: record))
    }

    private func values(of record: Record) -> [WireValue] {
        keys.map { record[$0.field] }
    }

    private func precedes(_ left: [WireValue], _ right: [WireValue]) -> Bool {
        for (key, (a, b)) in zip(keys, zip(left, right)) {
            guard let ordering = a.ordering(to: b), ordering != .same else { continue }
            return (ordering == .before) != key.isDescending
        }
        return false
    }
}

enum Ordering {
    case before, same, after

    init<T: Comparable>(_ left: T, _ right: T) {
        self = left < right ? .before : left > right ? .after : .same
    }
}

extension WireValue {
    /// Null before everything; numbers by value, texts by their bytes. Nil where the types have no common order.
    func ordering(to other: WireValue) -> Ordering? {
        switch (self, other) {
        case (.null, .null): .same
        case (.null, _): .before
        case (_, .null): .after
        case (.bool(let a), .bool(let b)): Ordering(a ? 1 : 0, b ? 1 : 0)
        case (.string(let a), .string(let b)):
            a.utf8.lexicographicallyPrecedes(b.utf8) ? .before : a.hasSameBytes(as: b) ? .same : .after
        case (.date(let a), .date(let b)): Ordering(a, b)
        case (.data(let a), .data(let b)): a == b ? .same : a.lexicographicallyPrecedes(b) ? .before : .after
        default: numericOrdering(to: other)
        }
    }

    private func numericOrdering(to other: WireValue) -> Ordering? {
        if let a = int64Value, let b = other.int64Value { return Ordering(a, b) }
        guard let a = number, let b = other.number else { return nil }
        return Ordering(a, b)
    }

    private var number: Double? {
        switch self {
        case .decimal(let decimal): Double(decimal.description)
        case .int64(let number): Double(number)
        case .uint64(let number): Double(number)
        default: doubleValue
        }
    }
}
