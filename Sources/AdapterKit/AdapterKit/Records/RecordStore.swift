import Synchronization

/// An adapter's records, with the rights of the adapter itself, or of the caller that it serves.
///
/// Values are checked against the entity's declaration before anything is written. Every method throws
/// ``PorticoError``. Implementations are safe to use from any task.
public protocol RecordStore: Sendable {
    /// Nil where there is none that may be seen.
    func record(_ id: RecordID, in entity: EntityName) async throws -> Record?

    /// One page of the records that match the query.
    func query(_ query: Query, in entity: EntityName) async throws -> RecordPage

    /// The number of records that match the filter; nil counts all.
    func count(_ filter: Filter?, in entity: EntityName) async throws -> Int

    /// Throws `auth.required` or `access.denied` where the caller may not do that with the records of all of these entities.
    /// To be asked before changes on the adapter's own authority that a caller wants, and before changes whose answer shows
    /// what the caller has to be let read. The adapter itself may do everything. Throws `adapter.unavailable` where a store
    /// does not know its callers.
    func requireAccess(_ effect: Effect, to entities: Set<EntityName>) async throws

    /// All of them or none, in one transaction; returns when it is durable. Of a record that the caller may write and not
    /// read, the receipt has what the change said of it.
    func apply(_ changes: [RecordChange]) async throws -> WriteReceipt

    /// Reads that belong together. `body` may run twice, so it keeps nothing of a run that did not end, and must not wait
    /// for anything. Throws `adapter.unavailable` where a store cannot do this.
    func withReadSnapshot<Result: Sendable>(
        _ body: @escaping @Sendable (any RecordSnapshot) throws -> Result
    ) async throws -> Result

    /// Reads that belong together and go on for as long as their result is taken: the pieces are what `body` sends, and
    /// no more of them stands in memory than is on its way.
    ///
    /// `body` may run twice before its first piece is taken, waits for nothing but its output, and is ended by the
    /// pieces' `end()` and after `time`; ``ByteStream/next()`` throws what it throws. Throws `server.overloaded` where too
    /// many such reads are waiting. A store may hold connections and old states for them: what is small is better read
    /// ``withReadSnapshot(_:)``.
    func streamSnapshot(
        within time: Duration, _ body: @escaping @Sendable (any RecordSnapshot, any ChunkOutput) throws -> Void
    ) async throws -> any ByteStream
}

extension RecordStore {
    public func requireAccess(_ effect: Effect, to entities: Set<EntityName>) async throws {
        throw PorticoError(.adapterUnavailable, "This store does not say what callers may do.")
    }

    public func withReadSnapshot<Result: Sendable>(
        _ body: @escaping @Sendable (any RecordSnapshot) throws -> Result
    ) async throws -> Result {
        throw PorticoError(.adapterUnavailable, "This store answers no queries over several entities.")
    }

    /// Creates one record and returns it as stored.
    @discardableResult
    public func create(_ fields: WireDictionary, id: RecordID? = nil, in entity: EntityName) async throws -> Record {
        try await single(RecordChange(entity, .create(id, fields)))
    }

    /// Changes the named fields of one record and returns it as stored.
    @discardableResult
    public func update(
        _ id: RecordID, _ fields: WireDictionary, in entity: EntityName,
        if condition: RecordChange.Condition = .none
    ) async throws -> Record {
        try await single(RecordChange(entity, .update(id, fields), if: condition))
    }

    /// Deletes one record and those that belong to it.
    public func delete(
        _ id: RecordID, in entity: EntityName, if condition: RecordChange.Condition = .none
    ) async throws {
        _ = try await apply([RecordChange(entity, .delete(id), if: condition)])
    }

    private func single(_ change: RecordChange) async throws -> Record {
        guard let record = try await apply([change]).records.first ?? nil else {
            throw PorticoError(.serverInternal, "The record is not there after it was written.")
        }
        return record
    }
}

/// Where a read puts what it has found, while it goes on.
public protocol ChunkOutput: Sendable {
    /// Returns when there is room for the next piece: a read is as fast as the reader of its pieces. Throws
    /// where that reader has gone, or the read has taken too long; the read is to end then.
    func send(_ piece: [UInt8]) throws
}

/// Chunks that a read has sent, all of them in memory.
public final class BufferedChunks: ChunkOutput, ByteStream {
    private let pieces = Mutex<[[UInt8]]>([])

    /// Creates an empty buffer.
    public init() {}

    public func send(_ piece: [UInt8]) { pieces.withLock { $0.append(piece) } }

    public func next() -> [UInt8]? { pieces.withLock { $0.isEmpty ? nil : $0.removeFirst() } }

    public func cancel() { pieces.withLock { $0 = [] } }
}

extension RecordStore {
    /// Reads one snapshot whole, then returns it piece by piece: for stores that cannot read while a caller takes pieces.
    public func streamSnapshot(
        within time: Duration, _ body: @escaping @Sendable (any RecordSnapshot, any ChunkOutput) throws -> Void
    ) async throws -> any ByteStream {
        try await withReadSnapshot { snapshot in
            let gathered = BufferedChunks()
            try body(snapshot, gathered)
            return gathered
        }
    }
}
