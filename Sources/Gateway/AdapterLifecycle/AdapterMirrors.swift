import AdapterKit
import MirrorEngine
import RecordStorage

/// What mirrors of adapters need of the host.
public struct MirrorSetup: Sendable {
    private let store: any MirrorStore
    private let states: [CollectionID: WireDictionary]
    private let clock: any WallClock

    /// Reads what the store has of the mirrors that these collections are.
    public init(_ collections: [CollectionID], in store: any MirrorStore, clock: any WallClock) async throws {
        self.store = store
        self.clock = clock
        states = try await store.withReadSnapshot { snapshot in
            var states: [CollectionID: WireDictionary] = [:]
            for collection in collections { states[collection] = try snapshot.mirrorState(of: collection) }
            return states
        }
    }

    func mirrors(
        of declaration: AdapterDeclaration, adapter: any Adapter, status: AdapterStatus, log: Log
    ) -> [Mirror] {
        declaration.mirrors.compactMap { source in
            guard let entity = declaration.entity(source.entity) else { return nil }
            let collection = CollectionDeclaration(adapter: declaration.name, entity: entity)
            return Mirror(
                source, of: collection, stored: states[collection.id], in: store, clock: clock, log: log,
                read: { request in
                    try status.requireRunning()
                    return try await adapter.readMirror(request)
                })
        }
    }
}

extension ServedAdapter {
    /// Refreshes the adapter's mirrors until the task is cancelled. To be called once, when the adapter has been started.
    public func keepMirrors() async {
        await withTaskGroup(of: Void.self) { group in
            for mirror in mirrors { group.addTask { await mirror.run() } }
        }
    }

    func mirror(of entity: EntityName) -> Mirror? { mirrors.first { $0.source.entity == entity } }

    /// The mirrors that an operation's answers are made of.
    func mirrors(of operation: Operation) -> [Mirror] {
        guard operation.effect == .reads, operation.audience == .callers else { return [] }
        guard let entities = operation.entities else { return mirrors }
        return mirrors.filter { entities.contains($0.source.entity) }
    }
}
