import AdapterKit
import RecordStorage

/// A transaction's own copy of the tables, which replaces them where nothing is thrown.
final class MemoryTransaction: StoreTransaction {
    private(set) var tables: MemoryTables
    let now: WireDate
    private let ids: any RecordIDSource

    init(_ tables: MemoryTables, now: WireDate, ids: any RecordIDSource) {
        self.tables = tables
        self.now = now
        self.ids = ids
    }

    func undoing<Result>(_ body: () throws -> Result) throws -> Result {
        let before = tables
        do { return try body() } catch {
            tables = before
            throw error
        }
    }

    func apply(_ transaction: WriteTransaction) throws -> WriteReceipt {
        var changed = tables
        let records = try transaction.steps.map { step in
            let position = Revision(changed.position.number + 1)
            let authorship = Authorship(author: transaction.author, time: now, position: position)
            return try MemoryChange(step, authorship, ids).perform(on: &changed)
        }
        tables = changed
        return WriteReceipt(position: tables.position, records: records)
    }

    func remember(
        _ content: WireDictionary, of sequence: Int64, from client: ClientID, of identity: String
    ) throws {
        if let known = tables.clients[client] {
            guard known.identity == identity else {
                throw PorticoError(.accessDenied, "The client id belongs to somebody else.")
            }
            guard sequence > known.lastSequence else {
                throw PorticoError(.recordExists, "The sequence number was used already.", target: "sequence")
            }
        }
        tables.clients[client] = PushClient(id: client, identity: identity, lastSequence: sequence, time: now)
        tables.outcomes[client, default: [:]][sequence] = PushOutcome(
            client: client, sequence: sequence, content: content, position: position)
    }

    func keep(_ copy: LosingCopy) throws {
        let number = (tables.kept.last?.number ?? 0) + 1
        tables.kept.append(KeptCopy(number: number, time: now, position: position, copy: copy))
    }
}

extension MemoryTransaction {
    var position: Revision { tables.position }
    var floor: Revision { tables.floor }

    func record(_ id: RecordID, in collection: CollectionID, visible: Filter?) throws -> Record? {
        try tables.record(id, in: collection, visible: visible)
    }

    func query(_ query: Query, in collection: CollectionID) throws -> RecordPage {
        try tables.query(query, in: collection)
    }

    func count(_ filter: Filter?, in collection: CollectionID) throws -> Int {
        try tables.count(filter, in: collection)
    }

    func changes(after position: Revision, limit: Int) throws -> [LogEntry] {
        try tables.changes(after: position, limit: limit)
    }

    func history(of id: RecordID, in collection: CollectionID, limit: Int) throws -> [LogEntry] {
        try tables.history(of: id, in: collection, limit: limit)
    }

    func client(_ id: ClientID) throws -> PushClient? { try tables.client(id) }

    func clients(after id: ClientID?, limit: Int) throws -> [PushClient] {
        try tables.clients(after: id, limit: limit)
    }

    func outcome(of sequence: Int64, from client: ClientID) throws -> PushOutcome? {
        try tables.outcome(of: sequence, from: client)
    }

    func keptCopies(_ which: KeptCopies, before number: Int64?, limit: Int) throws -> [KeptCopy] {
        try tables.keptCopies(which, before: number, limit: limit)
    }
}
