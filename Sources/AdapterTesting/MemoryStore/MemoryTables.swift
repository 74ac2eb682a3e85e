import AdapterKit
import RecordEvaluation
import RecordStorage

/// Everything that a ``MemoryStore`` holds; a value, so that a copy is a moment.
public struct MemoryTables: Sendable {
    public internal(set) var position = Revision(0)
    public internal(set) var floor = Revision(0)
    var positions: [AdapterName: Revision] = [:]
    var collections: [CollectionID: MemoryCollection] = [:]
    /// The fields whose values before a change the log keeps.
    var scopeFields: [CollectionID: [FieldName]] = [:]
    /// The ids of deleted records that may have been private, and who deleted them; empty: no caller who could create them.
    var retired: [CollectionID: [RecordID: String]] = [:]
    var log: [LogEntry] = []
    var clients: [ClientID: PushClient] = [:]
    var outcomes: [ClientID: [Int64: PushOutcome]] = [:]
    var kept: [KeptCopy] = []
    /// Collections that were replaced as a whole, and where the log says so last.
    var replaced: [CollectionID: Revision] = [:]
    var mirrors: [CollectionID: WireDictionary] = [:]

    public init() {}

    func collection(_ id: CollectionID) throws(PorticoError) -> MemoryCollection {
        guard let collection = collections[id] else {
            throw PorticoError(.serverInternal, "The collection \(id) is not installed.")
        }
        return collection
    }

    /// All of them or none. Records of a collection that was declared otherwise keep what is declared no longer, hidden.
    public mutating func install(_ declarations: [CollectionDeclaration], at time: WireDate) throws(PorticoError) {
        var installed = self
        for declaration in declarations {
            let rules = try EntityRules(declaration.entity)
            let known = installed.collections[declaration.id]
            let fields = known?.allFields ?? []
            installed.collections[declaration.id, default: MemoryCollection(rules: rules)].rules = rules
            installed.collections[declaration.id]?.allFields = fields.union(declaration.entity.fields.map(\.name))
            installed.scopeFields[declaration.id] = declarations.scopeFields(of: declaration.id)
            guard let known, known.entity.fields != declaration.entity.fields else { continue }
            for record in known.records.values.sorted(by: { $0.id.text < $1.id.text }) {
                try installed.bring(record, to: declaration, from: fields, at: time)
            }
        }
        self = installed
    }

    /// As tables are migrated: a new field has its default, and one that is declared again the value that it had. A record
    /// that had none, or came meanwhile, gets the default, unless the field may be null. `before`: the fields that were
    /// ever declared.
    private mutating func bring(
        _ record: Record, to declaration: CollectionDeclaration, from before: Set<FieldName>, at time: WireDate
    ) throws(PorticoError) {
        let (id, entity) = (declaration.id, declaration.entity)
        var known = collections[id]?.hidden[record.id] ?? [:]
        for entry in record.fields where !entry.value.isNull || known[entry.key] == nil {
            known[entry.key] = entry.value
        }
        var fields = WireDictionary()
        for field in entity.fields {
            let value = known[field.name.text] ?? .null
            let isShown = record.fields[field.name.text] == nil
            let needsValue = !field.isNullable && (field.isRequired || isShown)
            let isMissing = !before.contains(field.name) || value.isNull && needsValue
            let filled = isMissing ? field.defaultValue.map { field.shape.canonical($0) } ?? .null : value
            if !filled.isNull { try field.shape.check(filled, at: field.name.text) }
            fields[field.name.text] = filled
        }
        for field in entity.fields { known[field.name.text] = nil }
        collections[id]?.hidden[record.id] = known
        let brought = Record(id: record.id, revision: next, fields: fields)
        if fields.contains(where: { !$0.value.isNull && $0.value != record[FieldName(unchecked: $0.key)] }) {
            put(brought, inPlaceOf: record, in: id, at: time)
        } else {
            collections[id]?.put(Record(id: record.id, revision: record.revision, fields: fields), at: record.id)
        }
    }

    mutating func compact(_ bound: CompactionBound) -> Compaction {
        let target =
            switch bound {
            case .through(let position): min(position, self.position)
            case .before(let time):
                log.first { $0.time.secondsSinceReferenceDate >= time.secondsSinceReferenceDate }
                    .map { Revision($0.position.number - 1) } ?? position
            }
        floor = max(floor, target)
        let gone = log.prefix { $0.position <= floor }.count
        log.removeFirst(gone)
        return Compaction(floor: floor, entries: gone, outcomes: forgetOutcomes())
    }

    private mutating func forgetOutcomes() -> Int {
        var removed = 0
        for (client, stored) in outcomes {
            let last = clients[client]?.lastSequence
            let rest = stored.filter { $0.value.position > floor || $0.key == last }
            removed += stored.count - rest.count
            outcomes[client] = rest
        }
        return removed
    }
}

/// A row of a relation.
private struct MemoryRow: RowValues {
    let values: [WireValue]

