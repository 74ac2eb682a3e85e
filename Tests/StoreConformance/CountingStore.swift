import AdapterKit
import RecordStorage
import Synchronization

/// Counts what reads would cost over a store behind a network: a round trip for the beginning of a transaction or a snapshot
/// with the reads that were declared for it, one for each prefetch, and one for each read that was not declared.
///
/// It fetches what was declared and nothing else, once, and sees its transaction's own changes, as a store does that
/// keeps them until the commit.
public final class CountingStore: Store {
    /// What was counted.
    public struct Figures: Sendable {
        /// Transactions and snapshots that were begun.
        public fileprivate(set) var begun = 0
        /// Calls of ``StoreSnapshot/prefetch(_:)`` that had something to fetch.
        public fileprivate(set) var prefetches = 0
        /// Reads that were not declared, as words.
        public fileprivate(set) var undeclared: [String] = []
        /// Reads in all.
        public fileprivate(set) var reads = 0
    }

    private let base: any Store
    private let counted = Mutex(Figures())

    /// Counts the reads of `base` through it.
    public init(_ base: any Store) {
        self.base = base
    }

    /// What was counted since the last call.
    public func takeFigures() -> Figures {
        counted.withLock { figures in
            defer { figures = Figures() }
            return figures
        }
    }

    fileprivate func count(_ change: (inout Figures) -> Void) { counted.withLock { change(&$0) } }

    public func withReadSnapshot<Result: Sendable>(
        expecting reads: [StoreRead], _ body: @escaping @Sendable (any StoreSnapshot) throws -> Result
    ) async throws -> Result {
        try await base.withReadSnapshot(expecting: reads) { [self] snapshot in
            count { $0.begun += 1 }
            return try body(CountingSnapshot(snapshot, self, FetchedReads(reads)))
        }
    }

    public func transact<Result: Sendable>(
        weight: Int, expecting reads: [StoreRead], _ body: @escaping @Sendable (any StoreTransaction) throws -> Result
    ) async throws -> Result {
        try await base.transact(weight: weight, expecting: reads) { [self] transaction in
            count { $0.begun += 1 }
            return try body(CountingTransaction(transaction, self, FetchedReads(reads)))
        }
    }
}

extension CountingStore {
    public var epoch: Epoch { base.epoch }
    public var floor: Revision { base.floor }
    public var position: Revision { base.position }
    public func position(of adapter: AdapterName) -> Revision { base.position(of: adapter) }
    public func knownVersion(of adapter: AdapterName) -> RecordsVersion? { base.knownVersion(of: adapter) }
    public func install(_ collections: [CollectionDeclaration]) async throws { try await base.install(collections) }
    public func write(_ transaction: WriteTransaction) async throws -> WriteReceipt {
        try await base.write(transaction)
    }
    public func close() async { await base.close() }

    public func currentVersion(of adapter: AdapterName) async throws -> RecordsVersion {
        try await base.currentVersion(of: adapter)
    }

    public func record(_ id: RecordID, in collection: CollectionID, visible: Filter?) async throws -> Record? {
        try await base.record(id, in: collection, visible: visible)
    }

    public func query(_ query: Query, in collection: CollectionID) async throws -> RecordPage {
        try await base.query(query, in: collection)
    }

    public func count(_ filter: Filter?, in collection: CollectionID) async throws -> Int {
        try await base.count(filter, in: collection)
    }

    public func changes(after position: Revision, limit: Int) async throws -> [LogEntry] {
        try await base.changes(after: position, limit: limit)
    }

    public func compact(_ bound: CompactionBound, dryRun: Bool) async throws -> Compaction {
        try await base.compact(bound, dryRun: dryRun)
    }

    public func forgetCopies(keptBefore instant: WireDate, dryRun: Bool) async throws -> Int {
        try await base.forgetCopies(keptBefore: instant, dryRun: dryRun)
    }

    public func observe<Observer: AnyObject & Sendable>(
        _ observer: Observer, _ body: @escaping @Sendable (Observer, Revision) -> Void
    ) { base.observe(observer, body) }
}

/// What a transaction or a snapshot has fetched.
private struct FetchedReads {
    private struct Row: Hashable {
        let id: RecordID
        let collection: CollectionID
    }

    private var records: Set<Row> = []
    private var removals: Set<Row> = []
    private var limits: [Row: Int] = [:]
    private var starts: [Row: Revision] = [:]
    private var clients: Set<ClientID> = []
    private var outcomes: [ClientID: Set<Int64>] = [:]
    private var mirrorStates: Set<CollectionID> = []
    private var hasReplacements = false
    private var others: [StoreRead] = []

