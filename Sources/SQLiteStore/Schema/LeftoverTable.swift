import AdapterKit
import GRDB
import RecordStorage

/// A table that no caller reads any more.
struct LeftoverTable {
    /// Rows that go in one transaction: some milliseconds. Those of a full-text index are large.
    private static let rowsAtOnce = 5_000
    private static let pagesAtOnce = 200
    private static let lastOwnRow = 10

    let name: String
    let isSearch: Bool

    /// All at once: before anything is served.
    static func dropAll(of layout: CollectionLayout, on database: Database) throws {
        for table in try all(of: layout, on: database) { try table.drop(on: database) }
    }

    /// Full-text indexes come first: their own tables go with them.
    static func all(of layout: CollectionLayout, on database: Database) throws -> [LeftoverTable] {
        let prefix = layout.names.stagingPrefix
        let found = try database.rows(
            SQLFragment(
                """
                SELECT name, sql LIKE 'CREATE VIRTUAL%' FROM sqlite_schema
                WHERE type = 'table' AND substr(name, 1, ?) = ? ORDER BY 2 DESC, name
                """, [.integer(Int64(prefix.unicodeScalars.count)), .text(prefix)])
        ) { LeftoverTable(name: $0.text(0), isSearch: $0.integer(1) != 0) }
        let searches = found.filter(\.isSearch).map(\.name)
        return found.filter { table in !searches.contains { table.name.hasPrefix("\($0)_") } }
    }

    /// Drops the table where it has few rows, otherwise removes some of them: to drop a large table takes long.
    ///
    /// Of a full-text index the rows up to number 10 stay, its totals and its structure (sqlite.org/fts5.html, section
    /// 9): without them SQLite can neither open nor drop it, and a store that has it cannot be opened after a kill.
    func removePart(on database: Database) throws {
        let (table, most) = isSearch ? ("\(name)_data", Self.pagesAtOnce) : (name, Self.rowsAtOnce)
        let quoted = table.quotedIdentifier
        let some = isSearch ? "WHERE id > \(Self.lastOwnRow)" : ""
        let count = "SELECT count(*) FROM (SELECT 1 FROM \(quoted) \(some) LIMIT \(most + 1))"
        let rows = try database.row(count) { $0.integer(0) }
        guard let rows, rows > most else { return try drop(on: database) }
        try database.run(
            "DELETE FROM \(quoted) WHERE \(try Self.key(of: table, on: database)) \(some) LIMIT \(most))")
    }

    func drop(on database: Database) throws { try database.run("DROP TABLE \(name.quotedIdentifier)") }

    /// By its row numbers, or by the key of a table that has none.
    private static func key(of table: String, on database: Database) throws -> String {
        let isWithoutRowID = try database.hasRow(
            SQLFragment("SELECT 1 FROM pragma_table_list WHERE name = ? AND wr = 1", [.text(table)]))
        let columns = isWithoutRowID ? "value, row" : "rowid"
        return "(\(columns)) IN (SELECT \(columns) FROM \(table.quotedIdentifier)"
    }
}
