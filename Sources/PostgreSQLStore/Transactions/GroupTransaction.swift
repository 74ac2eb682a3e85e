import AdapterKit
import RecordStorage

/// The transactions of one group commit, one after the other, under the order that the group holds. Changes are buffered
/// (``ChangeJournal``), so what undoes them sends nothing.
final class GroupTransaction: SnapshotReads, StoreTransaction {
    private(set) var journal: ChangeJournal
    let now: WireDate
    private let ids: any RecordIDSource
    /// The failure by which the server has broken off the whole group.
    private(set) var failure: PostgreSQLFailure?
    private var lastKeys: [Int64: Int64] = [:]

    /// Records that one deletion takes with it at most.
    private static let recordsAtOnce = 10_000

    init(
        _ connection: Connection, _ catalogue: LayoutCatalogue, _ limits: Connection.WaitLimits, _ sequence: Sequence,
        now: WireDate, ids: any RecordIDSource
    ) {
        journal = ChangeJournal(sequence)
        self.now = now
        self.ids = ids
        super.init(connection, catalogue, limits, sequence)
    }

    override var position: Revision { Revision(journal.position) }
    override var isUnchanged: Bool { journal.isEmpty }
    override var changesRecords: Bool { true }

    override func rows(_ statements: [SQLFragment], once: Bool = false) throws -> [SQLRows] {
        try noting { try super.rows(statements, once: once) }
    }

    override func prefetch(_ reads: @autoclosure () throws -> [StoreRead]) throws {
        let reads = try reads()
        try noting { try super.prefetch(reads) }
    }

    private func noting<Result>(_ body: () throws -> Result) throws -> Result {
        if let failure { throw failure }
        do {
            return try body()
        } catch let error as PostgreSQLFailure {
            failure = error
            throw error
        }
    }

    /// Sends the buffered changes, before a statement that has to see them.
    override func prepare() throws {
        guard !journal.isWritten else { return }
        for statement in try journal.write(now: now, savepoint: true) { try connection.send(statement) }
        latest = [:]
        later = [:]
    }

    /// Sends the rest of the changes, and the sequence.
    func finish(token: [UInt8]) throws -> Sequence {
        for statement in try journal.write(now: now, savepoint: false) { try connection.send(statement) }
        var last = sequence
        (last.position, last.kept, last.adapters) = (journal.position, journal.kept, journal.adapters)
        last.token = token
        try connection.send(last.update)
        try connection.send(last.mark)
        if last.commits.isMultiple(of: Sequence.marks / 8) { try connection.send(last.trim) }
        return last
    }

    /// To be called with a change of the tables.
    func renewGeneration() { sequence.generation += 1 }

    func undoing<Result>(_ body: () throws -> Result) throws -> Result {
        let mark = journal.mark
        do { return try body() } catch {
            if let savepoint = journal.undo(to: mark), failure == nil {
                try connection.send("ROLLBACK TO SAVEPOINT s\(savepoint)")
                latest = [:]
                later = [:]
                knownClients = [:]
                knownOutcomes = [:]
            }
            throw error
        }
    }

    func reading<Result>(within budget: RuleReadBudget, _ body: () throws -> Result) throws -> Result {
        let start = ContinuousClock.now
        let result = try body()
        try budget.spend(ContinuousClock.now - start)
        return result
    }

    override func stored(_ id: RecordID, in layout: CollectionLayout) throws -> Record? {
        if let changed = journal.rows[RowKey(collection: layout.number, id: id)] { return changed }
        return try super.stored(id, in: layout)
    }

    /// The log as it was fetched, or as it is found once the buffer is written; before that, what the buffer has beyond it.
    override func history(of id: RecordID, in collection: CollectionID, limit: Int) throws -> [LogEntry] {
        let found = try super.history(of: id, in: collection, limit: limit)
        let key = RowKey(collection: try catalogue.layout(collection).number, id: id)
        return Array((journal.unwrittenHistory(of: key) + found).prefix(limit))
    }

    override func history(
        of id: RecordID, in collection: CollectionID, after position: Revision
    ) throws -> [LogEntry] {
        let found = try super.history(of: id, in: collection, after: position)
        let key = RowKey(collection: try catalogue.layout(collection).number, id: id)
        return journal.unwrittenHistory(of: key).filter { $0.position > position } + found
    }

