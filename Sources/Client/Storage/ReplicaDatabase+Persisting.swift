import Foundation
import GRDB
import SyncDevice
import SyncMessages

/// What one step of the device makes durable.
public struct PersistedStep: Sendable {
    let entries: [JournalEntry]
    /// Of the state after the step.
    let state: DeviceState
    /// Records that may look different after it, beyond those that a pull names.
    let touched: Set<RecordKey>

    /// - Parameter touched: with a pull, all that the outbox has to do with, before it and after.
    public init(entries: [JournalEntry], state: DeviceState, touched: Set<RecordKey>) {
        (self.entries, self.state, self.touched) = (entries, state, touched)
    }

    package var pulls: [JournalEntry.Pulled] {
        entries.compactMap { entry in
            if case .pulled(let pulled) = entry { pulled } else { nil }
        }
    }

    /// Collections of which somebody may see something different.
    package var collections: Set<String> {
        Set(touched.map(\.collection)).union(pulls.flatMap(\.rows.collections))
    }
}

extension ReplicaDatabase {
    /// Entries since the last snapshot, from which on the next one is due.
    private static let longestJournal = 512

    /// All of it in one transaction, or none of it.
    public func persist(_ step: PersistedStep) throws {
        // Read before the transaction: readers see what was committed.
        let shown = step.touched.map { ShownRecord($0, in: step.state) }
        if let failure = takeFailure() { throw failure }
        try pool.write { database in
            let rows = try RowWriting(database, coding)
            for pulled in step.pulls {
                try rows.apply(pulled.rows, checksums: step.state.rows, indexes: indexes)
            }
            for record in shown { try rows.show(record) }
            try write(step, database)
        }
    }

    private func write(_ step: PersistedStep, _ database: Database) throws {
        guard step.pulls.isEmpty else { return try writeSnapshot(step.state, database) }
        let insert = try database.cachedStatement(sql: "INSERT INTO journal (entry) VALUES (?)")
        for entry in step.entries {
            guard let value = entry.wireValue else { continue }
            try insert.execute(arguments: [try coding.blob(value, as: "journal")])
        }
        let last = database.lastInsertedRowID
        // Twice the outbox, so that writing it costs no more than the entries before did.
        guard last > max(Self.longestJournal, 2 * step.state.outbox.pending.count) else { return }
        try writeSnapshot(step.state, database)
    }
}

/// A record as the app is to see it.
struct ShownRecord {
    let key: RecordKey
    let record: RecordCopy?
    let isWaiting: Bool
    /// Whether the outbox has to do with it: what the server has is kept beneath.
    let isLaidOver: Bool

    init(_ key: RecordKey, in state: DeviceState) {
        self.key = key
        record = state[key]
        isWaiting = state.outbox.pending.contains { $0.edit.key == key }
        isLaidOver = isWaiting || state.outbox.acknowledged.contains { $0.edit.key == key }
    }
}
