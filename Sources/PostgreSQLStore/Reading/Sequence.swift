import AdapterKit
import RecordStorage

/// The row `portico_sequence`: what all commits share. The caller that changes it holds the order of commits until it has
/// committed, so a snapshot that reads it is exactly the state at its position.
struct Sequence: Sendable {
    var epoch: Epoch
    /// The last operation id.
    var position: Int64
    var floor: Int64
    /// The generation of the schema.
    var generation: Int64
    /// The number of the last commit.
    var commits: Int64
    /// The last commit's random mark.
    var token: [UInt8]
    /// The number of the last kept copy.
    var kept: Int64
    /// The last operation id of each adapter.
    var adapters: [AdapterName: Int64]

    private static let columns = "epoch, position, floor, generation, commits, token, kept, adapters"

    static let selection = SQLFragment("SELECT \(columns) FROM portico_sequence")

    /// Waits for the order, and takes it.
    static let lock = SQLFragment("UPDATE portico_sequence SET commits = commits + 1 RETURNING \(columns)")

    init(_ rows: SQLRows) throws(PorticoError) {
        guard rows.count == 1 else {
            throw PorticoError(.storeUnavailable, "The store's schema is incomplete: `portico_sequence` has no row.")
        }
        let row = rows[0]
        epoch = Epoch(row.text(0))
        position = row.integer(1)
        floor = row.integer(2)
        generation = row.integer(3)
        commits = row.integer(4)
        token = row.bytes(5)
        kept = row.integer(6)
        adapters = [:]
        for part in row.text(7).split(separator: " ") {
            let pair = part.split(separator: "=")
            guard pair.count == 2, let number = Int64(pair[1]) else { continue }
            adapters[AdapterName(unchecked: String(pair[0]))] = number
        }
    }

    /// Writes everything but what only ``lock`` changes.
    var update: SQLFragment {
        let adapters = adapters.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }.joined(separator: " ")
        return SQLFragment(
            "UPDATE portico_sequence SET position = ?, floor = ?, generation = ?, token = ?, kept = ?, adapters = ?",
            [.integer(position), .integer(floor), .integer(generation), .bytes(token), .integer(kept), .text(adapters)])
    }

    /// The marks of commits that are kept at least.
    static let marks: Int64 = 8_192

    /// Removes old marks.
    var trim: SQLFragment {
        SQLFragment("DELETE FROM portico_commit WHERE number < ?", [.integer(commits - Self.marks)])
    }

    /// The mark by which a commit without an answer is found.
    var mark: SQLFragment {
        SQLFragment(
            "INSERT INTO portico_commit (number, position, token) VALUES (?, ?, ?)",
            [.integer(commits), .integer(position), .bytes(token)])
    }
}
