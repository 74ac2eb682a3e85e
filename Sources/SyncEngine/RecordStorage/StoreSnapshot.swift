import AdapterKit

/// A store in one snapshot: whatever is read through it belongs together.
///
/// Valid only within the call that hands it out, on that call's thread. What its methods throw is to be passed on
/// unchanged: a store may break a read off and begin it again.
public protocol StoreSnapshot {
    /// The last operation id that is visible.
    var position: Revision { get }

    /// The log holds every entry after this operation id, and none up to it.
    var floor: Revision { get }

    /// Throws where no caller waits for the read any more: for bodies that do much between two of its other calls, which ask
    /// by themselves.
    func checkCancellation() throws

    /// Says what is going to be read next, where that depends on what was read before. A store may fetch all of it, or a
    /// part, with one round trip; one that has nothing to gain does not evaluate `reads`.
    func prefetch(_ reads: @autoclosure () throws -> [StoreRead]) throws

    /// The record, where it is there and `visible` (nil: always) holds for it.
    func record(_ id: RecordID, in collection: CollectionID, visible: Filter?) throws -> Record?

    /// The records that match, in the query's order, one page.
    func query(_ query: Query, in collection: CollectionID) throws -> RecordPage

    /// The same, but the page ends early where its records would be larger than `bytes` (``Record/writtenSize``), as if
    /// the query's limit were reached. Whatever its size, the first record is in it.
    func query(_ query: Query, in collection: CollectionID, atMost bytes: Int) throws -> RecordPage

    /// The number of records that match; nil: all of the collection.
    func count(_ filter: Filter?, in collection: CollectionID) throws -> Int

    /// Gives the relation's rows, as far as `visible` lets them be seen. Throws `request.invalid` for what means nothing,
    /// `request.limitExceeded`, and `adapter.unavailable` where the store answers no relations.
    func rows(
        _ relation: Relation, seen visible: VisibleRows, _ receive: (any RowValues) throws -> Void
    ) throws

    /// Log entries after a position, oldest first, at most `limit`. Throws `sync.fetchAgain` for one below the floor.
    func changes(after position: Revision, limit: Int) throws -> [LogEntry]

    /// Log entries of one record, newest first, at most `limit`, as far back as the log reaches. The newest is the
    /// tombstone of a record that was deleted. Costs nothing of other records' entries.
    func history(of id: RecordID, in collection: CollectionID, limit: Int) throws -> [LogEntry]

    /// Log entries of one record after a position, all of them, newest first, as far back as the log reaches.
    func history(of id: RecordID, in collection: CollectionID, after position: Revision) throws -> [LogEntry]

    /// Nil where it never pushed.
    func client(_ id: ClientID) throws -> PushClient?

    /// Clients whose ids come after that one, in the order of their ids, at most `limit`.
    func clients(after id: ClientID?, limit: Int) throws -> [PushClient]

    /// Nil where it has none, or where a compaction removed it.
    func outcome(of sequence: Int64, from client: ClientID) throws -> PushOutcome?

    /// Newest first, with numbers below `number` (nil: all), at most `limit`.
    func keptCopies(_ which: KeptCopies, before number: Int64?, limit: Int) throws -> [KeptCopy]

    /// The collections whose records were replaced as a whole (``LogEntry/Kind/replaceAll``), and where the log says so
    /// last: what is known of them from before is of no use.
    func replacements() throws -> [CollectionID: Revision]

    /// The stored state of the collection's mirror; nil: none. It has no log entry.
    func mirrorState(of collection: CollectionID) throws -> WireDictionary?
}

extension StoreSnapshot {
    public func checkCancellation() throws { try Task.checkCancellation() }

    /// For stores whose reads cost no round trip.
    public func prefetch(_ reads: @autoclosure () throws -> [StoreRead]) throws {}

    /// Most rows changed once or twice, so few entries are asked for first.
    public func history(
        of id: RecordID, in collection: CollectionID, after position: Revision
    ) throws -> [LogEntry] {
        var limit = 4
        while true {
            let found = try history(of: id, in: collection, limit: limit)
            let later = found.prefix { $0.position > position }
            if later.count < found.count || found.count < limit { return Array(later) }
            limit *= 8
        }
    }

    /// For stores that keep no mirrors.
    public func replacements() throws -> [CollectionID: Revision] { [:] }

    /// For stores that keep no mirrors.
    public func mirrorState(of collection: CollectionID) throws -> WireDictionary? { nil }

    /// For stores in memory: it looks at all records that the query's limit allows.
    public func query(_ query: Query, in collection: CollectionID, atMost bytes: Int) throws -> RecordPage {
        let page = try self.query(query, in: collection)
        let count = page.count(within: bytes)
        guard count < page.records.count else { return page }
        var shorter = query
        shorter.limit = count
        return try self.query(shorter, in: collection)
    }

    public func rows(
        _ relation: Relation, seen visible: VisibleRows, _ receive: (any RowValues) throws -> Void
    ) throws {
        throw PorticoError(.adapterUnavailable, "This store answers no queries over several entities.")
    }
}

/// A store while it is being changed: reads see what the transaction has done so far. What the body does becomes durable
/// together, or nothing of it.
public protocol StoreTransaction: StoreSnapshot {
    /// The instant of the transaction: what `createdAt` and `modifiedAt` fields get.
    var now: WireDate { get }

    /// Undoes what `body` did where it throws; the transaction goes on either way. May be nested.
    func undoing<Result>(_ body: () throws -> Result) throws -> Result

