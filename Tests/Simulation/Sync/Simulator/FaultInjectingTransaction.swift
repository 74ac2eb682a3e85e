import AdapterKit
import RecordStorage

/// A moment of the store that keeps its promises, or not: what ``Sabotage`` breaks on the server's side.
class FaultInjectingSnapshot: StoreSnapshot {
    private let base: any StoreSnapshot
    fileprivate let sabotage: Sabotage?

    init(_ base: any StoreSnapshot, _ sabotage: Sabotage?) {
        self.base = base
        self.sabotage = sabotage
    }

    var position: Revision { base.position }

    var floor: Revision { sabotage == .tombstoneWindow ? Revision(0) : base.floor }

    func changes(after position: Revision, limit: Int) throws -> [LogEntry] {
        try base.changes(after: sabotage == .tombstoneWindow ? max(position, base.floor) : position, limit: limit)
    }

    func client(_ id: ClientID) throws -> PushClient? {
        sabotage == .deduplication ? nil : try base.client(id)
    }

    func outcome(of sequence: Int64, from client: ClientID) throws -> PushOutcome? {
        sabotage == .deduplication ? nil : try base.outcome(of: sequence, from: client)
    }

    func record(_ id: RecordID, in collection: CollectionID, visible: Filter?) throws -> Record? {
        try base.record(id, in: collection, visible: visible)
    }

    func query(_ query: Query, in collection: CollectionID) throws -> RecordPage {
        try base.query(query, in: collection)
    }

    func count(_ filter: Filter?, in collection: CollectionID) throws -> Int {
        try base.count(filter, in: collection)
    }

    func history(of id: RecordID, in collection: CollectionID, limit: Int) throws -> [LogEntry] {
        try base.history(of: id, in: collection, limit: limit)
    }

    func replacements() throws -> [CollectionID: Revision] { try base.replacements() }

    func clients(after id: ClientID?, limit: Int) throws -> [PushClient] { try base.clients(after: id, limit: limit) }

    func keptCopies(_ which: KeptCopies, before number: Int64?, limit: Int) throws -> [KeptCopy] {
        try base.keptCopies(which, before: number, limit: limit)
    }
}

/// A transaction of that store, in which the server may die.
final class FaultInjectingTransaction: FaultInjectingSnapshot, StoreTransaction {
    /// The process ends in the middle of a transaction.
    struct Death: Error {}

    private let base: any StoreTransaction
    /// Outcomes that are still remembered before the end comes; nil: it does not come.
    private var outcomesLeft: Int?

    init(_ base: any StoreTransaction, _ sabotage: Sabotage?, outcomesLeft: Int?) {
        self.base = base
        self.outcomesLeft = outcomesLeft
        super.init(base, sabotage)
    }

    func apply(_ transaction: WriteTransaction) throws -> WriteReceipt { try base.apply(transaction) }

    func remember(
        _ content: WireDictionary, of sequence: Int64, from client: ClientID, of identity: String
    ) throws {
        if outcomesLeft == 0 { throw Death() }
        outcomesLeft = outcomesLeft.map { $0 - 1 }
        if sabotage == .deduplication {
            try? base.remember(content, of: sequence, from: client, of: identity)
        } else {
            try base.remember(content, of: sequence, from: client, of: identity)
        }
    }

    func forgetClients(of identity: String) throws -> Int { try base.forgetClients(of: identity) }

    func keep(_ copy: LosingCopy) throws { try base.keep(copy) }

    func undoing<Result>(_ body: () throws -> Result) throws -> Result { try base.undoing(body) }

    var now: WireDate { base.now }
}
