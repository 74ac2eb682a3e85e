import SyncMessages
import ValueTree

/// What the pages of a pull change, apart from the rows until the pull is complete and verified.
public struct StagedRows: Sendable, Equatable {
    /// Collections of which only ``changes`` will be left.
    public private(set) var cleared: Set<String> = []
    /// Nil: the record goes.
    public private(set) var changes: [RecordKey: RecordCopy?] = [:]
    private var checksums: [String: ScopeChecksum] = [:]

    mutating func apply(_ operation: RecordOperation, over rows: ReplicaRows) {
        let key = RecordKey(operation.collection, operation.id)
        var checksum = checksum(of: key.collection, over: rows)
        if let old = record(key, over: rows) {
            checksum.remove(collection: key.collection, id: key.id, rev: old.rev)
        }
        switch operation.kind {
        case .put(let fields):
            checksum.add(collection: key.collection, id: key.id, rev: operation.rev)
            changes[key] = RecordCopy(id: key.id, rev: operation.rev, fields: fields)
        case .remove: changes[key] = .some(nil)
        }
        checksums[key.collection] = checksum
    }

    mutating func clear(_ collection: String) {
        cleared.insert(collection)
        changes = changes.filter { $0.key.collection != collection }
        checksums[collection] = ScopeChecksum()
    }

    private func record(_ key: RecordKey, over rows: ReplicaRows) -> RecordCopy? {
        if let change = changes[key] { return change }
        return cleared.contains(key.collection) ? nil : rows[key]
    }

    /// Whether the collection will be what the server says it is.
    func agrees(_ summary: ScopeSummary, over rows: ReplicaRows) -> Bool {
        let checksum = checksum(of: summary.scope, over: rows)
        return checksum.count == summary.count && checksum.text == summary.checksum
    }

    private func checksum(of collection: String, over rows: ReplicaRows) -> ScopeChecksum {
        checksums[collection] ?? (cleared.contains(collection) ? ScopeChecksum() : rows.checksum(of: collection))
    }
}

extension ReplicaRows {
    mutating func apply(_ staged: StagedRows) {
        for collection in staged.cleared { clear(collection) }
        for (key, copy) in staged.changes { set(copy, key) }
    }
}
