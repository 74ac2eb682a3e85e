import AdapterKit
import RecordEvaluation
import RecordStorage

/// A record of a collection.
struct RowKey: Hashable, Sendable {
    let collection: Int64
    let id: RecordID
}

struct OutcomeKey: Hashable, Sendable {
    let client: ClientID
    let sequence: Int64
}

/// State of the database that was fetched, and reads of the rest.
class SnapshotReads: StoreSnapshot {
    let connection: Connection
    let catalogue: LayoutCatalogue
    let limits: Connection.WaitLimits
    var sequence: Sequence
    /// Round trips for reads that no caller had declared.
    private(set) var undeclared = 0

    var records: [RowKey: Record?] = [:]
    var knownClients: [ClientID: PushClient?] = [:]
    var knownOutcomes: [OutcomeKey: PushOutcome?] = [:]
    var latest: [RowKey: (limit: Int, entries: [LogEntry])] = [:]
    var later: [RowKey: (after: Revision, entries: [LogEntry])] = [:]
    /// Authors by whom records were deleted; nil: the id of no record.
    var retired: [RowKey: String?] = [:]
    private var pages: [(query: Query, collection: CollectionID, compiled: PageCompiler, found: [SQLRows])] = []
    private var counts: [(filter: Filter?, collection: CollectionID, count: Int)] = []
    private var stretches: [(after: Revision, limit: Int, entries: [LogEntry])] = []

    init(
        _ connection: Connection, _ catalogue: LayoutCatalogue, _ limits: Connection.WaitLimits, _ sequence: Sequence
    ) {
        self.connection = connection
        self.catalogue = catalogue
        self.limits = limits
        self.sequence = sequence
    }

    var position: Revision { Revision(sequence.position) }
    var floor: Revision { Revision(sequence.floor) }
    /// Whether what was read of many records is what a caller sees.
    var isUnchanged: Bool { true }
    /// Whether the store itself looks at what else a new record meets.
    var changesRecords: Bool { false }

    /// Sends what a statement has to see.
    func prepare() throws {}

    func checkCancellation() throws {
        if limits.isAbandoned() { throw CancellationError() }
    }

    /// The rows of statements that no caller had declared, with one round trip.
    func rows(_ statements: [SQLFragment], once: Bool = false) throws -> [SQLRows] {
        try checkCancellation()
        try prepare()
        for statement in statements { try once ? connection.sendOnce(statement) : connection.send(statement) }
        undeclared += 1
        return Array(try connection.synchronize(limits).suffix(statements.count))
    }

    func prefetch(_ reads: @autoclosure () throws -> [StoreRead]) throws {
        let fetch = try Fetch(try reads(), for: self)
        guard !fetch.isEmpty else { return }
        try prepare()
        try fetch.send(on: connection)
        try fetch.receive(ArraySlice(try connection.synchronize(limits).suffix(fetch.count)), into: self)
    }

    func record(_ id: RecordID, in collection: CollectionID, visible: Filter?) throws -> Record? {
        let layout = try catalogue.layout(collection)
        guard let found = try stored(id, in: layout), try holds(visible, for: found, in: layout) else { return nil }
        return found
    }

    /// The record as it is.
    func stored(_ id: RecordID, in layout: CollectionLayout) throws -> Record? {
        let key = RowKey(collection: layout.number, id: id)
        if let known = records[key] { return known }
        guard layout.keyValue(id) != nil else { return nil }
        let found = try rows([layout.selection(of: [id])])[0].map(layout.record).first
        records[key] = .some(found)
        return found
    }

    func query(_ query: Query, in collection: CollectionID) throws -> RecordPage {
        try self.query(query, in: collection, atMost: .max)
    }

    func query(_ query: Query, in collection: CollectionID, atMost bytes: Int) throws -> RecordPage {
        let known = isUnchanged ? pages.first { $0.query == query && $0.collection == collection } : nil
        let compiled = try known?.compiled ?? PageCompiler(query, in: try catalogue.layout(collection), catalogue)
        let found = try known?.found ?? rows(compiled.statements, once: true)
        return try compiled.page(found, atMost: bytes)
    }

