import AdapterKit
import Synchronization

/// Records with something happening in the moment before each write, or each read: another writer, an outage.
///
/// ```swift
/// let records = FaultInjectingRecordStore(memory.unrestricted) { write in
///     if write == 1 { try await memory.unrestricted.update("tea", ["price": 3], in: "goods") }
/// }
/// ```
public final class FaultInjectingRecordStore: RecordStore {
    public typealias Interruption = @Sendable (_ number: Int) async throws -> Void

    private let base: any RecordStore
    private let interruption: Interruption
    private let readInterruption: Interruption
    private let writes = Mutex(0)
    private let reads = Mutex(0)

    /// `interruption` gets the number of the write, from 1, `beforeReading` that of the read, where a snapshot is one; what
    /// they throw is what the writer or the reader meets.
    public init(
        _ base: any RecordStore, beforeReading: @escaping Interruption = { _ in },
        _ interruption: @escaping Interruption
    ) {
        self.base = base
        self.interruption = interruption
        readInterruption = beforeReading
    }

    public func record(_ id: RecordID, in entity: EntityName) async throws -> Record? {
        try await readInterruption(Self.next(reads))
        return try await base.record(id, in: entity)
    }

    public func query(_ query: Query, in entity: EntityName) async throws -> RecordPage {
        try await readInterruption(Self.next(reads))
        return try await base.query(query, in: entity)
    }

    public func count(_ filter: Filter?, in entity: EntityName) async throws -> Int {
        try await readInterruption(Self.next(reads))
        return try await base.count(filter, in: entity)
    }

    public func requireAccess(_ effect: Effect, to entities: Set<EntityName>) async throws {
        try await base.requireAccess(effect, to: entities)
    }

    public func apply(_ changes: [RecordChange]) async throws -> WriteReceipt {
        try await interruption(Self.next(writes))
        return try await base.apply(changes)
    }

    public func withReadSnapshot<Result: Sendable>(
        _ body: @escaping @Sendable (any RecordSnapshot) throws -> Result
    ) async throws -> Result {
        try await readInterruption(Self.next(reads))
        return try await base.withReadSnapshot(body)
    }

    public func streamSnapshot(
        within time: Duration, _ body: @escaping @Sendable (any RecordSnapshot, any ChunkOutput) throws -> Void
    ) async throws -> any ByteStream {
        try await readInterruption(Self.next(reads))
        return try await base.streamSnapshot(within: time, body)
    }

    private static func next(_ count: borrowing Mutex<Int>) -> Int {
        count.withLock { count in
            count += 1
            return count
        }
    }
}

/// Lets one access of an adapter's to its records fail.
final class RecordFaults: Sendable {
    private struct State {
        var left: Int?
        var wereMet = false
    }

    private let state = Mutex(State())

    /// Whether the access that was to fail has come.
    var wereMet: Bool { state.withLock { $0.wereMet } }

    /// The access of this number from now on fails, and none after it.
    func fail(_ number: Int) { state.withLock { $0 = State(left: number) } }

    func records(_ base: any RecordStore) -> any RecordStore {
        FaultInjectingRecordStore(base, beforeReading: access) { try self.access($0) }
    }

    @Sendable private func access(_ number: Int) throws {
        let fails = state.withLock { state in
            guard let left = state.left else { return false }
            state.left = left > 1 ? left - 1 : nil
            if left == 1 { state.wereMet = true }
            return left == 1
        }
        if fails { throw PorticoError(.storeUnavailable, "The store is not available at the moment.", retryAfter: 1) }
    }
}
