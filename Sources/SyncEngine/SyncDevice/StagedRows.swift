import SyncMessages
import ValueTree

/// What the pages of a pull change, apart from the rows until the pull is complete and verified.
///
/// In memory, as far as that is not where rows are kept (``PersistedRows``): a long pull is staged there piece by piece, and
/// what is here is what has come since.
public struct StagedRows: Sendable {
    /// Collections of which only these changes will be left.
    public private(set) var cleared: Set<String> = []
    /// Those that came since the last piece was staged.
    public private(set) var changes = RecordChanges()
    private var checksums: [String: ScopeChecksum] = [:]
    private var pieces: StagedPieces?

    /// Whether there are changes beside ``changes``, which ``PersistedRows/staged(_:)`` tells.
    public var isStaged: Bool { pieces != nil }

    /// What has to be staged so that everything is.
    public var piece: StagedPiece {
        StagedPiece(isFirst: !isStaged, cleared: cleared, unstaged: pieces?.unstaged ?? [], changes: changes)
    }

    mutating func apply(_ operation: RecordOperation, over rows: ReplicaRows) {
        let key = RecordKey(operation.collection, operation.id)
        var checksum = checksum(of: key.collection, over: rows)
        if let old = revision(key, over: rows) { checksum.remove(collection: key.collection, id: key.id, rev: old) }
        switch operation.kind {
        case .put(let fields):
            checksum.add(collection: key.collection, id: key.id, rev: operation.rev)
            changes.set(RecordCopy(id: key.id, rev: operation.rev, content: fields), of: key)
        case .remove: changes.set(nil, of: key)
        }
        checksums[key.collection] = checksum
    }

    mutating func clear(_ collection: String) {
        cleared.insert(collection)
        changes.removeAll(of: collection)
        checksums[collection] = ScopeChecksum()
        pieces?.unstage(collection)
    }

    /// ``piece`` is where the rows are kept.
    mutating func areStaged(by kept: any PersistedRows) {
        if pieces == nil { pieces = StagedPieces(kept) }
        pieces?.take(changes)
        changes = RecordChanges()
    }

    /// What will be of the record; nil: it stays as it is.
    func change(of key: RecordKey) -> RecordCopy?? {
        if let change = changes[key] { return change }
        if let change = pieces?.change(of: key) { return change }
        return cleared.contains(key.collection) ? .some(nil) : nil
    }

    private func revision(_ key: RecordKey, over rows: ReplicaRows) -> Int64? {
        if let change = changes[key] { return change?.rev }
        if let revision = pieces?.revision(key) { return revision }
        return cleared.contains(key.collection) ? nil : rows.revision(key)
    }

    /// Those that are changed.
    public var collections: Set<String> { Set(checksums.keys) }

    /// All of a collection's, those too that are staged.
    func changes(of collection: String) -> [RecordKey: RecordCopy?] {
        var found = pieces?.changes(of: collection) ?? [:]
        for change in changes.sorted where change.key.collection == collection { found[change.key] = change.copy }
        return found
    }

    /// Whether the collection will be what the server says it is.
    func agrees(_ summary: ScopeSummary, over rows: ReplicaRows) -> Bool {
        let checksum = checksum(of: summary.scope, over: rows)
        return checksum.count == summary.count && checksum.text == summary.checksum
    }

    func checksum(of collection: String, over rows: ReplicaRows) -> ScopeChecksum {
        checksums[collection] ?? (cleared.contains(collection) ? ScopeChecksum() : rows.checksum(of: collection))
    }

    /// Lays later changes over these, none of which are staged: those of another pull would be by now.
    mutating func add(_ later: StagedRows) {
        guard !isEmpty else {
            self = later
            return
        }
        for collection in later.cleared { clear(collection) }
        if let staged = later.pieces {
            for change in changes.sorted {
                if let copy = staged.change(of: change.key) { changes.set(copy, of: change.key) }
            }
        }
        changes.merge(later.changes)
        checksums.merge(later.checksums) { $1 }
        pieces = later.pieces
    }

    private var isEmpty: Bool { cleared.isEmpty && changes.isEmpty && !isStaged }
}

extension StagedRows: Equatable {
    public static func == (left: StagedRows, right: StagedRows) -> Bool {
        left.cleared == right.cleared && left.changes == right.changes && left.checksums == right.checksums
            && left.isStaged == right.isStaged
    }
}