    /// Runs `body`, whose reads take of `budget` and end, within a statement too, with what it throws.
    func reading<Result>(within budget: RuleReadBudget, _ body: () throws -> Result) throws -> Result

    /// All of the changes or, where it throws, none of them; the transaction goes on either way.
    func apply(_ transaction: WriteTransaction) throws -> WriteReceipt

    /// Stores what a mutation is answered with. The first one binds the client to the identity.
    ///
    /// Throws `access.denied` for a client of another identity, `record.exists` for a sequence number that is not above
    /// the client's last.
    func remember(
        _ content: WireDictionary, of sequence: Int64, from client: ClientID, of identity: String
    ) throws

    /// Removes the clients that are bound to the identity, with what they were answered; returns how many there were.
    func forgetClients(of identity: String) throws -> Int

    /// Stores what a client wrote and what did not become the record. The author's oldest copies go where they are beyond
    /// its share (``KeptCopiesShare``).
    func keep(_ copy: LosingCopy) throws

    /// Stores the state of the collection's mirror, without a log entry.
    func setMirrorState(_ state: WireDictionary, of collection: CollectionID) throws
}

extension StoreTransaction {
    /// For stores in memory, whose reads are short.
    public func reading<Result>(within budget: RuleReadBudget, _ body: () throws -> Result) throws -> Result {
        try budget.spend(.zero)
        return try body()
    }
}

extension StoreTransaction {
    /// For stores that keep no mirrors.
    public func setMirrorState(_ state: WireDictionary, of collection: CollectionID) throws {
        throw PorticoError(.adapterUnavailable, "This store keeps no mirrors.")
    }
}

/// A moment that reads little twice: for the caller that answers many questions at once that look at the same changes.
///
/// Valid as long as the moment that it stands for, on the same thread.
public final class CachingSnapshot: StoreSnapshot {
    private struct Row: Hashable {
        let collection: CollectionID
        let id: RecordID
        /// The limit of ``history(of:in:limit:)``; nil: the record itself.
        let limit: Int?
    }

    /// Entries of a row after a position.
    private struct Recent {
        let after: Revision
        let entries: [LogEntry]
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
    /// From the earliest position that was asked for on; of a row without a limit.
    private var recent: [Row: Recent] = [:]
    private var stretches: [Stretch: [LogEntry]] = [:]
    private var kept = 0
    private var keptBytes = 0

    /// Reads through `snapshot`, and is valid as long as it is.
    public init(_ snapshot: any StoreSnapshot) {
        self.snapshot = snapshot
    }

    public var position: Revision { snapshot.position }
    public var floor: Revision { snapshot.floor }

    public func checkCancellation() throws { try snapshot.checkCancellation() }

    public func prefetch(_ reads: @autoclosure () throws -> [StoreRead]) throws {
        try snapshot.prefetch(try reads())
    }

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

    public func history(
        of id: RecordID, in collection: CollectionID, after position: Revision
    ) throws -> [LogEntry] {
        let row = Row(collection: collection, id: id, limit: nil)
        if let known = recent[row], known.after <= position {
            return Array(known.entries.prefix { $0.position > position })
        }
        let found = try snapshot.history(of: id, in: collection, after: position)
        makeRoom(for: found.count)
        recent[row] = Recent(after: position, entries: found)
        return found
    }

    private func makeRoom(for count: Int, bytes: Int = 0) {
        kept += count + 1
        keptBytes += bytes
        guard kept > Self.most || keptBytes > Self.mostBytes else { return }
        records = [:]
        histories = [:]
        recent = [:]
        stretches = [:]
        kept = count + 1
        keptBytes = bytes
    }
}

extension CachingSnapshot {
    /// Passed on to the underlying snapshot; not cached.
    public func query(_ query: Query, in collection: CollectionID) throws -> RecordPage {
        try snapshot.query(query, in: collection)
    }

    /// Passed on to the underlying snapshot; not cached.
    public func query(_ query: Query, in collection: CollectionID, atMost bytes: Int) throws -> RecordPage {
        try snapshot.query(query, in: collection, atMost: bytes)
    }

    /// Passed on to the underlying snapshot; not cached.
    public func count(_ filter: Filter?, in collection: CollectionID) throws -> Int {
        try snapshot.count(filter, in: collection)
    }

    /// Passed on to the underlying snapshot; not cached.
    public func rows(
        _ relation: Relation, seen visible: VisibleRows, _ receive: (any RowValues) throws -> Void
    ) throws {
        try snapshot.rows(relation, seen: visible, receive)
    }

    /// Passed on to the underlying snapshot; not cached.
    public func replacements() throws -> [CollectionID: Revision] { try snapshot.replacements() }

    /// Passed on to the underlying snapshot; not cached.
    public func mirrorState(of collection: CollectionID) throws -> WireDictionary? {
        try snapshot.mirrorState(of: collection)
    }

    /// Passed on to the underlying snapshot; not cached.
    public func client(_ id: ClientID) throws -> PushClient? { try snapshot.client(id) }

    /// Passed on to the underlying snapshot; not cached.
    public func clients(after id: ClientID?, limit: Int) throws -> [PushClient] {
        try snapshot.clients(after: id, limit: limit)
    }

    /// Passed on to the underlying snapshot; not cached.
    public func outcome(of sequence: Int64, from client: ClientID) throws -> PushOutcome? {
        try snapshot.outcome(of: sequence, from: client)
    }

    /// Passed on to the underlying snapshot; not cached.
    public func keptCopies(_ which: KeptCopies, before number: Int64?, limit: Int) throws -> [KeptCopy] {
        try snapshot.keptCopies(which, before: number, limit: limit)
    }
}