    override func client(_ id: ClientID) throws -> PushClient? {
        if let changed = journal.clients[id] { return changed }
        return try super.client(id)
    }

    override func outcome(of sequence: Int64, from client: ClientID) throws -> PushOutcome? {
        if let changed = journal.outcomes[OutcomeKey(client: client, sequence: sequence)] { return changed }
        return try super.outcome(of: sequence, from: client)
    }

    func remember(
        _ content: WireDictionary, of sequence: Int64, from client: ClientID, of identity: String
    ) throws {
        if let known = try self.client(client) {
            guard known.identity == identity else { throw PorticoError.clientOfAnother }
            guard sequence > known.lastSequence else { throw PorticoError.sequenceTaken }
        }
        journal.remember(
            PushClient(id: client, identity: identity, lastSequence: sequence, time: now),
            PushOutcome(client: client, sequence: sequence, content: content, position: position))
    }

    func forgetClients(of identity: String) throws -> Int {
        for statement in try journal.write(now: now, savepoint: true) { try connection.send(statement) }
        let condition = "WHERE identity = ?"
        let found = try rows([
            SQLFragment(
                "DELETE FROM portico_outcome WHERE client IN (SELECT client FROM portico_client \(condition))",
                [.text(identity)]),
            SQLFragment("DELETE FROM portico_client \(condition) RETURNING client", [.text(identity)]),
        ])
        journal.forget(found[1].map { ClientID(unchecked: $0.text(0)) })
        (knownClients, knownOutcomes) = ([:], [:])
        return found[1].count
    }

    func keep(_ copy: LosingCopy) throws { try journal.keep(copy) }

    func apply(_ transaction: WriteTransaction) throws -> WriteReceipt {
        try undoing {
            let records = try transaction.steps.map { try perform($0, by: transaction.author) }
            return WriteReceipt(position: position, records: records)
        }
    }
}

// One change of one record: what must hold, asked in the order that ``WriteTransaction/Step`` gives, then the change.
extension GroupTransaction {
    private func perform(_ step: WriteTransaction.Step, by author: String) throws -> Record? {
        let layout = try catalogue.layout(step.collection)
        let authorship = Authorship(author: author, time: now, position: Revision(journal.position + 1))
        switch step.change.action {
        case .create(let id, let fields): return try create(id, fields, step, layout, authorship)
        case .update(let id, let fields):
            let found = try existing(id, step, layout)
            return try change(found, try layout.rules.update(found, fields, authorship), step, layout)
        case .replace(let id, let fields, let orCreate):
            let isSeen = try record(id, in: step.collection, visible: step.visible) != nil
            if orCreate, !isSeen, layout.entity.key.chooser != .server {
                return try create(id, fields, step, layout, authorship)
            }
            let found = try existing(id, step, layout)
            return try change(found, try layout.rules.replace(found, fields, authorship), step, layout)
        case .delete(let id):
            try remove(try existing(id, step, layout), layout, step, author: step.isForCaller ? author : "")
            return nil
        }
    }

    private func create(
        _ asked: RecordID?, _ fields: WireDictionary, _ step: WriteTransaction.Step, _ layout: CollectionLayout,
        _ authorship: Authorship
    ) throws -> Record {
        var draft = try layout.rules.create(asked, fields, authorship)
        let isGiven = draft.id != nil
        if !isGiven { draft = draft.assigning(try freshID(layout), by: layout.rules) }
        guard let id = draft.id else { throw Self.noKey }
        switch step.change.condition {
        case .none, .absent: break
        case .exists, .revision: throw Self.unmet
        }
        // An id that the store chose was never there.
        if isGiven {
            let isTaken = try stored(id, in: layout) != nil
            if try isTaken || step.isForCaller && isReserved(id, layout, for: authorship.author) {
                if case .absent = step.change.condition { throw Self.unmet }
                throw PorticoError(
                    .recordExists, "There is a record `\(id)` already.", target: layout.entity.key.field.text)
            }
        }
        return try finish(Record(id: id, revision: authorship.position, fields: draft.fields), nil, step, layout)
    }