    var count: Int { values.count }

    subscript(column: Int) -> WireValue { values[column] }

    func withText<Result>(_ column: Int, _ body: (UnsafeBufferPointer<UInt8>) throws -> Result) rethrows -> Result? {
        guard case .string(var text) = values[column] else { return nil }
        return try text.withUTF8(body)
    }
}

/// One entity's records.
struct MemoryCollection: Sendable {
    var rules: EntityRules
    var records: [RecordID: Record] = [:]
    /// Values of fields that are declared no longer.
    var hidden: [RecordID: WireDictionary] = [:]
    /// The fields that are declared, and those that were.
    var allFields: Set<FieldName> = []
    /// The largest integer key that was ever there.
    var largestKey: Int64 = 0

    var entity: Entity { rules.entity }

    init(rules: EntityRules) {
        self.rules = rules
    }
}

extension MemoryTables: StoreSnapshot {
    public func record(_ id: RecordID, in collection: CollectionID, visible: Filter?) throws -> Record? {
        guard let record = try self.collection(collection).records[id] else { return nil }
        return try holds(visible, for: record, in: collection) ? record : nil
    }

    public func query(_ query: Query, in collection: CollectionID) throws -> RecordPage {
        try query.checkSize()
        return try evaluator(of: collection).page(query, of: self.collection(collection).entity)
    }

    public func count(_ filter: Filter?, in collection: CollectionID) throws -> Int {
        try evaluator(of: collection).count(filter, of: self.collection(collection).entity)
    }

    public func rows(
        _ relation: Relation, seen visible: VisibleRows, _ receive: (any RowValues) throws -> Void
    ) throws {
        try RelationLimits.standard.check(relation)
        let records = ReadableRecords(tables: self, adapter: visible.adapter, visible: visible)
        for row in try RelationEvaluator(records).rows(relation) { try receive(MemoryRow(values: row)) }
    }

    public func changes(after position: Revision, limit: Int) throws -> [LogEntry] {
        guard position >= floor else { throw PorticoError.belowFloor(floor) }
        var (low, high) = (0, log.count)
        while low < high {
            let middle = (low + high) / 2
            if log[middle].position > position { high = middle } else { low = middle + 1 }
        }
        return Array(log[low...].prefix(limit))
    }

    public func history(of id: RecordID, in collection: CollectionID, limit: Int) throws -> [LogEntry] {
        Array(log.reversed().lazy.filter { $0.id == id && $0.collection == collection }.prefix(limit))
    }

    public func replacements() throws -> [CollectionID: Revision] { replaced }

    public func mirrorState(of collection: CollectionID) throws -> WireDictionary? { mirrors[collection] }

    public func client(_ id: ClientID) throws -> PushClient? { clients[id] }

    public func clients(after id: ClientID?, limit: Int) throws -> [PushClient] {
        let later = clients.values.filter { client in id.map { client.id > $0 } ?? true }
        return Array(later.sorted { $0.id < $1.id }.prefix(limit))
    }

    public func outcome(of sequence: Int64, from client: ClientID) throws -> PushOutcome? {
        outcomes[client]?[sequence]
    }

    public func keptCopies(_ which: KeptCopies, before number: Int64?, limit: Int) throws -> [KeptCopy] {
        let matching = kept.reversed().lazy.filter { kept in
            guard number.map({ kept.number < $0 }) ?? true else { return false }
            guard case .of(let id, let collection) = which else { return true }
            return kept.copy.id == id && kept.copy.collection == collection
        }
        return Array(matching.prefix(limit))
    }

    func holds(_ filter: Filter?, for record: Record, in collection: CollectionID) throws -> Bool {
        guard let filter else { return true }
        let entity = try self.collection(collection).entity
        return try !evaluator(of: collection).matching(filter, [record], of: entity).isEmpty
    }

    private func evaluator(of collection: CollectionID) -> RelationEvaluator {
        RelationEvaluator(ReadableRecords(tables: self, adapter: collection.adapter))
    }
}

/// The records of one adapter, as far as a caller may see them.
private struct ReadableRecords: EvaluatedRecords {
    let tables: MemoryTables
    let adapter: AdapterName
    /// Nil: every row, in any order.
    var visible: VisibleRows?

    func entity(_ name: EntityName) throws(PorticoError) -> Entity {
        _ = try visible?.filter(of: name)
        return try collection(name).entity
    }

    func records(of name: EntityName) throws -> [Record] {
        let collection = try collection(name)
        guard let visible else { return Array(collection.records.values) }
        let key = collection.entity.key.field
        // A rule looks at every row of the entities that it names.
        return try RelationEvaluator(ReadableRecords(tables: tables, adapter: adapter))
            .matching(visible.filter(of: name), Array(collection.records.values), of: collection.entity)
            .sorted { ValueOrder.withNull($0[key], $1[key]) < 0 }
    }

