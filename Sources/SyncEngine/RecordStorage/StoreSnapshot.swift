import AdapterKit

/// A store at one moment: whatever is read through it belongs together.
///
/// Valid only within the call that hands it out, on that call's thread. What its methods throw is to be passed on
/// unchanged: a store may break a read off and begin it again.
public protocol StoreSnapshot {
    /// The last operation id that is visible.
    var position: Revision { get }

    /// The log holds every entry after this operation id, and none up to it.
    var floor: Revision { get }

    /// Throws where nobody waits for the read any more: for bodies that do much between two of its other calls, which ask
    /// by themselves.
    func checkCancellation() throws

    /// The record, where it is there and `visible` (nil: always) holds for it.
    func record(_ id: RecordID, in collection: CollectionID, visible: Filter?) throws -> Record?

    func query(_ query: Query, in collection: CollectionID) throws -> RecordPage

    /// The same, but the page ends early where its records would be larger than `bytes` (``Record/writtenSize``), as if
    /// the query's limit were reached. Whatever its size, the first record is in it.
    func query(_ query: Query, in collection: CollectionID, atMost bytes: Int) throws -> RecordPage

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

    /// Nil where it never pushed.
    func client(_ id: ClientID) throws -> PushClient?

    /// Clients whose ids come after that one, in the order of their ids, at most `limit`.
    func clients(after id: ClientID?, limit: Int) throws -> [PushClient]

    /// Nil where it has none, or where a compaction removed it.
    func outcome(of sequence: Int64, from client: ClientID) throws -> PushOutcome?

    /// Newest first, with numbers below `number` (nil: all), at most `limit`.
    func keptCopies(_ which: KeptCopies, before number: Int64?, limit: Int) throws -> [KeptCopy]
}

extension StoreSnapshot {
    public func checkCancellation() throws { try Task.checkCancellation() }

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

    /// All of the changes or, where it throws, none of them; the transaction goes on either way.
    func apply(_ transaction: WriteTransaction) throws -> WriteReceipt

    /// Stores what a mutation is answered with. The first one binds the client to the identity.
    ///
    /// Throws `access.denied` for a client of another identity, `record.exists` for a sequence number that is not above
    /// the client's last.
    func remember(
        _ content: WireDictionary, of sequence: Int64, from client: ClientID, of identity: String
    ) throws

    func keep(_ copy: LosingCopy) throws
}
