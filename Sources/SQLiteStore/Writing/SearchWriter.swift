import AdapterKit
import GRDB

/// Keeps a collection's FTS5 index in step with its rows.
///
/// The index has external content: it stores no texts of its own, so whoever removes a row from it must say what the
/// row's texts were. Triggers were rejected: they would compare columns that this already knows.
struct SearchWriter {
    private let database: Database
    private let fields: [FieldName]
    private let table: String
    private let columns: String
    private let places: String

    init(_ layout: CollectionLayout, _ database: Database) {
        self.database = database
        fields = layout.entity.searchFields
        table = layout.names.search.quotedIdentifier
        columns = fields.map(\.text.quotedIdentifier).joined(separator: ", ")
        places = fields.map { _ in "?" }.joined(separator: ", ")
    }

    func add(_ record: Record, _ row: Int64) throws {
        try database.run(
            "INSERT INTO \(table) (rowid, \(columns)) VALUES (?, \(places))", [.integer(row)] + texts(record))
    }

    func remove(_ found: StoredRow) throws {
        try database.run(
            "INSERT INTO \(table) (\(table), rowid, \(columns)) VALUES ('delete', ?, \(places))",
            [.integer(found.row)] + texts(found.record))
    }

    func replace(_ found: StoredRow, with record: Record) throws {
        guard texts(found.record) != texts(record) else { return }
        try remove(found)
        try add(record, found.row)
    }

    private func texts(_ record: Record) -> [SQLValue] {
        fields.map { record[$0].stringValue.map { .text($0) } ?? .null }
    }
}