    init(_ reads: [StoreRead]) { for read in reads { add(read) } }

    /// Whether the store need not be asked.
    func has(_ read: StoreRead) -> Bool {
        switch read {
        case .record(let id, let collection): records.contains(Row(id: id, collection: collection))
        case .removal(let id, let collection): removals.contains(Row(id: id, collection: collection))
        case .latestHistory(let id, let collection, let limit):
            limits[Row(id: id, collection: collection)].map { $0 >= limit } ?? false
        case .history(let id, let collection, let after):
            starts[Row(id: id, collection: collection)].map { $0 <= after } ?? false
        case .client(let id): clients.contains(id)
        case .outcome(let sequence, let client): outcomes[client]?.contains(sequence) ?? false
        case .mirrorState(let collection): mirrorStates.contains(collection)
        case .replacements: hasReplacements
        case .changes, .query, .count: others.contains(read)
        }
    }

    mutating func add(_ read: StoreRead) {
        switch read {
        case .record(let id, let collection): records.insert(Row(id: id, collection: collection))
        case .removal(let id, let collection): removals.insert(Row(id: id, collection: collection))
        case .latestHistory(let id, let collection, let limit):
            limits[Row(id: id, collection: collection), default: 0] = max(
                limit, limits[Row(id: id, collection: collection)] ?? 0)
        case .history(let id, let collection, let after):
            let row = Row(id: id, collection: collection)
            starts[row] = min(after, starts[row] ?? after)
        case .client(let id): clients.insert(id)
        case .outcome(let sequence, let client): outcomes[client, default: []].insert(sequence)
        case .mirrorState(let collection): mirrorStates.insert(collection)
        case .replacements: hasReplacements = true
        case .changes, .query, .count: if !others.contains(read) { others.append(read) }
        }
    }

    /// Pages and counts are not what they were once a record of their collection has changed.
    mutating func changed(_ collection: CollectionID) {
        others.removeAll { read in
            switch read {
            case .query(_, let changed), .count(_, let changed): changed == collection
            default: false
            }
        }
    }
}

/// A snapshot whose reads are counted.
private class CountingSnapshot: StoreSnapshot {
    private let base: any StoreSnapshot
    private let store: CountingStore
    fileprivate var fetched: FetchedReads

    init(_ base: any StoreSnapshot, _ store: CountingStore, _ fetched: FetchedReads) {
        (self.base, self.store, self.fetched) = (base, store, fetched)
    }

    fileprivate func read(_ read: StoreRead) {
        store.count { $0.reads += 1 }
        guard !fetched.has(read) else { return }
        store.count { $0.undeclared.append("\(read)") }
        fetched.add(read)
    }

    /// The records that a condition goes on to from the values of one.
    fileprivate func readRelated(_ filter: Filter?, from values: [WireDictionary], of adapter: AdapterName) throws {
        switch filter {
        case .related(let field, let entity, let inner):
            let collection = CollectionID(adapter, entity)
            for id in Set(values.compactMap { $0[field.text].flatMap { RecordID(key: $0) } }) {
                read(.record(id, in: collection))
                let record = try base.record(id, in: collection, visible: nil)
                try readRelated(inner, from: [record?.fields].compactMap(\.self), of: adapter)
            }
        case .all(let parts), .any(let parts):
            for part in parts { try readRelated(part, from: values, of: adapter) }
        case .not(let part): try readRelated(part, from: values, of: adapter)
        case .search: store.count { $0.undeclared.append("a search") }
        default: break
        }
    }

    var position: Revision { base.position }
    var floor: Revision { base.floor }
    func checkCancellation() throws { try base.checkCancellation() }

    func prefetch(_ reads: @autoclosure () throws -> [StoreRead]) throws {
        let missing = try reads().filter { !fetched.has($0) }
        if !missing.isEmpty { store.count { $0.prefetches += 1 } }
        for read in missing { fetched.add(read) }
    }

    func record(_ id: RecordID, in collection: CollectionID, visible: Filter?) throws -> Record? {
        read(.record(id, in: collection))
        if visible != nil, let record = try base.record(id, in: collection, visible: nil) {
            try readRelated(visible, from: [record.fields], of: collection.adapter)
        }
        return try base.record(id, in: collection, visible: visible)
    }

    func query(_ query: Query, in collection: CollectionID) throws -> RecordPage {
        read(.query(query, in: collection))
        return try base.query(query, in: collection)
    }

