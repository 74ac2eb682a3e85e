import SyncMessages

/// A piece of a pull that is not complete, to be staged where the rows are kept, apart from them.
public struct StagedPiece: Sendable, Equatable {
    /// Whatever is staged there is of an earlier pull and counts no more.
    public let isFirst: Bool
    /// Collections that this pull replaces as a whole: a record of them that is not staged goes.
    public let cleared: Set<String>
    /// Collections of which what was staged before counts no more.
    public let unstaged: Set<String>
    public let changes: RecordChanges
}

/// What a pull has staged, as far as it has to be known in memory.
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
