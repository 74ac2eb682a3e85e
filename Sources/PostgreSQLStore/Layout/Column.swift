import AdapterKit
import RecordStorage
import WireFormats

extension ScalarKind {
    /// The type of the column that values are compared and ordered by.
    var sqlType: SQLType {
        switch self {
        case .bool: .bool
        case .integer: .integer
        case .double: .real
        case .text, .date, .data, .decimal: .bytes
        }
    }

    /// The value as it is compared with that column; nil where it is of another kind. A number for a column of the other
    /// kind is compared by ``ExactBound``.
    func comparable(_ value: WireValue) -> SQLValue? {
        switch (self, value) {
        case (.bool, .bool(let flag)): .bool(flag)
        case (.integer, _): value.int64Value.map { .integer($0) }
        case (.double, _): value.doubleValue.flatMap { $0.isNaN ? nil : .real($0) }
        case (.text, .string(let text)): .text(text)
        case (.date, .date(let instant)): .bytes(InstantKey.bytes(of: instant))
        case (.data, .data(let bytes)): .bytes(bytes)
        case (.decimal, _): value.decimalValue.map { .bytes(DecimalSortKey.bytes(of: $0)) }
        default: nil
        }
    }

    /// Bytes that are equal for equal elements of a list; nil where the value is of another kind.
    func elementKey(_ value: WireValue) -> [UInt8]? {
        var bytes: [UInt8] = []
        switch (self, comparable(value)) {
        case (.integer, nil):
            guard let number = value.doubleValue, let whole = Int64(exactly: number) else { return nil }
            SQLValue.integer(whole).write(to: &bytes)
        case (.double, .real(let number)?):
            // Zero has two forms.
            SQLValue.real(number == 0 ? 0 : number).write(to: &bytes)
        case (_, let found?): found.write(to: &bytes)
        case (_, nil): return nil
        }
        return bytes
    }
}

extension ColumnKind {
    /// The kind as the registry keeps it.
    var text: String {
        switch self {
        case .scalar(let kind): kind.rawValue
        case .list(let kind): "list of \(kind.rawValue)"
        case .encoded: "encoded"
        }
    }
}

/// A field's columns, named by its number: `f` the value, `o` what a decimal is compared by, `e` the elements of a list.
final class Column: Sendable {
    /// One column of the table.
    struct Part: Sendable {
        let name: String
        let type: SQLType
        var isArray = false

        var definition: String { "\(name) \(type.rawValue)\(isArray ? "[]" : "")" }
    }

    let field: Field
    let kind: ColumnKind
    /// The column that holds the value.
    let name: String
    /// The column that conditions, orders and indexes use.
    let comparisonName: String
    /// The column of a list's elements.
    let elementsName: String
    let parts: [Part]

    init(_ field: Field, number: Int64) {
        self.field = field
        kind = ColumnKind(field.shape)
        name = "f\(number)"
        comparisonName = kind == .scalar(.decimal) ? "o\(number)" : name
        elementsName = "e\(number)"
        parts =
            switch kind {
            case .scalar(.decimal): [Part(name: name, type: .bytes), Part(name: comparisonName, type: .bytes)]
            case .scalar(let scalar): [Part(name: name, type: scalar.sqlType)]
            case .list: [Part(name: name, type: .bytes), Part(name: elementsName, type: .bytes, isArray: true)]
            case .encoded: [Part(name: name, type: .bytes)]
            }
    }

    /// The values of ``parts`` for a canonical value; an array as the text of its literal, because `unnest` takes arrays of
    /// arrays apart.
    func stored(_ value: WireValue) throws -> [SQLValue] {
        if value.isNull { return parts.map { _ in .null } }
        switch kind {
        case .scalar(.decimal):
            guard let number = value.decimalValue else { throw mismatch }
            return [.text(number.description), .bytes(DecimalSortKey.bytes(of: number))]
        case .scalar(.double):
            guard let number = value.doubleValue else { throw mismatch }
            return [number.isNaN ? .null : .real(number)]
        case .scalar(let scalar):
            guard let stored = scalar.comparable(value) else { throw mismatch }
            return [stored]
        case .list(let element):
            let keys = Set((value.arrayValue ?? []).compactMap { element.elementKey($0) })
            return [.bytes(try EncodedValue.encode(value)), .bytes(Self.literal(keys))]
        case .encoded: return [.bytes(try EncodedValue.encode(value))]
        }
    }

    private static func literal(_ keys: Set<[UInt8]>) -> [UInt8] {
        let digits = Array("0123456789abcdef".utf8)
        var text: [UInt8] = [UInt8(ascii: "{")]
        for key in keys.sorted(by: { $0.lexicographicallyPrecedes($1) }) {
            if text.count > 1 { text.append(UInt8(ascii: ",")) }
            text += Array("\"\\\\x".utf8)
            for byte in key { text += [digits[Int(byte >> 4)], digits[Int(byte & 15)]] }
            text.append(UInt8(ascii: "\""))
        }
        return text + [UInt8(ascii: "}")]
    }

    func value(_ row: SQLRow, _ column: Int) throws -> WireValue {
        if row.isNull(column) { return .null }
        switch kind {
        case .scalar(.bool): return .bool(row.bool(column))
        case .scalar(.integer): return .int64(row.integer(column))
        case .scalar(.double): return .double(row.real(column))
        case .scalar(.text): return .string(row.text(column))
        case .scalar(.date): return InstantKey.instant(row.raw(column)).map { .date($0) } ?? .null
        case .scalar(.data): return .data(row.bytes(column))
        case .scalar(.decimal): return WireDecimal(row.text(column)).map { .decimal($0) } ?? .null
        case .list, .encoded: return try EncodedValue.decode(row.bytes(column))
        }
    }

    /// Drafts are checked against the shape from which this column was made, so no caller sees this.
    private var mismatch: PorticoError {
        PorticoError(.serverInternal, "A value does not fit its column.", target: field.name.text)
    }
}

/// Values that are no single ones, in one column: CBOR, because of the wire formats it alone carries every case of the
/// value tree.
enum EncodedValue {
    static func encode(_ value: WireValue) throws -> [UInt8] {
        do {
            return try CBORFormat().write(value)
        } catch {
            throw PorticoError(.requestInvalid, "A value cannot be stored: \(error).")
        }
    }

    /// Decodes a stored value, which nothing but damage makes unreadable.
    static func decode(_ bytes: [UInt8]) throws -> WireValue {
        do {
            return try CBORFormat().read(bytes, limits: limits)
        } catch {
            throw PorticoError(.storeUnavailable, "A stored value cannot be read.", logDetail: "\(error)")
        }
    }

    private static let limits = ReadingLimits(depth: 1024, values: 1 << 24)
}
