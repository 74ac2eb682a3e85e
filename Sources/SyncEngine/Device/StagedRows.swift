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
        if let old = revision(key, over: rows) { checksum.remove(collection: key.collection, id: key.id, rev: old) }
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

    /// What will be of the record; nil: it stays as it is.
    func change(of key: RecordKey) -> RecordCopy?? {
        changes[key] ?? (cleared.contains(key.collection) ? .some(nil) : nil)
    }

    private func revision(_ key: RecordKey, over rows: ReplicaRows) -> Int64? {
        if let change = change(of: key) { return change?.rev }
        return rows.revision(key)
    }

    /// Those that are changed.
    public var collections: Set<String> { Set(checksums.keys) }

    /// Whether the collection will be what the server says it is.
    func agrees(_ summary: ScopeSummary, over rows: ReplicaRows) -> Bool {
        let checksum = checksum(of: summary.scope, over: rows)
        return checksum.count == summary.count && checksum.text == summary.checksum
    }

    func checksum(of collection: String, over rows: ReplicaRows) -> ScopeChecksum {
        checksums[collection] ?? (cleared.contains(collection) ? ScopeChecksum() : rows.checksum(of: collection))
    }

    /// Lays later changes over these.
    mutating func add(_ later: StagedRows) {
        guard !isEmpty else {
            self = later
            return
        }
        for collection in later.cleared { clear(collection) }
        changes.merge(later.changes) { $1 }
        checksums.merge(later.checksums) { $1 }
    }

    private var isEmpty: Bool { cleared.isEmpty && changes.isEmpty }
}