    func count(_ filter: Filter?, in collection: CollectionID) throws -> Int {
        if isUnchanged, let known = counts.first(where: { $0.filter == filter && $0.collection == collection }) {
            return known.count
        }
        return Int(try rows([try counting(filter, in: collection)], once: true)[0][0].integer(0))
    }

    func counting(_ filter: Filter?, in collection: CollectionID) throws -> SQLFragment {
        let layout = try catalogue.layout(collection)
        let condition = try filter.map { try FilterCompiler(catalogue: catalogue).condition($0, in: layout) }
        return PageCompiler.count(condition, in: layout)
    }

    func changes(after position: Revision, limit: Int) throws -> [LogEntry] {
        guard position >= floor else { throw PorticoError.belowFloor(floor) }
        if isUnchanged, let known = stretches.first(where: { $0.after == position && $0.limit == limit }) {
            return known.entries
        }
        return try rows([LogRows.entries(after: position, limit: limit)])[0].map(LogRows.entry)
    }

    func history(of id: RecordID, in collection: CollectionID, limit: Int) throws -> [LogEntry] {
        guard limit > 0 else { return [] }
        let key = RowKey(collection: try catalogue.layout(collection).number, id: id)
        if let known = latest[key], known.limit >= limit { return Array(known.entries.prefix(limit)) }
        let found = try rows([LogRows.latest([(key.collection, id, limit)])])[0].map(LogRows.entry)
        latest[key] = (limit, found.filter { $0.position > floor })
        return latest[key]?.entries ?? []
    }

    func history(of id: RecordID, in collection: CollectionID, after position: Revision) throws -> [LogEntry] {
        let key = RowKey(collection: try catalogue.layout(collection).number, id: id)
        if let known = later[key], known.after <= position {
            return Array(known.entries.prefix { $0.position > position })
        }
        let after = max(position, floor)
        let found = try rows([LogRows.later([(key.collection, id, after)])])[0].map(LogRows.entry)
        later[key] = (position, found)
        return found
    }

    func client(_ id: ClientID) throws -> PushClient? {
        if let known = knownClients[id] { return known }
        let found = try rows([LedgerRows.clients([id])])[0].map(LedgerRows.client).first
        knownClients[id] = .some(found)
        return found
    }

    func clients(after id: ClientID?, limit: Int) throws -> [PushClient] {
        try rows([LedgerRows.clients(after: id, limit: limit)])[0].map(LedgerRows.client)
    }

    func outcome(of sequence: Int64, from client: ClientID) throws -> PushOutcome? {
        let key = OutcomeKey(client: client, sequence: sequence)
        if let known = knownOutcomes[key] { return known }
        let found = try rows([LedgerRows.outcomes([key])])[0].map(LedgerRows.outcome).first
        knownOutcomes[key] = .some(found)
        return found
    }

    func keptCopies(_ which: KeptCopies, before number: Int64?, limit: Int) throws -> [KeptCopy] {
        try rows([LedgerRows.copies(which, before: number, limit: limit)])[0].map(LedgerRows.copy)
    }

    /// Evaluates the condition in memory; it reads the further records that it needs.
    func holds(_ filter: Filter?, for record: Record, in layout: CollectionLayout) throws -> Bool {
        let evaluator = RelationEvaluator(EvaluatedTables(reads: self, adapter: layout.id.adapter))
        return try !evaluator.matching(filter, [record], of: layout.entity).isEmpty
    }
}

/// The records of one adapter as an evaluation in memory reads them.
private struct EvaluatedTables: EvaluatedRecords {
    let reads: SnapshotReads
    let adapter: AdapterName

    func entity(_ name: EntityName) throws(PorticoError) -> Entity { try layout(name).entity }

    /// A condition on a record refers to others by their keys alone.
    func records(of entity: EntityName) throws -> [Record] {
        throw PorticoError(.adapterUnavailable, "\(entity) is not searched for a condition on one record.")
    }

    func record(_ id: RecordID, of entity: EntityName) throws -> Record? {
        try reads.stored(id, in: try layout(entity))
    }

