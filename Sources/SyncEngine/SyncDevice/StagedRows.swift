import SyncMessages
import ValueTree

/// Changes of a pull's pages, apart from the rows until the pull is complete and verified.
///
/// In memory, as far as that is not where rows are kept (``PersistedRows``): a long pull is staged there piece by piece, and
/// what is here is what has come since.
public struct StagedRows: Sendable {
    /// Collections of which only these changes will be left.
    public private(set) var cleared: Set<String> = []
    /// Changes that came since the last piece was staged.
    public private(set) var changes = RecordChanges()
    private var checksums: [String: ScopeChecksum] = [:]
    private var pieces: StagedPieces?

    /// Whether there are changes beside ``changes``, which ``PersistedRows/staged(_:)`` tells.
    public var isStaged: Bool { pieces != nil }

    /// The piece that has to be staged so that everything is.
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

    /// The coming state of the record; nil: it stays as it is.
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

    /// The collections that are changed.
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

/// A piece of a pull that is not complete, to be staged where the rows are kept, apart from them.
public struct StagedPiece: Sendable, Equatable {
    /// Whatever is staged there is of an earlier pull and counts no more.
    public let isFirst: Bool
    /// Collections that this pull replaces as a whole: a record of them that is not staged goes.
    public let cleared: Set<String>
    /// Collections of which what was staged before counts no more.
    public let unstaged: Set<String>
    /// The records that the piece changes.
    public let changes: RecordChanges
}

/// The staged part of a pull, as far as it has to be known in memory.
struct StagedPieces: Sendable {
    private let kept: any PersistedRows
    /// Collections of which nothing that is staged counts.
    private(set) var unstaged: Set<String> = []
    /// By collection: no id above it is staged. A snapshot comes in the order of its ids, so that nothing has to be looked
    /// for in most of it.
    private var last: [String: String] = [:]

    init(_ kept: any PersistedRows) {
        self.kept = kept
    }

    mutating func take(_ changes: RecordChanges) {
        var sorted = changes.sorted[...]
        // The last of each collection.
        while let change = sorted.popLast() {
            let key = change.key
            if last[key.collection].map({ $0 < key.id }) ?? true { last[key.collection] = key.id }
            while sorted.last?.key.collection == key.collection { sorted.removeLast() }
        }
        unstaged = []
    }

    mutating func unstage(_ collection: String) {
        unstaged.insert(collection)
        last[collection] = nil
    }

    func change(of key: RecordKey) -> RecordCopy?? { mayHold(key) ? kept.staged(key) : nil }

    func revision(_ key: RecordKey) -> Int64?? { mayHold(key) ? kept.stagedRevision(key) : nil }

    func changes(of collection: String) -> [RecordKey: RecordCopy?] {
        unstaged.contains(collection) ? [:] : kept.staged(of: collection)
    }

    private func mayHold(_ key: RecordKey) -> Bool { last[key.collection].map { $0 >= key.id } ?? false }
}
