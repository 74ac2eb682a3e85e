import AdapterKit
import CSV

/// Comma-separated values as `rows`, dictionaries of texts by the header's names, and these names as `columns`.
enum CSVDocument {
    static let columns = "columns"
    static let rows = "rows"

    /// Throws ``MirrorRefusal`` for bytes that are no such document.
    static func read(_ bytes: [UInt8], separator: CSVSeparator) throws(MirrorRefusal) -> WireValue {
        let table: CSVTable
        do { table = try CSVTable(bytes, separator: separator) } catch { throw MirrorRefusal(.malformed, error.phrase) }
        let named = table.columns.indices.filter { !table.columns[$0].isEmpty }
        let rows = table.rows.map { row in
            WireValue.dictionary(
                WireDictionary(
                    uncheckedUniqueKeys: named.map { .init(key: table.columns[$0], value: .string(row.fields[$0])) }))
        }
        return [columns: .array(named.map { .string(table.columns[$0]) }), self.rows: .array(rows)]
    }
}
