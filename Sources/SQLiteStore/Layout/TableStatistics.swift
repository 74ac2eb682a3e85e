import AdapterKit
import GRDB
import RecordStorage
import Synchronization

/// Keeps SQLite's statistics of the collections' tables (`ANALYZE`) near the truth.
///
/// Without them the planner prefers an index by its form alone, however many rows have one value. `PRAGMA optimize` of
/// this SQLite looks only at what its own connection has asked, and the connection that writes asks nothing; so the
/// store counts what was created. Tables are analyzed when the store is installed and when they have grown by half.
final class TableStatistics: Sendable {
    /// Tables with fewer rows are read fast by any plan, and statistics of them mislead once they grow.
    static let smallestTable = 1_000
    /// Rows that are read of each index: some milliseconds.
    static let rowsPerIndex = 1_000

    private struct Growth {
        let layout: CollectionLayout
        /// Rows when the table was looked at last.
        var known: Int
        var created = 0

        var isDue: Bool { created >= max(TableStatistics.smallestTable, known / 2) }
    }

    private struct Tables {
        var growth: [CollectionID: Growth] = [:]
        var due: Set<CollectionID> = []
    }

    private let tables = Mutex(Tables())

    /// Looks at all of them. To be called by the connection that writes, outside a transaction.
    func begin(with layouts: [CollectionLayout], on database: Database) throws {
        try analyze(layouts, on: database)
    }

    /// Records that were created and committed.
    func note(created: [CollectionID: Int]) {
        tables.withLock { tables in
            for (id, count) in created {
                tables.growth[id]?.created += count
                if tables.growth[id]?.isDue == true { tables.due.insert(id) }
            }
        }
    }

    /// Analyzes the tables that have grown by half. To be called as ``begin(with:on:)``.
    func refresh(on database: Database) throws {
        let due = tables.withLock { tables in
            defer { tables.due = [] }
            return tables.due.compactMap { tables.growth[$0]?.layout }
        }
        if !due.isEmpty { try analyze(due, on: database) }
    }

    private func analyze(_ layouts: [CollectionLayout], on database: Database) throws {
        // A failure counts as a look too: the caller that writes next must not repeat it.
        var found: [CollectionID: Growth] = [:]
        for layout in layouts {
            let rows = try database.row(
                "SELECT count(*) FROM (SELECT 1 FROM \(layout.table) LIMIT \(Self.smallestTable))"
            ) { Int($0.integer(0)) }
            found[layout.id] = Growth(layout: layout, known: rows ?? 0)
            layout.estimates.set(rows: Double(rows ?? 0), indexes: [:])
        }
        tables.withLock { $0.growth.merge(found) { $1 } }
        let large = found.values.filter { $0.known >= Self.smallestTable }.map(\.layout)
        guard !large.isEmpty else { return }
        try database.run("PRAGMA analysis_limit = \(Self.rowsPerIndex)")
        try database.run("BEGIN IMMEDIATE")
        do {
            for table in large.flatMap(\.tables) { try database.run("ANALYZE \(table)") }
            // Other connections read statistics with the schema, and look at that only where it has changed.
            try database.run("CREATE TABLE portico_analyzed (row INTEGER PRIMARY KEY)")
            try database.run("DROP TABLE portico_analyzed")
            try database.run("COMMIT")
        } catch {
            try? database.run("ROLLBACK")
            throw error
        }
        for layout in large {
            let rows = try readEstimates(of: layout, on: database)
            tables.withLock { $0.growth[layout.id]?.known = rows }
        }
    }

    /// The table's rows.
    private func readEstimates(of layout: CollectionLayout, on database: Database) throws -> Int {
        var rows: Double?
        var indexes: [[FieldName]: [Double]] = [:]
        let found = try database.rows(
            SQLFragment("SELECT idx, stat FROM sqlite_stat1 WHERE tbl = ?", [.text(layout.names.main)])
        ) { ($0.text(0), $0.text(1).split(separator: " ").compactMap { Double($0) }) }
        for (name, numbers) in found {
            guard let all = numbers.first else { continue }
            rows = max(rows ?? 0, all)
            if let index = layout.entity.indexes.first(where: { layout.names.index($0) == name }) {
                indexes[index.fields] = Array(numbers.dropFirst())
            }
        }
        let known = rows ?? Double(Self.smallestTable)
        layout.estimates.set(rows: known, indexes: indexes)
        return Int(exactly: known.rounded()) ?? Self.smallestTable
    }
}

extension CollectionLayout {
    /// Quoted: its own and those of its lists' elements.
    fileprivate var tables: [String] {
        [table]
            + columns.compactMap { column in
                if case .list = column.kind { names.list(column.field.name).quotedIdentifier } else { nil }
            }
    }
}