    private func change(
        _ found: Record, _ draft: RecordDraft, _ step: WriteTransaction.Step, _ layout: CollectionLayout
    ) throws -> Record {
        try finish(
            Record(id: found.id, revision: Revision(journal.position + 1), fields: draft.fields), found, step, layout)
    }

    private func finish(
        _ record: Record, _ before: Record?, _ step: WriteTransaction.Step, _ layout: CollectionLayout
    ) throws -> Record {
        try checkUnique(record, before, layout)
        let key = RowKey(collection: layout.number, id: record.id)
        journal.put(record, at: key, in: layout)
        try journal.log(before, record, key, in: layout, at: now)
        if layout.hasIntegerKey, before == nil, let number = record[layout.entity.key.field].int64Value {
            if try number > lastKey(layout) { journal.note(lastKey: number, of: layout.number) }
        }
        guard try holds(step.writableAfter, for: record, in: layout) else { throw Self.denied }
        return record
    }

    /// The record to change: there, visible, writable, and as the change expects it, asked in this order.
    private func existing(_ id: RecordID, _ step: WriteTransaction.Step, _ layout: CollectionLayout) throws -> Record {
        guard let found = try record(id, in: step.collection, visible: step.visible) else {
            throw PorticoError(.recordNotFound, "There is no such record.")
        }
        guard try holds(step.writableBefore, for: found, in: layout) else { throw Self.denied }
        switch step.change.condition {
        case .none, .exists: return found
        case .revision(let expected) where expected == found.revision: return found
        case .revision, .absent: throw Self.unmet
        }
    }

    private static let denied = PorticoError(.accessDenied, "You may not change this record so.")
    private static let unmet = PorticoError(.preconditionFailed, "The record is not as the change expects it.")
    private static let noKey = PorticoError(.serverInternal, "There is no key left for a new record.")
}

// What a change looks at beside its record.
extension GroupTransaction {
    /// Integer keys go on from the largest that was ever there, so that none is given twice.
    private func freshID(_ layout: CollectionLayout) throws -> RecordID {
        guard layout.hasIntegerKey else { return ids.next() }
        let (next, overflow) = try lastKey(layout).addingReportingOverflow(1)
        guard !overflow, layout.rules.keyValue(of: RecordID(unchecked: String(next))) != nil else { throw Self.noKey }
        return RecordID(unchecked: String(next))
    }

    private func lastKey(_ layout: CollectionLayout) throws -> Int64 {
        if let known = journal.lastKeys[layout.number] ?? lastKeys[layout.number] { return known }
        let found = try rows([Self.lastKeysSelection])[0]
        for row in found.map({ $0 }) { lastKeys[row.integer(0)] = row.integer(1) }
        return lastKeys[layout.number] ?? 0
    }

    static let lastKeysSelection = SQLFragment("SELECT number, last FROM portico_collection")

    /// Takes over the rows of ``lastKeysSelection``, read under the order.
    func note(lastKeys rows: SQLRows) {
        for row in rows.map({ $0 }) { lastKeys[row.integer(0)] = row.integer(1) }
    }

    /// Whether the id is refused as taken although no record has it: it was another's before, or records refer to it still,
    /// which would become readable through the new one.
    private func isReserved(_ id: RecordID, _ layout: CollectionLayout, for author: String) throws -> Bool {
        if let retired = try retiringAuthor(of: id, layout), retired.isEmpty || !retired.hasSameBytes(as: author) {
            return true
        }
        return try catalogue.references(to: layout.id).contains { try !referring(to: [id], layout, $0).isEmpty }
    }

    private func retiringAuthor(of id: RecordID, _ layout: CollectionLayout) throws -> String? {
        guard layout.entity.hasPrivateRows else { return nil }
        let key = RowKey(collection: layout.number, id: id)
        if let own = journal.retired[key] { return own }
        if let known = retired[key] { return known }
        let found = try rows([LedgerRows.retired([id], in: layout)])[0].map { $0.text(1) }.first
        retired[key] = .some(found)
        return found
    }