    private func layout(_ name: EntityName) throws(PorticoError) -> CollectionLayout {
        try reads.catalogue.layout(CollectionID(adapter, name))
    }
}

/// Reads that are fetched with one round trip.
struct Fetch {
    private typealias Receiver = (SQLRows, SnapshotReads) throws -> Void

    private var statements: [(fragment: SQLFragment, once: Bool, receive: Receiver)] = []

    var count: Int { statements.count }
    var isEmpty: Bool { statements.isEmpty }

    /// Leaves out what is known already, and what the store does not fetch beforehand.
    init(_ reads: [StoreRead], for known: SnapshotReads) throws {
        try self.init(reads, known.catalogue, changesRecords: known.changesRecords) { known.records[$0] != nil }
    }

    /// `changesRecords`: whether what creating a record looks at is fetched too.
    init(
        _ reads: [StoreRead], _ catalogue: LayoutCatalogue, changesRecords: Bool,
        knowing isKnown: (RowKey) -> Bool = { _ in false }
    ) throws {
        var ids: [CollectionID: Set<RecordID>] = [:]
        var clients: Set<ClientID> = []
        var outcomes: Set<OutcomeKey> = []
        var latest: [RowKey: Int] = [:]
        var later: [RowKey: Revision] = [:]
        for read in reads {
            switch read {
            case .record(let id, let collection), .removal(let id, let collection):
                guard let layout = try? catalogue.layout(collection) else { continue }
                if layout.keyValue(id) != nil, !isKnown(RowKey(collection: layout.number, id: id)) {
                    ids[collection, default: []].insert(id)
                }
            case .latestHistory(let id, let collection, let limit):
                guard let layout = try? catalogue.layout(collection), limit > 0 else { continue }
                let key = RowKey(collection: layout.number, id: id)
                latest[key] = max(limit, latest[key] ?? 0)
            case .history(let id, let collection, let position):
                guard let layout = try? catalogue.layout(collection) else { continue }
                let key = RowKey(collection: layout.number, id: id)
                later[key] = min(position, later[key] ?? position)
            case .client(let id): clients.insert(id)
            case .outcome(let sequence, let client): outcomes.insert(OutcomeKey(client: client, sequence: sequence))
            case .changes(let position, let limit): addChanges(after: position, limit: limit)
            case .query(let query, let collection): addPage(query, collection, catalogue)
            case .count(let filter, let collection): addCount(filter, collection, catalogue)
            case .replacements, .mirrorState: continue
            }
        }
        for (collection, ids) in ids { try addRecords(Array(ids), catalogue.layout(collection), changesRecords) }
        addLedger(clients, outcomes)
        addHistories(latest, later)
    }

    func send(on connection: Connection) throws {
        for statement in statements {
            try statement.once ? connection.sendOnce(statement.fragment) : connection.send(statement.fragment)
        }
    }

    func receive(_ rows: ArraySlice<SQLRows>, into reads: SnapshotReads) throws {
        for (statement, rows) in zip(statements, rows) { try statement.receive(rows, reads) }
    }

    private mutating func add(_ fragment: SQLFragment, once: Bool = false, _ receive: @escaping Receiver) {
        statements.append((fragment, once, receive))
    }

    private mutating func addRecords(_ ids: [RecordID], _ layout: CollectionLayout, _ changesRecords: Bool) {
        add(layout.selection(of: ids)) { rows, reads in
            for id in ids { reads.records[RowKey(collection: layout.number, id: id)] = .some(nil) }
            for record in try rows.map(layout.record) {
                reads.records[RowKey(collection: layout.number, id: record.id)] = .some(record)
            }
        }
        guard changesRecords, layout.keepsRetiredIDs else { return }
        add(LedgerRows.retired(ids, in: layout)) { rows, reads in
            for id in ids { reads.retired[RowKey(collection: layout.number, id: id)] = .some(nil) }
            for row in rows.map({ $0 }) {
                reads.retired[RowKey(collection: layout.number, id: RecordID(unchecked: row.text(0)))] = row.text(1)
            }
        }
    }

