import AdapterKit

/// What a field becomes in its table. The registry keeps it as text, to recognise fields whose kind has changed.
enum ColumnKind: Sendable, Equatable {
    /// A column of its own type. A decimal has two: its text as it was written, and what it is compared by.
    case scalar(ScalarKind)
    /// Encoded in one column, and once more value by value in a table of its own, which finds rows by an element.
    case list(ScalarKind)
    /// Encoded in one column.
    case encoded

    init(_ shape: Shape) {
        if let kind = ScalarKind(shape) {
            self = .scalar(kind)
        } else if case .list(let element) = shape, let kind = ScalarKind(element) {
            self = .list(kind)
        } else {
            self = .encoded
        }
    }

    var text: String {
        switch self {
        case .scalar(let kind): kind.rawValue
        case .list(let kind): "list of \(kind.rawValue)"
        case .encoded: "encoded"
        }
    }

    func value(_ row: RowReader, _ column: Int32) throws -> WireValue {
        if row.isNull(column) { return .null }
        switch self {
        case .scalar(let scalar): return scalar.value(row, column)
        case .list, .encoded: return try EncodedValue.decode(row.blob(column))
        }
    }

    /// The type of the column that holds the value.
    var sqlType: String {
        switch self {
        case .scalar(.decimal): "TEXT"
        case .scalar(let kind): kind.sqlType
        case .list, .encoded: "BLOB"
        }
    }
}
