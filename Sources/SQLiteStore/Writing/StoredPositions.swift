import AdapterKit
import GRDB
import RecordStorage

/// The last operation ids as the file remembers them: of each adapter, and of all together even where the log has been
/// compacted to nothing.
enum StoredPositions {
    static func set(_ position: Int64, of adapter: AdapterName, on database: Database) throws {
        try database.run(
            """
            INSERT INTO portico_position (adapter, position) VALUES (?, ?)
            ON CONFLICT (adapter) DO UPDATE SET position = excluded.position
            """, [.text(adapter.text), .integer(position)])
    }

    static func last(on database: Database) throws -> Int64 {
        let newest = "SELECT max(position) AS position FROM portico_"
        return try database.row("SELECT max(position) FROM (\(newest)log UNION ALL \(newest)position)") {
            $0.integer(0)
        } ?? 0
    }

    static func all(on database: Database) throws -> LogPositions {
        let rows = try database.rows(SQLFragment("SELECT adapter, position FROM portico_position")) {
            (AdapterName(unchecked: $0.text(0)), $0.integer(1))
        }
        return LogPositions(
            last: try last(on: database), floor: try LogFloor.read(database).number,
            adapters: Dictionary(rows, uniquingKeysWith: { $1 }))
    }
}
