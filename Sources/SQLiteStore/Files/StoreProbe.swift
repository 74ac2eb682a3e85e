import GRDB
import GRDBSQLite

/// Finds out whether writes succeed again, by one.
struct StoreProbe {
    let database: Database

    /// Writes that many bytes, durably, and removes them. Smaller writes may succeed where others still fail.
    private static let bytes = 256 << 10

    /// Throws where the disk still fails, or has no room.
    func run() throws {
        do {
            let name = "'probe'"
            try transact("INSERT OR REPLACE INTO portico_meta VALUES (\(name), hex(zeroblob(\(Self.bytes / 2))))")
            try transact("DELETE FROM portico_meta WHERE name = \(name)")
        } catch {
            if sqlite3_get_autocommit(database.sqliteConnection) == 0 { try? database.run("ROLLBACK") }
            throw error
        }
    }

    private func transact(_ statement: String) throws {
        try database.run("BEGIN IMMEDIATE")
        try database.run(statement)
        try database.run("COMMIT")
    }
}
