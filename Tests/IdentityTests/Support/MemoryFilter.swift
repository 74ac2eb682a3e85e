import AdapterKit

/// The part of the query language that identity uses; the rest traps, so that a test notices.
enum MemoryFilter {
    static func matches(_ record: Record, _ filter: Filter) -> Bool {
        switch filter {
        case .all(let filters): filters.allSatisfy { matches(record, $0) }
        case .any(let filters): filters.contains { matches(record, $0) }
        case .compare(let field, .equal, let value): record[field] == value
        case .compare(let field, .less, let value): isLess(record[field], value)
        case .compare(let field, .greater, let value): isLess(value, record[field])
        case .compare(let field, .lessOrEqual, let value): !isLess(value, record[field])
        case .compare(let field, .greaterOrEqual, let value): !isLess(record[field], value)
        case .oneOf(let field, let values): values.contains(record[field])
        default: preconditionFailure("identity asks for something new: \(filter)")
        }
    }

    static func precedes(_ left: Record, _ right: Record, _ order: [SortKey]) -> Bool {
        for key in order where left[key.field] != right[key.field] {
            return isLess(left[key.field], right[key.field]) != key.isDescending
        }
        return left.id < right.id
    }

    static func fits(_ value: WireValue, _ shape: Shape) -> Bool {
        switch (shape, value) {
        case (.string(let limits), .string(let text)): text.unicodeScalars.count <= limits.maximumLength
        case (.choice(let choices), .string(let text)): choices.contains(text)
        case (.data(let maximum), .data(let bytes)): bytes.count <= maximum
        case (.list(let item), .array(let items)): items.allSatisfy { fits($0, item) }
        case (.object, .dictionary), (.date, .date), (.bool, .bool), (.integer, .int64): true
        default: false
        }
    }

    private static func isLess(_ left: WireValue, _ right: WireValue) -> Bool {
        switch (left, right) {
        case (.string(let a), .string(let b)): a.utf8.lexicographicallyPrecedes(b.utf8)
        case (.date(let a), .date(let b)): a < b
        case (.int64(let a), .int64(let b)): a < b
        default: preconditionFailure("identity compares something new")
        }
    }
}