    func record(_ id: RecordID, of name: EntityName) throws -> Record? {
        guard let record = try collection(name).records[id] else { return nil }
        return try tables.holds(visible?.filter(of: name), for: record, in: CollectionID(adapter, name)) ? record : nil
    }

    private func collection(_ name: EntityName) throws(PorticoError) -> MemoryCollection {
        try tables.collection(CollectionID(adapter, name))
    }
}

extension MemoryTables {
    /// What the next change gets.
    var next: Revision { Revision(position.number + 1) }

    /// The one log entry for all changes of a collection.
    mutating func noteReplacement(of id: CollectionID, at time: WireDate) {
        position = next
        positions[id.adapter] = position
        replaced[id] = position
        log.append(
            LogEntry(
                position: position, collection: id, id: RecordID(unchecked: ""), kind: .replaceAll, time: time,
                previousRevision: nil, previousScopeValues: [:], changedFields: nil))
    }

    /// Puts a record where another or none was, nil removes it; and the log entry.
    mutating func put(_ record: Record?, inPlaceOf before: Record?, in id: CollectionID, at time: WireDate) {
        guard let entity = collections[id]?.entity, let recordID = record?.id ?? before?.id else { return }
        position = next
        positions[id.adapter] = position
        collections[id]?.put(record, at: recordID)
        var scope = WireDictionary()
        if let before { for field in scopeFields[id] ?? [] { scope[field.text] = before[field] } }
        log.append(
            LogEntry(
                position: position, collection: id, id: recordID, kind: record == nil ? .remove : .put, time: time,
                previousRevision: before?.revision, previousScopeValues: scope,
                changedFields: entity.changedFields(before, record)))
    }
}

extension MemoryTables {
    /// Deletes a record with everything that belongs to it, which goes first.
    mutating func remove(
        _ record: Record, in id: CollectionID, by author: String, at time: WireDate,
        asking step: WriteTransaction.Step? = nil
    ) throws(PorticoError) {
        var doomed = [(collection: id, record: record)]
        var known: [CollectionID: Set<RecordID>] = [id: [record.id]]
        var next = 0
        while next < doomed.count {
            for (owned, field) in references(to: doomed[next].collection, owning: true) {
                for found in referring(to: doomed[next].record.id, owned, field)
                where known[owned, default: []].insert(found.id).inserted {
                    try step?.checkRemoval(with: owned.entity)
                    doomed.append((owned, found))
                }
            }
            next += 1
        }
        for (collection, record) in doomed.reversed() {
            put(nil, inPlaceOf: record, in: collection, at: time)
            if collections[collection]?.entity.hasPrivateRows == true {
                retired[collection, default: [:]][record.id] = author
            }
        }
    }

    /// Whether the id is refused as taken although no record has it.
    func isReserved(_ id: RecordID, in collection: CollectionID, for author: String) -> Bool {
        if let retired = retired[collection]?[id], retired.isEmpty || !retired.hasSameBytes(as: author) { return true }
        return references(to: collection, owning: false).contains { !referring(to: id, $0, $1).isEmpty }
    }

    private func references(to id: CollectionID, owning: Bool) -> [(CollectionID, FieldName)] {
        collections.filter { $0.key.adapter == id.adapter }.flatMap { other, collection in
            (owning ? collection.entity.owners : collection.entity.references).filter { $0.entity == id.entity }
                .map { (other, $0.field) }
        }
    }

    private func referring(to id: RecordID, _ collection: CollectionID, _ field: FieldName) -> [Record] {
        (collections[collection]?.records.values.filter { RecordID(key: $0[field]) == id } ?? [])
            .sorted { $0.revision < $1.revision }
    }
}

extension MemoryCollection {
    mutating func put(_ record: Record?, at id: RecordID) {
        records[id] = record
        if record == nil { hidden[id] = nil }
        if let record, let number = record[entity.key.field].int64Value { largestKey = max(largestKey, number) }
    }

    func freshID(_ ids: any RecordIDSource) -> RecordID {
        guard case .integer? = entity.field(entity.key.field)?.shape else { return ids.next() }
        return RecordID(unchecked: String(largestKey + 1))
    }

    /// Throws `record.exists` where another record has the values of a unique index. Two nulls are not equal.
    func checkUnique(_ record: Record) throws(PorticoError) {
        for index in entity.indexes where index.isUnique {
            let taken = records.values.contains { other in
                other.id != record.id
                    && index.fields.allSatisfy { ValueOrder.compare(other[$0], record[$0]) == 0 }
            }
            if taken {
                throw PorticoError(
                    .recordExists, "Another record has the same value where each must be unique.",
                    target: index.fields.map(\.text).joined(separator: ","))
            }
        }
    }
}

extension Entity {
    fileprivate func changedFields(_ before: Record?, _ after: Record?) -> [FieldName]? {
        guard let before, let after else { return nil }
        return fields.map(\.name).filter { before[$0] != after[$0] }
    }
}
