import AdapterKit
import RecordStorage
import Synchronization

/// A store in memory: what the `Store` protocol promises, without the durability. It yields at every call, so that
/// callers interleave.
final class MemoryStore: RecordsOnlyStore {
    let epoch = Epoch("memory")
    private let state = Mutex(MemoryTables())

    func install(_ collections: [CollectionDeclaration]) async throws {
        state.withLock { $0.install(collections) }
    }

    func record(_ id: RecordID, in collection: CollectionID, visible: Filter?) async throws -> Record? {
        await Task.yield()
        return try state.withLock { try $0.records(of: collection).first { $0.id == id } }
    }

    func query(_ query: Query, in collection: CollectionID) async throws -> RecordPage {
        await Task.yield()
        return try state.withLock { try $0.query(query, in: collection) }
    }

    func count(_ filter: Filter?, in collection: CollectionID) async throws -> Int {
        try await query(Query(filter, limit: .max), in: collection).records.count
    }

    func write(_ transaction: WriteTransaction) async throws -> WriteReceipt {
        await Task.yield()
        return try state.withLock { tables in
            var changed = tables
            let records = try transaction.steps.map { try changed.apply($0.change, in: $0.collection) }
            tables = changed
            return WriteReceipt(position: changed.position, records: records)
        }
    }

    var position: Revision { state.withLock { $0.position } }

    func position(of adapter: AdapterName) -> Revision { position }

    func close() async {}
}

extension MemoryStore {
    /// Everything that is stored, as text: what a thief of the database would see.
    var dump: String { state.withLock { String(describing: $0.rows) } }

    /// Changes a record behind everybody's back, as somebody with the database file could; nil deletes it.
    func tamper(_ id: RecordID, in entity: EntityName, _ change: (WireDictionary) -> WireDictionary?) {
        state.withLock { $0.tamper(id, in: CollectionID("identity", entity), change) }
    }

    func all(_ entity: EntityName) -> [Record] {
        state.withLock { (try? $0.records(of: CollectionID("identity", entity))) ?? [] }
    }
}
