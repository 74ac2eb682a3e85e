import SyncDevice
import SyncMessages
import Synchronization

/// Rows of a device that it does not hold in memory, as of what was persisted: what a database is to an app.
final class Shelf: KeptRows {
    private let stored = Mutex(ReplicaRows())

    func store(_ rows: ReplicaRows) { stored.withLock { $0 = rows } }
    func record(_ key: RecordKey) -> RecordCopy? { stored.withLock { $0[key] } }
    func revision(_ key: RecordKey) -> Int64? { record(key)?.rev }
    func records(of collection: String) -> [RecordCopy] { stored.withLock { $0.records(of: collection) } }

    func checksums() -> [String: ScopeChecksum] {
        stored.withLock { rows in
            Dictionary(uniqueKeysWithValues: rows.collections.map { ($0, rows.checksum(of: $0)) })
        }
    }
}
