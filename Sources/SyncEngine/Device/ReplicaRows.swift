import SyncMessages
import ValueTree

/// The server's records as of one checkpoint, with each collection's checksum kept along.
public struct ReplicaRows: Sendable, Equatable {
    private var rows: [String: [String: RecordCopy]] = [:]
    private var checksums: [String: ScopeChecksum] = [:]

    public init() {}

    public subscript(key: RecordKey) -> RecordCopy? { rows[key.collection]?[key.id] }

    /// In no particular order.
    public func records(of collection: String) -> [RecordCopy] {
        rows[collection].map { Array($0.values) } ?? []
    }

    /// Those that have records.
    public var collections: Set<String> { Set(rows.filter { !$0.value.isEmpty }.keys) }

    func checksum(of collection: String) -> ScopeChecksum { checksums[collection] ?? ScopeChecksum() }

    mutating func set(_ copy: RecordCopy?, _ key: RecordKey) {
        var checksum = checksum(of: key.collection)
        let old = rows[key.collection, default: [:]].removeValue(forKey: key.id)
        if let old { checksum.remove(collection: key.collection, id: key.id, rev: old.rev) }
        if let copy {
            checksum.add(collection: key.collection, id: key.id, rev: copy.rev)
            rows[key.collection, default: [:]][key.id] = copy
        }
        checksums[key.collection] = checksum
    }

    mutating func clear(_ collection: String) {
        rows[collection] = nil
        checksums[collection] = nil
    }
}