    func query(_ query: Query, in collection: CollectionID, atMost bytes: Int) throws -> RecordPage {
        read(.query(query, in: collection))
        return try base.query(query, in: collection, atMost: bytes)
    }

    func count(_ filter: Filter?, in collection: CollectionID) throws -> Int {
        read(.count(filter, in: collection))
        return try base.count(filter, in: collection)
    }

    func rows(
        _ relation: Relation, seen visible: VisibleRows, _ receive: (any RowValues) throws -> Void
    ) throws {
        store.count { $0.undeclared.append("rows of a relation") }
        try base.rows(relation, seen: visible, receive)
    }

    func changes(after position: Revision, limit: Int) throws -> [LogEntry] {
        read(.changes(after: position, limit: limit))
        return try base.changes(after: position, limit: limit)
    }

    func history(of id: RecordID, in collection: CollectionID, limit: Int) throws -> [LogEntry] {
        read(.latestHistory(id, in: collection, limit: limit))
        return try base.history(of: id, in: collection, limit: limit)
    }

    func history(of id: RecordID, in collection: CollectionID, after position: Revision) throws -> [LogEntry] {
        read(.history(id, in: collection, after: position))
        return try base.history(of: id, in: collection, after: position)
    }

    func client(_ id: ClientID) throws -> PushClient? {
        read(.client(id))
        return try base.client(id)
    }

    func clients(after id: ClientID?, limit: Int) throws -> [PushClient] {
        store.count { $0.undeclared.append("a list of clients") }
        return try base.clients(after: id, limit: limit)
    }

    func outcome(of sequence: Int64, from client: ClientID) throws -> PushOutcome? {
        read(.outcome(sequence, from: client))
        return try base.outcome(of: sequence, from: client)
    }

    func keptCopies(_ which: KeptCopies, before number: Int64?, limit: Int) throws -> [KeptCopy] {
        store.count { $0.undeclared.append("kept copies") }
        return try base.keptCopies(which, before: number, limit: limit)
    }

    func replacements() throws -> [CollectionID: Revision] {
        read(.replacements)
        return try base.replacements()
    }

    func mirrorState(of collection: CollectionID) throws -> WireDictionary? {
        read(.mirrorState(collection))
        return try base.mirrorState(of: collection)
    }
}

/// A transaction whose reads are counted, those that its changes take too.
private final class CountingTransaction: CountingSnapshot, StoreTransaction {
    private let base: any StoreTransaction

    init(_ base: any StoreTransaction, _ store: CountingStore, _ fetched: FetchedReads) {
        self.base = base
        super.init(base, store, fetched)
    }

    var now: WireDate { base.now }

    func undoing<Result>(_ body: () throws -> Result) throws -> Result { try base.undoing(body) }

    func reading<Result>(within budget: RuleReadBudget, _ body: () throws -> Result) throws -> Result {
        try base.reading(within: budget, body)
    }

    func apply(_ transaction: WriteTransaction) throws -> WriteReceipt {
        for step in transaction.steps { try readWhatChanges(step) }
        let receipt = try base.apply(transaction)
        for (step, record) in zip(transaction.steps, receipt.records) {
            // Whatever the transaction has written, it knows.
            if let id = step.change.recordID ?? record?.id { fetched.add(.record(id, in: step.collection)) }
            fetched.changed(step.collection)
        }
        return receipt
    }

    private func readWhatChanges(_ step: WriteTransaction.Step) throws {
        guard let id = step.change.recordID else { return }
        read(.record(id, in: step.collection))
        if case .delete = step.change.action { read(.removal(id, in: step.collection)) }
        let record = try base.record(id, in: step.collection, visible: nil)
        let before = [record?.fields].compactMap(\.self)
        for filter in [step.visible, step.writableBefore] {
            try readRelated(filter, from: before, of: step.adapter)
        }
        if case .delete = step.change.action { return }
        try readRelated(step.writableAfter, from: before + [step.change.fields], of: step.adapter)
    }

    func remember(
        _ content: WireDictionary, of sequence: Int64, from client: ClientID, of identity: String
    ) throws {
        read(.client(client))
        try base.remember(content, of: sequence, from: client, of: identity)
        fetched.add(.outcome(sequence, from: client))
    }

    func forgetClients(of identity: String) throws -> Int { try base.forgetClients(of: identity) }

    func keep(_ copy: LosingCopy) throws { try base.keep(copy) }

    func setMirrorState(_ state: WireDictionary, of collection: CollectionID) throws {
        try base.setMirrorState(state, of: collection)
        fetched.add(.mirrorState(collection))
    }
}
