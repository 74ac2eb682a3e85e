import AdapterKit

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
        if value.isNull { return names.map { _ in .null } }
        switch kind {
        case .scalar(.decimal):
            guard let number = value.asDecimal else { throw mismatch }
            return [.text(number.description), .blob(DecimalSortKey.bytes(of: number))]
        case .scalar(let scalar):
            guard let stored = scalar.comparable(value) else { throw mismatch }
            return [stored]
        case .list, .encoded: return [.blob(try EncodedValue.encode(value))]
        }
    }

    /// Drafts are checked against the shape from which this column was made, so nobody sees this.
    private var mismatch: PorticoError {
        PorticoError(.serverInternal, "A value does not fit its column.", target: field.name.text)
    }
}
