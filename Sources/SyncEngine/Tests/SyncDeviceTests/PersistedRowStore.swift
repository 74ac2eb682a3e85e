import SyncDevice
import SyncMessages
import Synchronization

/// Rows in another place, as of the entries that it was told to store, and what is staged there.
final class PersistedRowStore: PersistedRows {
    private let state = Mutex(DeviceState(clientID: "shelf"))
    private let pieces = Mutex<[RecordKey: RecordCopy?]>([:])

    func store(_ entry: JournalEntry) { state.withLock { $0.apply(entry) } }

    func stage(_ piece: StagedPiece) {
        pieces.withLock { staged in
            staged = piece.isFirst ? [:] : staged.filter { !piece.unstaged.contains($0.key.collection) }
            for change in piece.changes.sorted { staged[change.key] = .some(change.copy) }
        }
    }

    func record(_ key: RecordKey) -> RecordCopy? { state.withLock { $0.rows[key] } }
    func revision(_ key: RecordKey) -> Int64? { record(key)?.rev }
    func records(of collection: String) -> [RecordCopy] { state.withLock { $0.rows.records(of: collection) } }
    func checksums() -> [String: ScopeChecksum] {
        state.withLock { state in
            Dictionary(uniqueKeysWithValues: state.rows.collections.map { ($0, state.rows.checksum(of: $0)) })
        }
    }

    func staged(_ key: RecordKey) -> RecordCopy?? { pieces.withLock { $0[key] } }
    func stagedRevision(_ key: RecordKey) -> Int64?? { staged(key).map { $0?.rev } }
    func staged(of collection: String) -> [RecordKey: RecordCopy?] {
        pieces.withLock { $0.filter { $0.key.collection == collection } }
    }
}
