import AdapterKit
import RecordStorage

/// A field's columns: how its values are stored and compared. A class, because every query hands some on.
final class Column: Sendable {
    let field: Field
    let kind: ColumnKind
    /// Quoted.
    let name: String
    /// Quoted; the column that conditions, orders and indexes use.
    let comparisonName: String

    init(_ field: Field) {
        self.field = field
        kind = ColumnKind(field.shape)
        name = field.name.text.quotedIdentifier
        comparisonName = kind == .scalar(.decimal) ? "\(field.name.text)~order".quotedIdentifier : name
    }

    /// Name and type of every column, for `CREATE TABLE`.
    var definitions: [String] {
        let own = "\(name) \(kind.sqlType)"
        guard case .scalar(let scalar) = kind, comparisonName != name else { return [own] }
        return [own, "\(comparisonName) \(scalar.sqlType)"]
    }

    var names: [String] { comparisonName == name ? [name] : [name, comparisonName] }

    /// The values of ``names`` for a canonical value.
    func stored(_ value: WireValue) throws -> [SQLValue] {
        var values: [SQLValue] = []
        try store(value, in: &values)
        return values
    }

    /// Appends the values of ``names`` for a canonical value.
    func store(_ value: WireValue, in values: inout [SQLValue]) throws {
        if value.isNull {
            values.append(.null)
            if kind == .scalar(.decimal) { values.append(.null) }
            return
        }
        switch kind {
        case .scalar(.decimal):
            guard let number = value.decimalValue else { throw mismatch }
            values.append(.text(number.description))
            values.append(.blob(DecimalSortKey.bytes(of: number)))
        case .scalar(let scalar):
            guard let stored = scalar.comparable(value) else { throw mismatch }
            values.append(stored)
        case .list, .encoded: values.append(.blob(try EncodedValue.encode(value)))
        }
    }

    /// Drafts are checked against the shape from which this column was made, so no caller sees this.
    private var mismatch: PorticoError {
        PorticoError(.serverInternal, "A value does not fit its column.", target: field.name.text)
    }
}

extension ColumnKind {
    /// The kind as the registry keeps it.
    var text: String {
        switch self {
        case .scalar(let kind): kind.storedName
        case .list(let kind): "list of \(kind.storedName)"
        case .encoded: "encoded"
        }
    }

    /// The former ``text``, where instants were stored as doubles; nil for what holds none.
    var formerText: String? {
        switch self {
        case .scalar(.date): "date"
        case .list(.date): "list of date"
        default: nil
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

extension ScalarKind {
    /// The name of the column's content, so that earlier versions, which would take an instant's key for a double, refuse it.
    fileprivate var storedName: String { self == .date ? "instant" : rawValue }
}

/// A row as it is, with what names it in the tables beside its own.
struct StoredRow {
    let record: Record
    let row: Int64
}

extension CollectionLayout {
    /// Reads the columns of ``selection``.
    func record(_ row: RowReader) throws -> Record {
        var entries: [WireDictionary.Entry] = []
        entries.reserveCapacity(cells.count)
        for place in cells.indices {
            let value = try cells[place].kind.value(row, Int32(truncatingIfNeeded: place))
            entries.append(WireDictionary.Entry(key: cells[place].name, value: value))
        }
        let fields = WireDictionary(uncheckedUniqueKeys: entries)
        return Record(
            id: id(of: fields.entries[keyPosition].value),
            revision: Revision(row.integer(Int32(truncatingIfNeeded: cells.count))), fields: fields)
    }

    func storedRow(_ row: RowReader) throws -> StoredRow {
        StoredRow(record: try record(row), row: row.integer(Int32(truncatingIfNeeded: columns.count + 1)))
    }

    /// Keys were checked when they were written.
    private func id(of key: WireValue) -> RecordID {
        RecordID(unchecked: key.stringValue ?? key.int64Value.map { String($0) } ?? "")
    }

    /// The condition that finds one record; nil where no record can have that id.
    func keyCondition(_ id: RecordID) -> SQLFragment? {
        guard let value = rules.keyValue(of: id) else { return nil }
        let bound: SQLValue = value.int64Value.map { .integer($0) } ?? .text(id.text)
        return SQLFragment("\(key.name) = ?", [bound])
    }
}