    /// Records that refer to one of those, as they are now.
    private func referring(
        to ids: [RecordID], _ parent: CollectionLayout, _ reference: LayoutCatalogue.Reference
    ) throws -> [Record] {
        guard case .scalar(let kind) = reference.column.kind else { return [] }
        let keys = ids.compactMap { parent.rules.keyValue(of: $0) }
        let layout = reference.layout
        let found = try rows([
            SQLFragment(
                """
                SELECT \(layout.selected) FROM \(layout.table) WHERE \(reference.column.name) = ANY(?)
                ORDER BY revision LIMIT \(Self.recordsAtOnce + 1)
                """, [.array(kind.sqlType, keys.compactMap { kind.comparable($0) })])
        ])
        // The statement has written what was buffered, so its rows are those of now.
        return try found[0].map(layout.record)
    }

    private func remove(
        _ root: Record, _ layout: CollectionLayout, _ step: WriteTransaction.Step, author: String
    ) throws {
        var doomed = [(layout: layout, record: root)]
        var known: Set<RowKey> = [RowKey(collection: layout.number, id: root.id)]
        var level = doomed[...]
        while !level.isEmpty {
            let start = doomed.count
            for (number, parents) in Dictionary(grouping: level, by: \.layout.number).sorted(by: { $0.key < $1.key }) {
                guard let parent = parents.first?.layout, parent.number == number else { continue }
                for reference in catalogue.references(to: parent.id) where reference.isOwned {
                    for found in try referring(to: parents.map(\.record.id), parent, reference)
                    where known.insert(RowKey(collection: reference.layout.number, id: found.id)).inserted {
                        try step.checkRemoval(with: reference.layout.id.entity)
                        doomed.append((reference.layout, found))
                    }
                }
                guard doomed.count <= Self.recordsAtOnce else {
                    throw PorticoError(
                        .requestLimitExceeded, "Too many records would go with this one: delete those first.")
                }
            }
            level = doomed[start...]
        }
        for (layout, record) in doomed.reversed() {
            let key = RowKey(collection: layout.number, id: record.id)
            journal.put(nil, at: key, in: layout)
            try journal.log(record, nil, key, in: layout, at: now)
            if layout.keepsRetiredIDs { journal.retire(key, by: author) }
        }
    }

    /// Throws `record.exists` where another record has the values of a unique index. Two nulls are not equal. All writers
    /// take turns, so what is read here stays true.
    private func checkUnique(_ record: Record, _ before: Record?, _ layout: CollectionLayout) throws {
        for index in layout.entity.indexes where index.isUnique {
            let values = index.fields.map { record[$0] }
            guard !values.contains(where: \.isNull) else { continue }
            if let before, index.fields.map({ before[$0] }) == values { continue }
            var statement = SQLFragment("SELECT 1 FROM \(layout.table) WHERE ")
            for (place, field) in index.fields.enumerated() {
                if place > 0 { statement.append(" AND ") }
                statement.append(try layout.column(field).condition(.equal, values[place]))
            }
            if let own = layout.keyValue(record.id) { statement.append(" AND \(layout.key.name) <> ?", [own]) }
            guard try rows([statement])[0].count == 0 else { throw PorticoError.duplicate(index) }
        }
    }
}

extension PorticoError {
    static func duplicate(_ index: Index) -> PorticoError {
        PorticoError(
            .recordExists, "Another record has the same value where each must be unique.",
            target: index.fields.map(\.text).joined(separator: ","))
    }
}

extension GroupTransaction {
    /// Gives one record the defaults that it lacks.
    func fill(_ fillings: [DefaultFilling], _ record: Record, _ layout: CollectionLayout) throws {
        var fields = record.fields
        for filling in fillings where !filling.keepsValues || record[filling.column.field.name].isNull {
            fields[filling.column.field.name.text] = filling.value
        }
        guard fields != record.fields else { return }
        let key = RowKey(collection: layout.number, id: record.id)
        let filled = Record(id: record.id, revision: Revision(journal.position + 1), fields: fields)
        journal.put(filled, at: key, in: layout)
        try journal.log(record, filled, key, in: layout, at: now)
    }
}

/// A field that gets its default.
struct DefaultFilling {
    let column: Column
    let value: WireValue
    /// Whether records that have a value keep it.
    let keepsValues: Bool
}
