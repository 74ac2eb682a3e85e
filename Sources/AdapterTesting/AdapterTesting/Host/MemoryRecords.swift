import AdapterKit
import Synchronization

/// An adapter's records in memory, with the semantics of the host's stores: checks, defaults, conditions, row rules,
/// filters, total order, cursors, and transactions that happen whole or not at all.
///
/// For tests: nothing is written anywhere, and every query reads all rows of its entity.
public final class MemoryRecords: Sendable {
    private let tables: Mutex<MemoryTables>
    private let clock: any WallClock

    /// Throws for an entity that contradicts itself.
    public init(
        _ declaration: AdapterDeclaration, clock: any WallClock = SettableClock()
    ) throws(PorticoError) {
        tables = Mutex(try MemoryTables(declaration))
        self.clock = clock
    }

    /// The same records, to change apart from these.
    func copy() -> MemoryRecords {
        MemoryRecords(tables.withLock { $0 }, clock: clock)
    }

    private init(_ tables: MemoryTables, clock: any WallClock) {
        self.tables = Mutex(tables)
        self.clock = clock
    }

    /// All records, as the adapter itself has them: no row rules.
    public var unrestricted: any RecordStore { View(records: self, viewer: .adapter) }

    /// The records as far as `principal` may see and change them.
    public func seen(by principal: Principal) -> any RecordStore {
        View(records: self, viewer: .principal(principal))
    }

    /// The same, where each entity says who may write it at all.
    func seen(by principal: Principal, writing declaration: AdapterDeclaration) -> any RecordStore {
        View(records: self, viewer: .principal(principal), writers: (principal, declaration))
    }

    /// The position of the last change; a call that changes nothing leaves it as it is.
    public var position: Revision { tables.withLock { $0.position } }

    /// Asks in a transaction that changes nothing.
    func asking<Result>(_ body: (RecordRuleContext) -> Result) -> Result {
        body(tables.withLock { $0 }.writing(.testUser, clock.now()))
    }

    /// Loads what a host loads into an empty store, in one transaction.
    public func load(_ samples: [SampleRecords]) async throws {
        let changes = samples.flatMap { sample in
            sample.records.map { RecordChange(sample.entity, .create(nil, $0)) }
        }
        _ = try await unrestricted.apply(changes)
    }
}

extension MemoryRecords {
    private struct View: RecordStore {
        let records: MemoryRecords
        let viewer: Viewer
        var writers: (principal: Principal, declaration: AdapterDeclaration)?

        func record(_ id: RecordID, in entity: EntityName) async throws -> Record? {
            try records.tables.withLock { try $0.record(id, in: entity, seenBy: viewer) }
        }

        func query(_ query: Query, in entity: EntityName) async throws -> RecordPage {
            try records.tables.withLock { try $0.page(query, in: entity, seenBy: viewer) }
        }

        func count(_ filter: Filter?, in entity: EntityName) async throws -> Int {
            try records.tables.withLock { try $0.matching(filter, in: entity, seenBy: viewer).count }
        }

        func requireAccess(_ effect: Effect, to entities: Set<EntityName>) async throws {
            guard case .principal(let principal) = viewer else { return }
            for name in entities {
                let entity = try records.tables.withLock { try $0.table(name).entity }
                let access =
                    effect == .reads ? entity.readers : writers?.declaration.writers(of: entity) ?? entity.writers
                try access?.authorize(principal)
            }
        }

        func apply(_ changes: [RecordChange]) async throws -> WriteReceipt {
            if let (principal, declaration) = writers {
                for entity in changes.compactMap({ declaration.entity($0.entity) }) {
                    try declaration.writers(of: entity).authorize(principal)
                }
            }
            let now = records.clock.now()
            return try records.tables.withLock { tables in
                var changed = tables
                let receipt = try changed.apply(changes, by: viewer, at: now)
                tables = changed
                return receipt
            }
        }
    }
}

/// Whose view of the records it is.
enum Viewer: Sendable {
    case adapter
    case principal(Principal)

    /// Creators' fields hold it.
    var name: String {
        switch self {
        case .adapter: Principal.system.name
        case .principal(let principal): principal.name
        }
    }

    /// Nil: the adapter itself.
    var callerName: String? {
        guard case .principal(let principal) = self else { return nil }
        return principal.name
    }

    func filter(_ rule: RowRule) -> Filter? {
        switch self {
        case .adapter: nil
        case .principal(let principal): rule.filter(for: principal)
        }
    }
}

/// The records at one moment, as the adapter itself has them.
struct MemorySnapshot: RecordSnapshot {
    let tables: MemoryTables

    var position: Revision { tables.position }

    func record(_ id: RecordID, in entity: EntityName) throws -> Record? {
        try tables.record(id, in: entity, seenBy: .adapter)
    }

    func query(_ query: Query, in entity: EntityName) throws -> RecordPage {
        try tables.page(query, in: entity, seenBy: .adapter)
    }

    func count(_ filter: Filter?, in entity: EntityName) throws -> Int {
        try tables.matching(filter, in: entity, seenBy: .adapter).count
    }

    func rows(_ relation: Relation, _ receive: (any RowValues) throws -> Void) throws {
        throw PorticoError(.adapterUnavailable, "These records answer no queries over several entities.")
    }
}
