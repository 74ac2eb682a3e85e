import AdapterKit
import GRDB
import RecordStorage

/// Writes a collection's rows and, in step with them, the tables beside it: elements of lists, the full-text index.
struct StoredRowWriter {
    let layout: CollectionLayout
    let database: Database

    /// The new row's number.
    func insert(_ record: Record) throws -> Int64 {
        try insert(record, by: try database.cachedStatement(sql: layout.insertion))
    }

    /// The same by the layout's insertion, prepared.
    func insert(_ record: Record, by statement: Statement) throws -> Int64 {
        let values = try stored(record)
        try tellingDuplicates { try database.run(statement, values) }
        let row = database.lastInsertedRowID
        try addElements(of: record, row)
        if layout.hasSearch { try SearchWriter(layout, database).add(record, row) }
        return row
    }

    func update(_ found: StoredRow, to record: Record) throws {
        let values = try stored(record)
        try tellingDuplicates { try database.run(layout.replacement, values + [.integer(found.row)]) }
        try removeElements(of: found)
        try addElements(of: record, found.row)
        if layout.hasSearch { try SearchWriter(layout, database).replace(found, with: record) }
    }

    func delete(_ found: StoredRow) throws {
        if layout.hasSearch { try SearchWriter(layout, database).remove(found) }
        try removeElements(of: found)
        try database.run("DELETE FROM \(layout.table) WHERE \(layout.rowColumn) = ?", [.integer(found.row)])
    }

    /// As ``CollectionLayout/insertion`` wants them.
    private func stored(_ record: Record) throws -> [SQLValue] {
        var values: [SQLValue] = []
        values.reserveCapacity(2 * layout.columns.count + 1)
        values.append(.integer(record.revision.number))
        for (position, column) in layout.columns.enumerated() {
            // A draft has its fields in declared order.
            let entries = record.fields.entries
            let isInPlace =
                entries.indices.contains(position)
                && entries[position].key.hasSameBytes(as: layout.cells[position].name)
            try column.store(isInPlace ? entries[position].value : record[column.field.name], in: &values)
        }
        return values
    }

    private func tellingDuplicates(_ body: () throws -> Void) throws {
        do {
            try body()
        } catch let failure as SQLiteFailure where failure.isDuplicate {
            throw PorticoError(
                .recordExists, "Another record has the same value where each must be unique.",
                target: failure.duplicateFields.joined(separator: ","), logDetail: failure.message)
        }
    }
}

extension StoredRowWriter {
    private func addElements(of record: Record, _ row: Int64) throws {
        for column in layout.columns {
            guard case .list(let element) = column.kind, let items = record[column.field.name].arrayValue else {
                continue
            }
            let table = layout.names.list(column.field.name).quotedIdentifier
            for item in items {
                guard let value = element.comparable(item) else { continue }
                // An element that is there twice needs to be found once.
                try database.run(
                    "INSERT OR IGNORE INTO \(table) (value, row) VALUES (?, ?)", [value, .integer(row)])
            }
        }
    }

    private func removeElements(of found: StoredRow) throws {
        for column in layout.columns {
            guard case .list(let element) = column.kind, let items = found.record[column.field.name].arrayValue else {
                continue
            }
            let table = layout.names.list(column.field.name).quotedIdentifier
            for item in items {
                guard let value = element.comparable(item) else { continue }
                try database.run("DELETE FROM \(table) WHERE value = ? AND row = ?", [value, .integer(found.row)])
            }
        }
    }
}

/// Keeps a collection's FTS5 index in step with its rows.
///
/// The index has external content: it stores no texts of its own, so the caller that removes a row from it must say what the
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
