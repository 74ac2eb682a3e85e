import AdapterKit
import RecordStorage

/// A transaction in which storing certain records fails.
struct FailingTransaction: StoreTransaction {
    private let inner: any StoreTransaction
    private let fails: [RecordID: PorticoError]

    init(_ inner: any StoreTransaction, _ fails: [RecordID: PorticoError]) {
        self.inner = inner
        self.fails = fails
    }

    func apply(_ transaction: WriteTransaction) throws -> WriteReceipt {
        for step in transaction.steps {
            if case .create(let id?, _) = step.change.action, let error = fails[id] { throw error }
        }
        return try inner.apply(transaction)
    }

    func remember(
        _ content: WireDictionary, of sequence: Int64, from client: ClientID, of identity: String
    ) throws {
        try inner.remember(content, of: sequence, from: client, of: identity)
    }

    func forgetClients(of identity: String) throws -> Int { try inner.forgetClients(of: identity) }

    func keep(_ copy: LosingCopy) throws { try inner.keep(copy) }

    func undoing<Result>(_ body: () throws -> Result) throws -> Result { try inner.undoing(body) }

    var now: WireDate { inner.now }

    var position: Revision { inner.position }
    var floor: Revision { inner.floor }

    func record(_ id: RecordID, in collection: CollectionID, visible: Filter?) throws -> Record? {
        try inner.record(id, in: collection, visible: visible)
    }

    func query(_ query: Query, in collection: CollectionID) throws -> RecordPage {
        try inner.query(query, in: collection)
    }

    func count(_ filter: Filter?, in collection: CollectionID) throws -> Int { try inner.count(filter, in: collection) }

    func changes(after position: Revision, limit: Int) throws -> [LogEntry] {
        try inner.changes(after: position, limit: limit)
    }

    func history(of id: RecordID, in collection: CollectionID, limit: Int) throws -> [LogEntry] {
        try inner.history(of: id, in: collection, limit: limit)
    }

    func replacements() throws -> [CollectionID: Revision] { try inner.replacements() }

    func client(_ id: ClientID) throws -> PushClient? { try inner.client(id) }

    func clients(after id: ClientID?, limit: Int) throws -> [PushClient] { try inner.clients(after: id, limit: limit) }

    func outcome(of sequence: Int64, from client: ClientID) throws -> PushOutcome? {
        try inner.outcome(of: sequence, from: client)
    }

    func keptCopies(_ which: KeptCopies, before number: Int64?, limit: Int) throws -> [KeptCopy] {
        try inner.keptCopies(which, before: number, limit: limit)
    }
}
