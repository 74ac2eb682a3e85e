import AdapterKit

/// The kind of single values: those of a column, or of a list's elements.
package enum ScalarKind: String, Sendable {
    case bool, integer, double, text, date, data, decimal

    /// Nil for a shape whose values are no single ones.
    package init?(_ shape: Shape) {
        switch shape {
        case .bool: self = .bool
        case .integer: self = .integer
        case .double: self = .double
        case .string, .choice: self = .text
        case .date: self = .date
        case .data: self = .data
        case .decimal: self = .decimal
        case .any, .list, .object: return nil
        }
    }
}

/// The form of a field in its table. A store's registry keeps it as text, to recognise fields whose kind has changed.
package enum ColumnKind: Sendable, Equatable {
    /// A column of its own type. A decimal has two: its text as it was written, and what it is compared by.
    case scalar(ScalarKind)
    /// Encoded in one column, and once more value by value, which finds rows by an element.
    case list(ScalarKind)
    /// Encoded in one column.
    case encoded

    package init(_ shape: Shape) {
        if let kind = ScalarKind(shape) {
            self = .scalar(kind)
        } else if case .list(let element) = shape, let kind = ScalarKind(element) {
            self = .list(kind)
        } else {
            self = .encoded
        }
    }
}
