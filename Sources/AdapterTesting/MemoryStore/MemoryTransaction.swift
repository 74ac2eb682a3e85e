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
                throw PorticoError(.accessDenied, "The client id belongs to another account.")
            }
            guard sequence > known.lastSequence else {
                throw PorticoError(.recordExists, "The sequence number was used already.", target: "sequence")
            }
        }
        tables.clients[client] = PushClient(id: client, identity: identity, lastSequence: sequence, time: now)
        tables.outcomes[client, default: [:]][sequence] = PushOutcome(
            client: client, sequence: sequence, content: content, position: position)
    }

    func forgetClients(of identity: String) -> Int {
        let forgotten = tables.clients.filter { $0.value.identity == identity }.keys
        for client in forgotten { (tables.clients[client], tables.outcomes[client]) = (nil, nil) }
        return forgotten.count
    }

    func setMirrorState(_ state: WireDictionary, of collection: CollectionID) throws {
        tables.mirrors[collection] = state
    }

    /// All of what the body changes, or nothing where it throws.
    func change<Result>(_ body: (inout MemoryTables) throws -> Result) throws -> Result {
        var changed = tables
        let result = try body(&changed)
        tables = changed
        return result
    }

    func keep(_ copy: LosingCopy) throws {
        let number = (tables.kept.last?.number ?? 0) + 1
        tables.kept.append(KeptCopy(number: number, time: now, position: position, copy: copy))
        guard number.isMultiple(of: KeptCopiesShare.interval) else { return }
        let newest = tables.kept.reversed().filter { $0.copy.author == copy.author }
            .map { ($0.number, WireValue.dictionary($0.copy.content).writtenSize) }
        guard let beyond = KeptCopiesShare.firstBeyond(newest) else { return }
        tables.kept.removeAll { $0.number <= beyond && $0.copy.author == copy.author }
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

    func replacements() throws -> [CollectionID: Revision] { tables.replaced }

    func mirrorState(of collection: CollectionID) throws -> WireDictionary? { tables.mirrors[collection] }

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

/// One change of one record: what must hold, asked in the order that ``WriteTransaction/Step`` gives, then the change.
struct MemoryChange {
    private let step: WriteTransaction.Step
    private let authorship: Authorship
    private let ids: any RecordIDSource

    init(_ step: WriteTransaction.Step, _ authorship: Authorship, _ ids: any RecordIDSource) {
        self.step = step
        self.authorship = authorship
        self.ids = ids
    }

    func perform(on tables: inout MemoryTables) throws -> Record? {
        let rules = try tables.collection(step.collection).rules
        switch step.change.action {
        case .create(let id, let fields): return try create(id, fields, &tables)
        case .update(let id, let fields):
            let found = try existing(id, tables)
            return try change(found, try rules.update(found, fields, authorship), &tables)
        case .replace(let id, let fields, let orCreate):
            let isSeen = try tables.record(id, in: step.collection, visible: step.visible) != nil
            if orCreate, !isSeen, rules.entity.key.chooser != .server { return try create(id, fields, &tables) }
            let found = try existing(id, tables)
            return try change(found, try rules.replace(found, fields, authorship), &tables)
        case .delete(let id):
            try tables.remove(
                try existing(id, tables), in: step.collection, by: step.isForCaller ? authorship.author : "",
                at: authorship.time, asking: step)
            return nil
        }
    }

    private func create(_ id: RecordID?, _ fields: WireDictionary, _ tables: inout MemoryTables) throws -> Record {
        let collection = try tables.collection(step.collection)
        var draft = try collection.rules.create(id, fields, authorship)
        if draft.id == nil { draft = draft.assigning(collection.freshID(ids), by: collection.rules) }
        guard let id = draft.id else { throw PorticoError(.serverInternal, "There is no key left.") }
        switch step.change.condition {
        case .none, .absent: break
        case .exists, .revision: throw Self.unmet
        }
        let isReserved = step.isForCaller && tables.isReserved(id, in: step.collection, for: authorship.author)
        if collection.records[id] != nil || isReserved {
            if case .absent = step.change.condition { throw Self.unmet }
            throw PorticoError(
                .recordExists, "There is a record `\(id)` already.", target: collection.entity.key.field.text)
        }
        return try finish(Record(id: id, revision: tables.next, fields: draft.fields), before: nil, &tables)
    }

    private func change(_ found: Record, _ draft: RecordDraft, _ tables: inout MemoryTables) throws -> Record {
        try finish(Record(id: found.id, revision: tables.next, fields: draft.fields), before: found, &tables)
    }

    private func finish(_ record: Record, before: Record?, _ tables: inout MemoryTables) throws -> Record {
        try tables.collection(step.collection).checkUnique(record)
        tables.put(record, inPlaceOf: before, in: step.collection, at: authorship.time)
        guard try tables.holds(step.writableAfter, for: record, in: step.collection) else { throw Self.denied }
        return record
    }

    private func existing(_ id: RecordID, _ tables: MemoryTables) throws -> Record {
        guard let found = try tables.record(id, in: step.collection, visible: step.visible) else {
            throw PorticoError(.recordNotFound, "There is no such record.")
        }
        guard try tables.holds(step.writableBefore, for: found, in: step.collection) else { throw Self.denied }
        switch step.change.condition {
        case .none, .exists: return found
        case .revision(let expected) where expected == found.revision: return found
        case .revision, .absent: throw Self.unmet
        }
    }

    private static let denied = PorticoError(.accessDenied, "You may not change this record so.")
    private static let unmet = PorticoError(.preconditionFailed, "The record is not as the change expects it.")
}
