import AdapterKit

/// How single values are stored: a column's type, or that of a list's elements.
enum ScalarKind: String, Sendable {
    case bool, integer, double, text, date, data, decimal

    init?(_ shape: Shape) {
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

    /// The type of the column that values are compared and ordered by.
    var sqlType: String {
        switch self {
        case .bool, .integer: "INTEGER"
        case .double, .date: "REAL"
        case .text: "TEXT"
        case .data, .decimal: "BLOB"
        }
    }

    /// The value as it is compared with that column; nil where it is of another kind. Numbers of either kind compare
    /// with integer and double columns: SQLite compares the two exactly.
    func comparable(_ value: WireValue) -> SQLValue? {
        switch (self, value) {
        case (.bool, .bool(let flag)): .integer(flag ? 1 : 0)
        case (.integer, _), (.double, _): number(value)
        case (.text, .string(let text)): .text(text)
        case (.date, .date(let instant)): .real(instant.secondsSinceReferenceDate)
        case (.data, .data(let bytes)): .blob(bytes)
        case (.decimal, _): value.asDecimal.map { .blob(DecimalSortKey.bytes(of: $0)) }
        default: nil
        }
    }

    private func number(_ value: WireValue) -> SQLValue? {
        if let number = value.int64Value { return .integer(number) }
        return value.doubleValue.flatMap { $0.isNaN ? nil : .real($0) }
    }

    /// The value of a column of this kind.
    func value(_ row: RowReader, _ column: Int32) -> WireValue {
        switch self {
        case .bool: .bool(row.integer(column) != 0)
        case .integer: .int64(row.integer(column))
        case .double: .double(row.real(column))
        case .text: .string(row.text(column))
        case .date: .date(WireDate(secondsSinceReferenceDate: row.real(column)))
        case .data: .data(row.blob(column))
        case .decimal: WireDecimal(row.text(column)).map { .decimal($0) } ?? .null
        }
    }
}

extension WireValue {
    var asDecimal: WireDecimal? {
        switch self {
        case .decimal(let number): number
        case .int64(let number): WireDecimal(number)
        case .uint64(let number): WireDecimal(number)
        case .double(let number): number.isFinite ? WireDecimal(number.description) : nil
        default: nil
        }
    }
}
