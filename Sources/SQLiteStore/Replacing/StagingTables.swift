import AdapterKit
import GRDB
import RecordStorage

/// The tables in which a snapshot of a collection gathers, beside the collection's own.
///
/// Their names alternate between two, since SQLite cannot rename an index: those of tables that were exchanged keep the
/// name that they were made with.
struct StagingTables: Sendable {
    /// The collection's own.
    let layout: CollectionLayout
    /// The layout of the rows that differ.
    let staged: CollectionLayout
    /// Quoted; the row numbers of the records that the snapshot has, and whether it has them with other values.
    let seen: String

    /// For the layout of a collection. To be called by the connection that writes.
    init(for layout: CollectionLayout, on database: Database) throws {
        let names = try database.rows(
            SQLFragment(
                "SELECT name FROM sqlite_schema WHERE type = 'index' AND tbl_name = ?", [.text(layout.names.main)])
        ) { $0.text(0) }
        let first = layout.names.staging(0)
        let isFirst = !names.contains { $0.hasPrefix("\(first.main):") }
        let taken = isFirst ? first : layout.names.staging(1)
        self.layout = layout
        staged = try CollectionLayout(
            CollectionDeclaration(adapter: layout.id.adapter, entity: layout.entity), number: layout.number,
            scopeFields: layout.scopeFields, names: taken)
        seen = layout.names.seen.quotedIdentifier
    }

    func create(on database: Database) throws {
        try database.run("CREATE TABLE \(seen) (row INTEGER PRIMARY KEY, changed INTEGER NOT NULL) STRICT")
        let builder = TableBuilder(layout: staged, database: database)
        try builder.createTable()
        for column in staged.columns where column.field.name != staged.key.field.name { try builder.add(column) }
        for index in staged.entity.indexes { try builder.createIndex(index) }
        if staged.hasSearch { try builder.createSearch(of: layout.table) }
    }

    /// Throws `record.conflict` where the collection has been declared otherwise since: its table has other columns.
    func checkLayout(in catalogue: LayoutCatalogue) throws {
        guard try catalogue.layout(layout.id) === layout else {
            throw PorticoError(.recordConflict, "\(layout.id) was declared otherwise while its snapshot was gathered.")
        }
    }

    func record(_ id: RecordID, in layout: CollectionLayout, on database: Database) throws -> StoredRow? {
        guard let key = layout.keyCondition(id) else { return nil }
        return try database.rows(
            SQLFragment("\(layout.selection) WHERE \(key.sql)", key.values), layout.storedRow
        ).first
    }

    /// Records of the beginning that the snapshot lacks.
    func missing(since start: Revision, select columns: String) -> SQLFragment {
        SQLFragment(
            """
            SELECT \(columns) FROM \(layout.table) WHERE \(CollectionLayout.revisionColumn) <= ?
            AND \(layout.rowColumn) NOT IN (SELECT row FROM \(seen))
            """, [.integer(start.number)])
    }

    /// The first of them, whole.
    func missing(since start: Revision, limit: Int) -> SQLFragment {
        SQLFragment(
            """
            \(layout.selection) WHERE \(CollectionLayout.revisionColumn) <= ?
            AND \(layout.rowColumn) NOT IN (SELECT row FROM \(seen)) LIMIT \(limit)
            """, [.integer(start.number)])
    }

    /// Records of the beginning that stay as they are, by their row numbers.
    func unchanged(after row: Int64, since start: Revision, orMissing: Bool, limit: Int) -> SQLFragment {
        let kept =
            orMissing
            ? "\(layout.rowColumn) NOT IN (SELECT row FROM \(seen) WHERE changed = 1)"
            : "\(layout.rowColumn) IN (SELECT row FROM \(seen) WHERE changed = 0)"
        return SQLFragment(
            """
            \(layout.selection) WHERE \(layout.rowColumn) > ? AND \(CollectionLayout.revisionColumn) <= ? AND \(kept)
            ORDER BY \(layout.rowColumn) LIMIT \(limit)
            """, [.integer(row), .integer(start.number)])
    }

    /// Exchanges the collection's tables for the staged ones; the old ones become leftovers.
    func exchange(on database: Database) throws {
        let (main, old) = (layout.names, layout.names.replaced)
        let sequence = "SELECT seq FROM sqlite_sequence WHERE name = ?"
        let last = layout.hasIntegerKey ? try database.row(sequence, [.text(main.main)]) { $0.integer(0) } ?? 0 : 0
        for (from, to) in try pairs(main, old, on: database) + pairs(staged.names, main, on: database) {
            try database.run("ALTER TABLE \(from.quotedIdentifier) RENAME TO \(to.quotedIdentifier)")
        }
        guard layout.hasIntegerKey else { return }
        let next = max(last, try database.row(sequence, [.text(main.main)]) { $0.integer(0) } ?? 0)
        try database.run("DELETE FROM sqlite_sequence WHERE name = ?", [.text(main.main)])
        try database.run("INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)", [.text(main.main), .integer(next)])
    }

    /// Names of tables that are there, old and new. Tables of lists that are no longer declared are among them.
    private func pairs(
        _ from: TableNames, _ to: TableNames, on database: Database
    ) throws -> [(from: String, to: String)] {
        var pairs = [(from.main, to.main)]
        let lists = layout.columns.compactMap { column in
            if case .list = column.kind { column.field.name } else { FieldName?.none }
        }
        pairs += lists.map { (from.list($0), to.list($0)) }
        if layout.hasSearch { pairs.append((from.search, to.search)) }
        return pairs
    }

    /// Removes what replacements of the collection have left, between other callers' commits.
    static func removeLeftovers(of layout: CollectionLayout, in parts: StoreParts) async throws {
        while true {
            try Task.checkCancellation()
            let isMore = try await parts.writer.write(weight: TableReplacement.rowsAtOnce) { changes in
                try changes.undoing {
                    guard let table = try LeftoverTable.all(of: layout, on: changes.database).first else {
                        return false
                    }
                    try table.removePart(on: changes.database)
                    return true
                }
            }
            guard isMore else { return }
        }
    }
}
