import AdapterKit
import MemoryStore
import RecordStorage

/// An adapter's records in memory, as the host has them: its store's promises and its view of callers, without the durability.
///
/// For tests: nothing is written anywhere, and every query reads all rows of its entity.
public final class MemoryRecords: Sendable {
    private let store: MemoryStore
    private let declaration: AdapterDeclaration
    private let clock: any WallClock

    /// Throws for an entity that contradicts itself.
    public convenience init(
        _ declaration: AdapterDeclaration, clock: any WallClock = SettableClock()
    ) throws(PorticoError) {
        var tables = MemoryTables()
        let collections = declaration.entities.map { CollectionDeclaration(adapter: declaration.name, entity: $0) }
        try tables.install(collections + PendingWriteRecords.collections, at: clock.now())
        self.init(tables, declaration, clock)
    }

    private init(_ tables: MemoryTables, _ declaration: AdapterDeclaration, _ clock: any WallClock) {
        store = MemoryStore(tables, clock: clock)
        self.declaration = declaration
        self.clock = clock
    }

    /// The same records, to change apart from these.
    func copy() throws(PorticoError) -> MemoryRecords { MemoryRecords(try store.image, declaration, clock) }

    /// All records, as the adapter itself has them: no row rules.
    public var unrestricted: any RecordStore { AdapterRecords(store: store, declaration: declaration) }

    /// The records as far as `principal` may see and change them.
    public func seen(by principal: Principal) -> any RecordStore {
        AdapterRecords(store: store, declaration: declaration, principal: principal)
    }

    /// The same, where each entity says who may write it at all.
    func seen(by principal: Principal, writing declaration: AdapterDeclaration) -> any RecordStore {
        AdapterRecords(store: store, declaration: declaration.decidingWriters, principal: principal)
    }

    /// The position of the last change; a call that changes nothing leaves it as it is.
    public var position: Revision { store.position }

    /// Asks in a snapshot, as the rules of a change are asked.
    func asking<Result: Sendable>(_ body: @escaping @Sendable (RecordRuleContext) -> Result) async throws -> Result {
        let now = clock.now()
        return try await unrestricted.withReadSnapshot { snapshot in
            body(RecordRuleContext(snapshot: snapshot, caller: .testUser, now: now))
        }
    }

    /// Loads what a host loads into an empty store, in one transaction.
    public func load(_ samples: [SampleRecords]) async throws {
        let changes = samples.flatMap { sample in
            sample.records.map { RecordChange(sample.entity, .create(nil, $0)) }
        }
        _ = try await unrestricted.apply(changes)
    }
}
