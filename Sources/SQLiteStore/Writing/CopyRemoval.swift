import AdapterKit
import GRDB
import RecordStorage

/// Removes losing copies that were kept for long enough, between other writers' commits.
struct CopyRemoval {
    let readers: ReaderPool
    let writer: Writer

    /// Copies are numbered as they come, so those that go are the first but where the clock was set back: the removal
    /// reads hardly any others.
    func run(keptBefore instant: WireDate, dryRun: Bool) async throws -> Int {
        let last = try await readers.read { database in
            try database.row(
                "SELECT number FROM portico_kept WHERE time < ? ORDER BY number DESC LIMIT 1",
                [.real(instant.secondsSinceReferenceDate)]
            ) { $0.integer(0) } ?? 0
        }
        if dryRun { return try await count(upTo: last, before: instant) }
        var removed = 0
        while true {
            try Task.checkCancellation()
            let count = try await writer.run { database in
                try database.run(
                    """
                    DELETE FROM portico_kept WHERE number IN (
                        SELECT number FROM portico_kept WHERE number <= ? AND time < ? LIMIT ?)
                    """,
                    [
                        .integer(last), .real(instant.secondsSinceReferenceDate),
                        .integer(Int64(LogCompaction.rowsAtOnce)),
                    ])
                return database.changesCount
            }
            if count == 0 { return removed }
            removed += count
        }
    }

    private func count(upTo last: Int64, before instant: WireDate) async throws -> Int {
        try await readers.read { database in
            let count = try database.row(
                "SELECT count(*) FROM portico_kept WHERE number <= ? AND time < ?",
                [.integer(last), .real(instant.secondsSinceReferenceDate)]
            ) { $0.integer(0) }
            return Int(count ?? 0)
        }
    }
}