    private mutating func addLedger(_ clients: Set<ClientID>, _ outcomes: Set<OutcomeKey>) {
        if !clients.isEmpty {
            add(LedgerRows.clients(Array(clients))) { rows, reads in
                for id in clients { reads.knownClients[id] = .some(nil) }
                for client in rows.map(LedgerRows.client) { reads.knownClients[client.id] = client }
            }
        }
        guard !outcomes.isEmpty else { return }
        add(LedgerRows.outcomes(Array(outcomes))) { rows, reads in
            for key in outcomes { reads.knownOutcomes[key] = .some(nil) }
            for outcome in try rows.map(LedgerRows.outcome) {
                reads.knownOutcomes[OutcomeKey(client: outcome.client, sequence: outcome.sequence)] = outcome
            }
        }
    }

    private mutating func addHistories(_ latest: [RowKey: Int], _ later: [RowKey: Revision]) {
        if !latest.isEmpty {
            add(LogRows.latest(latest.map { ($0.key.collection, $0.key.id, $0.value) })) { rows, reads in
                for (key, limit) in latest { reads.latest[key] = (limit, []) }
                for entry in try rows.map(LogRows.entry) where entry.position > reads.floor {
                    guard let number = try? reads.catalogue.layout(entry.collection).number else { continue }
                    reads.latest[RowKey(collection: number, id: entry.id)]?.entries.append(entry)
                }
            }
        }
        guard !later.isEmpty else { return }
        add(LogRows.later(later.map { ($0.key.collection, $0.key.id, $0.value) })) { rows, reads in
            for (key, position) in later { reads.later[key] = (position, []) }
            for entry in try rows.map(LogRows.entry) where entry.position > reads.floor {
                guard let number = try? reads.catalogue.layout(entry.collection).number else { continue }
                reads.later[RowKey(collection: number, id: entry.id)]?.entries.append(entry)
            }
        }
    }

    private mutating func addChanges(after position: Revision, limit: Int) {
        add(LogRows.entries(after: position, limit: limit)) { rows, reads in
            guard position >= reads.floor else { return }
            reads.note(changes: try rows.map(LogRows.entry), after: position, limit: limit)
        }
    }

    /// Adds nothing for a query that is refused: its caller gets the error where it asks.
    private mutating func addPage(_ query: Query, _ collection: CollectionID, _ catalogue: LayoutCatalogue) {
        guard let layout = try? catalogue.layout(collection),
            let compiled = try? PageCompiler(query, in: layout, catalogue)
        else { return }
        for statement in compiled.statements {
            add(statement, once: true) { rows, reads in reads.note(rows, of: query, compiled, in: collection) }
        }
    }

    private mutating func addCount(_ filter: Filter?, _ collection: CollectionID, _ catalogue: LayoutCatalogue) {
        guard let layout = try? catalogue.layout(collection) else { return }
        var condition: SQLFragment?
        if let filter {
            guard let compiled = try? FilterCompiler(catalogue: catalogue).condition(filter, in: layout) else { return }
            condition = compiled
        }
        add(PageCompiler.count(condition, in: layout), once: true) { rows, reads in
            reads.note(count: Int(rows[0].integer(0)), of: filter, in: collection)
        }
    }
}

extension SnapshotReads {
    fileprivate func note(
        _ rows: SQLRows, of query: Query, _ compiled: PageCompiler, in collection: CollectionID
    ) {
        guard isUnchanged else { return }
        if let last = pages.indices.last, pages[last].query == query, pages[last].collection == collection,
            pages[last].found.count < compiled.statements.count
        {
            pages[last].found.append(rows)
        } else {
            pages.append((query, collection, compiled, [rows]))
        }
    }

    fileprivate func note(count: Int, of filter: Filter?, in collection: CollectionID) {
        guard isUnchanged else { return }
        counts.append((filter, collection, count))
    }

    fileprivate func note(changes: [LogEntry], after position: Revision, limit: Int) {
        guard isUnchanged else { return }
        stretches.append((position, limit, changes))
    }
}
