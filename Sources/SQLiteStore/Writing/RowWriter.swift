import AdapterKit
import GRDB

/// Writes a collection's rows and, in step with them, the tables beside it: elements of lists, the full-text index.
struct RowWriter {
    let layout: CollectionLayout
    let database: Database

    /// The new row's number.
    func insert(_ record: Record) throws -> Int64 {
        let values = try stored(record)
        try runTellingDuplicates(layout.insertion, values)
        let row = database.lastInsertedRowID
        try addElements(of: record, row)
        if layout.hasSearch { try SearchWriter(layout, database).add(record, row) }
        return row
    }

    func update(_ found: StoredRow, to record: Record) throws {
        let values = try stored(record)
        try runTellingDuplicates(layout.replacement, values + [.integer(found.row)])
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
        var values: [SQLValue] = [.integer(record.revision.number)]
        for column in layout.columns { values += try column.stored(record[column.field.name]) }
        return values
    }

    private func runTellingDuplicates(_ sql: String, _ values: [SQLValue]) throws {
        do {
            try database.run(sql, values)
        } catch let failure as SQLiteFailure where failure.isDuplicate {
            throw PorticoError(
                .recordExists, "Another record has the same value where each must be unique.",
                target: failure.duplicateFields.joined(separator: ","), logDetail: failure.message)
        }
    }
}

extension RowWriter {
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
