import AdapterKit

/// A moment that reads little twice: for whoever answers many questions at once that look at the same changes.
///
/// Valid as long as the moment that it stands for, on the same thread.
public final class RememberingMoment: StoreMoment {
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

    private let moment: any StoreMoment
    private var records: [Row: Record?] = [:]
    private var histories: [Row: [LogEntry]] = [:]
    private var stretches: [Stretch: [LogEntry]] = [:]
    private var kept = 0
    private var keptBytes = 0

    public init(_ moment: any StoreMoment) {
        self.moment = moment
    }

    public var position: Revision { moment.position }
    public var floor: Revision { moment.floor }

    public func checkCancellation() throws { try moment.checkCancellation() }

    public func record(_ id: RecordID, in collection: CollectionID, visible: Filter?) throws -> Record? {
        guard visible == nil else { return try moment.record(id, in: collection, visible: visible) }
        let row = Row(collection: collection, id: id, limit: nil)
        if let known = records[row] { return known }
        let found = try moment.record(id, in: collection, visible: nil)
        makeRoom(for: 1, bytes: found?.writtenSize ?? 0)
        records[row] = .some(found)
        return found
    }

    public func changes(after position: Revision, limit: Int) throws -> [LogEntry] {
        let stretch = Stretch(after: position, limit: limit)
        if let known = stretches[stretch] { return known }
        let found = try moment.changes(after: position, limit: limit)
        makeRoom(for: found.count)
        stretches[stretch] = found
        return found
    }

    public func history(of id: RecordID, in collection: CollectionID, limit: Int) throws -> [LogEntry] {
        let row = Row(collection: collection, id: id, limit: limit)
        if let known = histories[row] { return known }
        let found = try moment.history(of: id, in: collection, limit: limit)
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

extension RememberingMoment {
    public func query(_ query: Query, in collection: CollectionID) throws -> RecordPage {
        try moment.query(query, in: collection)
    }

    public func query(_ query: Query, in collection: CollectionID, atMost bytes: Int) throws -> RecordPage {
        try moment.query(query, in: collection, atMost: bytes)
    }

    public func count(_ filter: Filter?, in collection: CollectionID) throws -> Int {
        try moment.count(filter, in: collection)
    }

    public func rows(
        _ relation: Relation, seen visible: VisibleRows, _ receive: (any RowValues) throws -> Void
    ) throws {
        try moment.rows(relation, seen: visible, receive)
    }

    public func client(_ id: ClientID) throws -> PushClient? { try moment.client(id) }

    public func clients(after id: ClientID?, limit: Int) throws -> [PushClient] {
        try moment.clients(after: id, limit: limit)
    }

    public func outcome(of sequence: Int64, from client: ClientID) throws -> PushOutcome? {
        try moment.outcome(of: sequence, from: client)
    }

    public func keptCopies(_ which: KeptCopies, before number: Int64?, limit: Int) throws -> [KeptCopy] {
        try moment.keptCopies(which, before: number, limit: limit)
    }
}
