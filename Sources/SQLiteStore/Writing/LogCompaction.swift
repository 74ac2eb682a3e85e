import AdapterKit
import GRDB
import RecordStorage

/// Removes the log's beginning, between other writers' commits.
struct LogCompaction {
    let readers: ReaderPool
    let writer: Writer
    let positions: LogPositions
    /// Rows that go in one transaction: some milliseconds.
    static let rowsAtOnce = 2000

    func run(_ bound: CompactionBound, dryRun: Bool) async throws -> Compaction {
        if dryRun { return try await readers.read { try Self.estimate(bound, $0) } }
        let floor = try await readers.read { try LogFloor.target(of: bound, on: $0) }
        let positions = positions
        try await writer.run { database in
            try LogFloor.raise(to: floor, on: database)
            positions.raise(floor: floor.number)
        }
        let entries = try await remove(Self.entries, upTo: floor)
        return Compaction(floor: floor, entries: entries, outcomes: try await remove(Self.outcomes, upTo: floor))
    }

    private func remove(_ rows: Rows, upTo floor: Revision) async throws -> Int {
        var removed = 0
        while true {
            try Task.checkCancellation()
            let count = try await writer.run { database in
                try database.run(rows.deletion, [.integer(floor.number), .integer(Int64(Self.rowsAtOnce))])
                return database.changesCount
            }
            if count == 0 { return removed }
            removed += count
        }
    }

    private static func estimate(_ bound: CompactionBound, _ database: Database) throws -> Compaction {
        let floor = try LogFloor.target(of: bound, on: database)
        func count(_ rows: Rows) throws -> Int {
            Int(try database.row(rows.count, [.integer(floor.number)]) { $0.integer(0) } ?? 0)
        }
        return Compaction(floor: floor, entries: try count(entries), outcomes: try count(outcomes))
    }

    private struct Rows {
        let table: String
        let condition: String
        var count: String { "SELECT count(*) FROM \(table) WHERE \(condition)" }
        var deletion: String {
            "DELETE FROM \(table) WHERE rowid IN (SELECT rowid FROM \(table) WHERE \(condition) LIMIT ?)"
        }
    }

    private static let entries = Rows(table: "portico_log", condition: "position <= ?")
    private static let outcomes = Rows(
        table: "portico_outcome",
        condition: """
            position <= ? AND sequence < (SELECT sequence FROM portico_client c WHERE c.client = portico_outcome.client)
            """)
}
