import SyncDevice
import SyncMessages
import Synchronization

/// Rows of a device that it does not hold in memory, as of what was persisted: what a database is to an app.
final class PersistedRowStore: PersistedRows {
    private let stored = Mutex(ReplicaRows())
    private let pieces = Mutex<[RecordKey: RecordCopy?]>([:])

    func store(_ rows: ReplicaRows) { stored.withLock { $0 = rows } }
    func record(_ key: RecordKey) -> RecordCopy? { stored.withLock { $0[key] } }
    func revision(_ key: RecordKey) -> Int64? { record(key)?.rev }
    func records(of collection: String) -> [RecordCopy] { stored.withLock { $0.records(of: collection) } }

    func checksums() -> [String: ScopeChecksum] {
        stored.withLock { rows in
            Dictionary(uniqueKeysWithValues: rows.collections.map { ($0, rows.checksum(of: $0)) })
        }
    }

    func stage(_ piece: StagedPiece) {
        pieces.withLock { staged in
            staged = piece.isFirst ? [:] : staged.filter { !piece.unstaged.contains($0.key.collection) }
            for change in piece.changes.sorted { staged[change.key] = .some(change.copy) }
        }
    }

    func staged(_ key: RecordKey) -> RecordCopy?? { pieces.withLock { $0[key] } }
    func stagedRevision(_ key: RecordKey) -> Int64?? { staged(key).map { $0?.rev } }
    func staged(of collection: String) -> [RecordKey: RecordCopy?] {
        pieces.withLock { $0.filter { $0.key.collection == collection } }
    }
}
