import SyncMessages
import ValueTree

/// The server's records as of one checkpoint, with each collection's checksum kept along. In memory, or what
/// ``PersistedRows`` have under what they have not stored yet.
public struct ReplicaRows: Sendable {
    private var rows: [String: [String: RecordCopy]] = [:]
    private var checksums: [String: ScopeChecksum] = [:]
    /// Nil: they are in memory.
    let kept: (any PersistedRows)?
    private var unstored = StagedRows()

    public init() {
        kept = nil
    }

    public init(keptBy kept: any PersistedRows) {
        self.kept = kept
        checksums = kept.checksums()
    }

    public subscript(key: RecordKey) -> RecordCopy? {
        guard let kept else { return rows[key.collection]?[key.id] }
        return unstored.change(of: key) ?? kept.record(key)
    }

    func revision(_ key: RecordKey) -> Int64? {
        guard let kept else { return self[key]?.rev }
        if let change = unstored.change(of: key) { return change?.rev }
        return kept.revision(key)
    }

    /// In no particular order.
    public func records(of collection: String) -> [RecordCopy] {
        guard let kept else { return rows[collection].map { Array($0.values) } ?? [] }
        let stored = kept.records(of: collection).filter { unstored.change(of: RecordKey(collection, $0.id)) == nil }
        return stored + unstored.changes(of: collection).compactMap(\.value)
    }

    /// Those that have records.
    public var collections: Set<String> { Set(checksums.filter { $0.value.count > 0 }.keys) }

    public func checksum(of collection: String) -> ScopeChecksum { checksums[collection] ?? ScopeChecksum() }

    mutating func apply(_ staged: StagedRows) {
        for collection in staged.collections { checksums[collection] = staged.checksum(of: collection, over: self) }
        guard kept == nil else { return unstored.add(staged) }
        for collection in staged.cleared { rows[collection] = nil }
        for collection in staged.collections {
            for (key, copy) in staged.changes(of: collection) { rows[collection, default: [:]][key.id] = copy }
        }
    }

    /// Everything that was applied is where the rows are kept.
    mutating func forgetStored() {
        unstored = StagedRows()
    }
}

extension ReplicaRows: Equatable {
    /// Of kept rows: that they are the same ones, with the same beside them.
    public static func == (left: ReplicaRows, right: ReplicaRows) -> Bool {
        left.kept === right.kept && left.rows == right.rows && left.unstored == right.unstored
            && left.checksums.filter { $0.value.count > 0 } == right.checksums.filter { $0.value.count > 0 }
    }
}
