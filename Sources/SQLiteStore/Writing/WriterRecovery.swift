import AdapterKit
import GRDB
import GRDBSQLite
import RecordStorage

/// Makes the file good again after the disk failed and works once more.
///
/// What was acknowledged is on the disk, in the log file beside the database; what failed is there in part, or not at
/// all, and is overwritten by what comes next. A checkpoint that empties the log file copies every acknowledged page
/// into the database and syncs it: once it has succeeded nothing depends on what the kernel made of the failed write.
struct WriterRecovery {
    let database: Database
    let positions: LogPositions

    /// Throws where the disk still fails.
    func run() throws {
        if sqlite3_get_autocommit(database.sqliteConnection) == 0 { try database.run("ROLLBACK") }
        let isBlocked = try database.row("PRAGMA wal_checkpoint(TRUNCATE)") { $0.integer(0) != 0 } ?? true
        guard !isBlocked else {
            throw SQLiteFailure(code: SQLITE_BUSY, message: "a reader holds up the checkpoint after a failure")
        }
        // A commit whose answer was lost may have been made all the same.
        let found = try StoredPositions.all(on: database)
        guard found.last > positions.last else { return }
        positions.advance(to: found.last, adapters: found.allAdapters)
    }
}
