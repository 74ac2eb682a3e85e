import AdapterKit
import GRDB
import RecordStorage

extension BackupSummary {
    init(of database: Database) throws {
        let tables = try database.rows(SQLFragment(Self.countedTables)) { $0.text(0) }
        var rows: [String: Int64] = [:]
        for table in tables {
            rows[table] = try database.row("SELECT count(*) FROM \(table.quotedIdentifier)") { $0.integer(0) }
        }
        let size = try database.row("SELECT page_count * page_size FROM pragma_page_count, pragma_page_size") {
            $0.integer(0)
        }
        self.init(
            epoch: try HostSchema.epoch(database), position: Revision(try StoredPositions.last(on: database)),
            floor: try LogFloor.read(database), rows: rows, size: size ?? 0)
    }

    /// Reads the whole file. Throws `store.unavailable` where anything is wrong with it, or its log has a gap.
    static func checking(_ path: String) throws -> BackupSummary {
        let connection = try StoreFile(path: path, maximumPages: nil).openSlowReader()
        defer { try? connection.close() }
        return try connection.read { database in
            try HostSchema.check(database)
            try StoreFile.checkIntegrity(database)
            let summary = try BackupSummary(of: database)
            let log = try database.row("SELECT min(position), max(position), count(*) FROM portico_log") {
                (first: $0.integer(0), last: $0.integer(1), count: $0.integer(2))
            }
            if let log, log.count > 0, log.count != log.last - log.first + 1 || log.first > summary.floor.number + 1 {
                throw PorticoError(.storeUnavailable, SQLiteFailure.damaged, logDetail: "the log has a gap: \(log)")
            }
            return summary
        }
    }

    /// Tables of rows, without those that full-text indexes keep for themselves.
    private static let countedTables = """
        SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' AND sql NOT LIKE 'CREATE VIRTUAL%'
        AND (name LIKE 'portico_%' OR name LIKE '%/%') AND name NOT IN (
            SELECT s.name FROM sqlite_schema s JOIN sqlite_schema v ON s.name LIKE v.name || '\\_%' ESCAPE '\\'
            WHERE v.sql LIKE 'CREATE VIRTUAL%'
        )
        """
}
