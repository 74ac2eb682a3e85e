import AdapterKit
import GRDB
import RecordStorage

/// Where the log begins. Rises in a transaction of its own before anything is removed, so that nobody who is told that
/// the log reaches back far enough finds a gap in it.
enum LogFloor {
    static func read(_ database: Database) throws -> Revision {
        Revision(try database.row("SELECT floor FROM portico_floor") { $0.integer(0) } ?? 0)
    }

    static func raise(to floor: Revision, on database: Database) throws {
        try database.run("UPDATE portico_floor SET floor = max(floor, ?)", [.integer(floor.number)])
    }

    /// What the floor would be.
    static func target(of bound: CompactionBound, on database: Database) throws -> Revision {
        let last = Revision(try StoredPositions.last(on: database))
        switch bound {
        case .through(let position): return max(try read(database), min(position, last))
        case .before(let time):
            let kept = try database.row(
                "SELECT position FROM portico_log WHERE time >= ? ORDER BY position LIMIT 1",
                [.real(time.secondsSinceReferenceDate)]
            ) { Revision($0.integer(0) - 1) }
            return max(try read(database), kept ?? last)
        }
    }
}
