import AdapterKit

/// A moment that reads little twice: for whoever answers many questions at once that look at the same changes.
///
/// Valid as long as the moment that it stands for, on the same thread.
public final class CachingSnapshot: StoreSnapshot {
    private struct Row: Hashable {
        let collection: CollectionID
        let id: RecordID
        /// Of ``history(of:in:limit:)``; nil: the record itself.
        let limit: Int?
    }

    private struct Stretch: Hashable {
        let after: Revision
        let limit: Int
    }

    /// Log entries and records that are kept; beyond that it begins to remember anew.
    private static let most = 4_096
    /// About how large the records are that are kept.
    private static let mostBytes = 8 << 20

    private let snapshot: any StoreSnapshot
    private var records: [Row: Record?] = [:]
    private var histories: [Row: [LogEntry]] = [:]
    private var stretches: [Stretch: [LogEntry]] = [:]
    private var kept = 0
    private var keptBytes = 0

    public init(_ snapshot: any StoreSnapshot) {
        self.snapshot = snapshot
    }

    public var position: Revision { snapshot.position }
    public var floor: Revision { snapshot.floor }

    public func checkCancellation() throws { try snapshot.checkCancellation() }

    public func record(_ id: RecordID, in collection: CollectionID, visible: Filter?) throws -> Record? {
        guard visible == nil else { return try snapshot.record(id, in: collection, visible: visible) }
        let row = Row(collection: collection, id: id, limit: nil)
        if let known = records[row] { return known }
        let found = try snapshot.record(id, in: collection, visible: nil)
        makeRoom(for: 1, bytes: found?.writtenSize ?? 0)
        records[row] = .some(found)
        return found
    }

    public func changes(after position: Revision, limit: Int) throws -> [LogEntry] {
        let stretch = Stretch(after: position, limit: limit)
        if let known = stretches[stretch] { return known }
        let found = try snapshot.changes(after: position, limit: limit)
        makeRoom(for: found.count)
        stretches[stretch] = found
        return found
    }

    public func history(of id: RecordID, in collection: CollectionID, limit: Int) throws -> [LogEntry] {
        let row = Row(collection: collection, id: id, limit: limit)
        if let known = histories[row] { return known }
        let found = try snapshot.history(of: id, in: collection, limit: limit)
        makeRoom(for: found.count)
        histories[row] = found
        return found
    }

    private func makeRoom(for count: Int, bytes: Int = 0) {
        kept += count + 1
        keptBytes += bytes
        guard kept > Self.most || keptBytes > Self.mostBytes else { return }
        records = [:]
        histories = [:]
        stretches = [:]
        kept = count + 1
        keptBytes = bytes
    }
}

extension CachingSnapshot {
    public func query(_ query: Query, in collection: CollectionID) throws -> RecordPage {
        try snapshot.query(query, in: collection)
    }

    public func query(_ query: Query, in collection: CollectionID, atMost bytes: Int) throws -> RecordPage {
        try snapshot.query(query, in: collection, atMost: bytes)
    }

    public func count(_ filter: Filter?, in collection: CollectionID) throws -> Int {
        try snapshot.count(filter, in: collection)
    }

    public func rows(
        _ relation: Relation, seen visible: VisibleRows, _ receive: (any RowValues) throws -> Void
    ) throws {
        try snapshot.rows(relation, seen: visible, receive)
    }

    public func client(_ id: ClientID) throws -> PushClient? { try snapshot.client(id) }

    public func clients(after id: ClientID?, limit: Int) throws -> [PushClient] {
        try snapshot.clients(after: id, limit: limit)
    }

    public func outcome(of sequence: Int64, from client: ClientID) throws -> PushOutcome? {
        try snapshot.outcome(of: sequence, from: client)
    }

    public func keptCopies(_ which: KeptCopies, before number: Int64?, limit: Int) throws -> [KeptCopy] {
        try snapshot.keptCopies(which, before: number, limit: limit)
    }
}
