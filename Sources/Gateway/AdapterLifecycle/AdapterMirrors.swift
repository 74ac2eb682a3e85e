import AdapterKit
import MirrorEngine
import RecordStorage

/// What mirrors of adapters need of the host.
public struct MirrorSetup: Sendable {
    private let store: any MirrorStore
    private let states: [CollectionID: WireDictionary]
    private let clock: any WallClock
    /// Upstreams that are called in their callers' names.
    private let ofCallers: Set<UpstreamName>

    /// Reads what the store has of the mirrors that these collections are. `ofCallers`: the upstreams that are called in
    /// their callers' names.
    public init(
        _ collections: [CollectionID], in store: any MirrorStore, ofCallers: Set<UpstreamName> = [],
        clock: any WallClock
    ) async throws {
        self.store = store
        self.clock = clock
        self.ofCallers = ofCallers
        states = try await store.withReadSnapshot { snapshot in
            var states: [CollectionID: WireDictionary] = [:]
            for collection in collections { states[collection] = try snapshot.mirrorState(of: collection) }
            return states
        }
    }

    /// What callers change of the mirrors that can be changed.
    func writes(
        of declaration: AdapterDeclaration, adapter: any Adapter, status: AdapterStatus, log: Log
    ) -> [MirrorWrites] {
        declaration.mirrors.compactMap { source in
            guard source.writing != .none, let entity = declaration.entity(source.entity) else { return nil }
            return MirrorWrites(
                source, of: CollectionDeclaration(adapter: declaration.name, entity: entity), in: store, clock: clock,
                log: log,
                send: { change in
                    try status.requireRunning()
                    return try await adapter.writeMirror(change)
                },
                readBack: { id in
                    try status.requireRunning()
                    return try await adapter.readMirror(source.entity, id)
                })
        }
    }

    func mirrors(
        of declaration: AdapterDeclaration, adapter: any Adapter, writes: [MirrorWrites], status: AdapterStatus,
        log: Log
    ) -> [Mirror] {
        declaration.mirrors.compactMap { source in
            guard let entity = declaration.entity(source.entity) else { return nil }
            let collection = CollectionDeclaration(adapter: declaration.name, entity: entity)
            return Mirror(
                source, of: collection, stored: states[collection.id], in: store,
                writes: writes.first { $0.id == collection.id }, clock: clock, log: log,
                read: { request in
                    try status.requireRunning()
                    return try await adapter.readMirror(request)
                })
        }
    }
}

extension MirrorSetup {
    func callsThrough(of declaration: AdapterDeclaration, log: Log) -> [AdapterCallThrough] {
        declaration.operations.compactMap { operation in
            operation.callThrough.map { settings in
                let calls = CallThroughCalls(operation.name, settings, clock: clock, log: log)
                return AdapterCallThrough(
                    calls: calls, owners: ofCallers.contains(settings.upstream) ? AnswerOwners(calls) : nil)
            }
        }
    }
}

extension ServedAdapter {
    /// Refreshes the adapter's mirrors, sends what callers change of them, and makes the calls of other systems that
    /// answer its operations, until the task is cancelled. To be called once, when the adapter has been started.
    public func keepMirrors() async {
        await withTaskGroup(of: Void.self) { group in
            for mirror in mirrors { group.addTask { await mirror.run() } }
            for callThrough in callsThrough { group.addTask { await callThrough.calls.run() } }
            for write in writes { group.addTask { await write.run() } }
        }
    }

    func callThrough(_ operation: OperationName) -> AdapterCallThrough? {
        callsThrough.first { $0.calls.operation == operation }
    }

    func mirror(of entity: EntityName) -> Mirror? { mirrors.first { $0.source.entity == entity } }

    /// The mirrors that an operation's answers are made of.
    func mirrors(of operation: Operation) -> [Mirror] {
        guard operation.effect == .reads, operation.audience == .callers else { return [] }
        guard let entities = operation.entities else { return mirrors }
        return mirrors.filter { entities.contains($0.source.entity) }
    }
}

extension [Mirror] {
    /// The age of the oldest, where all are fresh; nil where one is not and a read has to ask (``age()``).
    func freshAge() -> MirrorAge? {
        var oldest: MirrorAge?
        for mirror in self {
            guard let age = mirror.freshAge() else { return nil }
            if age.asOf.secondsSinceReferenceDate < oldest?.asOf.secondsSinceReferenceDate ?? .infinity { oldest = age }
        }
        return oldest
    }

    /// The age of the oldest, once those that are not fresh have been refreshed or waited for. Throws as ``Mirror/read()``
    /// does; nil: there are none.
    func age() async throws -> MirrorAge? {
        if count <= 1 { return try await first?.read() }
        return try await withThrowingTaskGroup(of: MirrorAge.self) { group in
            for mirror in self { group.addTask { try await mirror.read() } }
            var oldest: MirrorAge?
            for try await age in group {
                if age.asOf.secondsSinceReferenceDate < oldest?.asOf.secondsSinceReferenceDate ?? .infinity {
                    oldest = age
                }
            }
            return oldest
        }
    }
}

/// How old an adapter's mirrored records are, for its mounts.
struct AdapterRecordAges: RecordAges {
    let mirrors: [Mirror]

    func age(of entities: Set<EntityName>) async throws -> RecordAge? {
        let read = mirrors.filter { entities.contains($0.source.entity) }
        if let age = read.freshAge() { return age.recordAge }
        return try await read.age()?.recordAge
    }
}

/// Changes of mirrors that are made in other systems while their callers wait.
struct AdapterWriteThrough: WriteThrough {
    let writes: [MirrorWrites]

    func write(
        _ mirror: CollectionID, _ propose: @escaping @Sendable (any StoreTransaction) throws -> RecordID
    ) async throws -> WriteReceipt {
        guard let writes = writes.first(where: { $0.id == mirror }) else {
            throw PorticoError(.adapterUnavailable, "Changes of \(mirror) cannot be sent.")
        }
        return try await writes.write(mirror, propose)
    }
}

/// The host's own part of what is served: what it keeps for callers, without an operation.
struct HostAdapter: Adapter {
    func handle(_ call: Call) async throws -> OperationResult {
        throw PorticoError(.routeNotFound, "There is no such operation.", target: call.operation.text)
    }
}

extension ServedAdapter {
    /// Serves the records of pending writes. Needed where a mirror can be written.
    public static func pendingWrites(log: Log) -> ServedAdapter {
        ServedAdapter(declaration: PendingWriteRecords.declaration, adapter: HostAdapter(), access: nil, log: log)
    }
}
