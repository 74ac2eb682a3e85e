import AdapterKit

/// A caller's change of a mirrored record that the other system has not taken yet, or has not taken.
///
/// Two records of the host's own adapter `portico` keep it under one id: `writes` is what its author reads and syncs,
/// `deliveries` what sending it takes.
public struct PendingWrite: Sendable, Equatable {
    /// How far it has come.
    public enum State: String, Sendable, CaseIterable {
        /// It is still to be sent, or under way.
        case pending
        /// The other system refused it for good.
        case refused
        /// It was sent, and it cannot be found out whether it was made. It is not sent again unless an operator says so.
        case unknown
    }

    /// Of both records.
    public let id: RecordID
    /// The mirror.
    public let collection: CollectionID
    /// The changed record.
    public let record: RecordID
    /// How far it has come.
    public let state: State
    /// Where the log has it: changes of one record are sent in this order.
    public let position: Int64
    /// What is done to the record.
    public let operation: MirrorChange.Kind
    /// As ``MirrorChange/fields``.
    public let fields: WireDictionary
    /// As ``MirrorChange/before``.
    public let before: WireDictionary?
    /// As ``MirrorChange/idempotencyKey``.
    public let key: String
    /// Whether a caller waits for it, and the record is not changed before the other system has taken it.
    public let isThrough: Bool
    /// Whether it may have been sent. Kept for systems that honour no keys.
    public let wasSent: Bool
    /// The history of the store in which it was written (``Store/epoch``).
    public let epoch: String
    /// Whose change it is.
    public let author: String
    /// The device's mutation; nil: it came over HTTP.
    public let mutation: WriteOrigin.Mutation?

    /// As it is sent.
    public func change(mayRepeat: Bool) -> MirrorChange {
        MirrorChange(
            collection.entity, record, operation, fields: fields, before: before, idempotencyKey: key,
            mayRepeat: mayRepeat)
    }
}

/// Where a caller's change comes from.
public struct WriteOrigin: Sendable, Equatable {
    /// One mutation of a device.
    public struct Mutation: Sendable, Equatable {
        /// The device.
        public let client: ClientID
        /// Its number of the change.
        public let sequence: Int64

        /// Names a mutation.
        public init(client: ClientID, sequence: Int64) {
            self.client = client
            self.sequence = sequence
        }
    }

    /// What names the change in other systems; nil: the server makes one.
    public var idempotencyKey: String?
    /// The device's mutation; nil: it came over HTTP.
    public var mutation: Mutation?

    /// Of a change over HTTP. `idempotencyKey`: the caller's own.
    public init(idempotencyKey: String? = nil) {
        self.idempotencyKey = idempotencyKey
    }

    /// Of a device's mutation, whose key is `clientId:sequence`.
    public init(_ mutation: Mutation) {
        self.mutation = mutation
        idempotencyKey = "\(mutation.client):\(mutation.sequence)"
    }
}

/// The records of ``PendingWrite``.
public enum PendingWriteRecords {
    /// Writes of one mirror that are kept at most, whatever their state; a further change is refused.
    public static let mostOfMirror = 10_000
    /// Refused writes of one mirror that are kept; the oldest goes beyond it.
    public static let mostRefused = 1_000

    /// The adapter of the host that has them.
    public static let adapter: AdapterName = "portico"
    /// What authors see.
    public static let writes = Entity(
        "writes", summary: "A change that another system has not taken yet, or has refused.",
        key: EntityKey(id, chosenBy: .server),
        fields: [
            Field(id, .string(maximumLength: 64), isRequired: true, summary: "Names the change."),
            Field(collection, .string(maximumLength: 128), isRequired: true, summary: "The mirror, adapter/entity."),
            Field(record, .string(maximumLength: 512), isRequired: true, summary: "The record's id."),
            Field(
                state, .choice(PendingWrite.State.allCases.map(\.rawValue)), isRequired: true,
                summary: "Whether it is still to be made, was refused, or cannot be known to have been made."),
            Field(reason, .string(maximumLength: 64), isNullable: true, summary: "The error code of a refusal."),
            Field(message, .string(maximumLength: 1_000), isNullable: true, summary: "Why it was refused."),
            Field(fields, .any, isNullable: true, summary: "What was to be changed."),
            Field(author, .string, source: .creator, summary: "Whose change it is."),
            Field(created, .date, source: .createdAt, summary: "When it was asked for."),
        ],
        indexes: [Index([collection, state])], rows: RowRules(read: .owner(author), write: .nobody),
        writers: .nobody, conflictPolicy: .reject)
    /// What sending takes.
    public static let deliveries = Entity(
        "deliveries", summary: "How a pending write is sent.", key: EntityKey(id, chosenBy: .caller),
        fields: [
            Field(id, .string(maximumLength: 64), isRequired: true),
            Field(collection, .string(maximumLength: 128), isRequired: true),
            Field(record, .string(maximumLength: 512), isRequired: true),
            Field(position, .integer, source: .createdPosition),
            Field(operation, .choice(MirrorChange.Kind.allCases.map(\.rawValue)), isRequired: true),
            Field(before, .any, isNullable: true), Field(key, .string(maximumLength: 255), isRequired: true),
            Field(through, .bool, isRequired: true), Field(sent, .bool, isRequired: true),
            Field(client, .string(maximumLength: 64), isNullable: true), Field(sequence, .integer, isNullable: true),
            Field(epoch, .string(maximumLength: 64), isRequired: true),
        ],
        indexes: [Index([collection, position]), Index([collection, record])],
        rows: RowRules(read: .nobody, write: .nobody), writers: .nobody, conflictPolicy: .reject,
        exposure: .adapterOnly)

    /// What the host serves of them.
    public static let declaration = AdapterDeclaration(
        name: adapter, title: "Portico", summary: "What the gateway itself keeps for its callers.", version: "1.0",
        entities: [writes, deliveries])
    /// To be installed in the store beforehand.
    public static let collections = [
        CollectionDeclaration(adapter: adapter, entity: writes),
        CollectionDeclaration(adapter: adapter, entity: deliveries),
    ]

    static let id: FieldName = "id"
    static let collection: FieldName = "collection"
    static let record: FieldName = "record"
    static let state: FieldName = "state"
    static let reason: FieldName = "reason"
    static let message: FieldName = "message"
    static let fields: FieldName = "fields"
    static let author: FieldName = "author"
    static let created: FieldName = "created"
    static let position: FieldName = "position"
    static let operation: FieldName = "operation"
    static let before: FieldName = "before"
    static let key: FieldName = "key"
    static let through: FieldName = "through"
    static let sent: FieldName = "sent"
    static let client: FieldName = "client"
    static let sequence: FieldName = "sequence"
    static let epoch: FieldName = "epoch"

    static let writesID = CollectionID(adapter, writes.name)
    static let deliveriesID = CollectionID(adapter, deliveries.name)

    static func isOf(_ mirror: CollectionID) -> Filter { .compare(collection, .equal, .string("\(mirror)")) }

    static func isIn(_ asked: PendingWrite.State) -> Filter { .compare(state, .equal, .string(asked.rawValue)) }
}

extension StoreSnapshot {
    /// The pending writes of a mirror that came after a position, in their order, at most `limit`.
    public func pendingWrites(of mirror: CollectionID, after position: Int64, limit: Int) throws -> [PendingWrite] {
        let query = Query(
            .all([
                PendingWriteRecords.isOf(mirror),
                .compare(PendingWriteRecords.position, .greater, .int64(position)),
            ]), order: [SortKey(PendingWriteRecords.position)], limit: limit)
        return try self.query(query, in: PendingWriteRecords.deliveriesID).records.compactMap(pendingWrite(of:))
    }

    /// The pending writes of one record of a mirror, in their order.
    public func pendingWrites(of record: RecordID, in mirror: CollectionID) throws -> [PendingWrite] {
        let query = Query(
            .all([
                PendingWriteRecords.isOf(mirror),
                .compare(PendingWriteRecords.record, .equal, .string(record.text)),
            ]), order: [SortKey(PendingWriteRecords.position)], limit: Query.maximumLimit)
        return try self.query(query, in: PendingWriteRecords.deliveriesID).records.compactMap(pendingWrite(of:))
    }

    /// One pending write; nil: there is none of this id.
    public func pendingWrite(_ id: RecordID) throws -> PendingWrite? {
        try record(id, in: PendingWriteRecords.deliveriesID, visible: nil).flatMap(pendingWrite(of:))
    }

    /// The records of a mirror that have a write in the state `pending`.
    public func recordsWithPendingWrites(of mirror: CollectionID) throws -> Set<RecordID> {
        var found: Set<RecordID> = []
        var query = Query(
            .all([PendingWriteRecords.isOf(mirror), PendingWriteRecords.isIn(.pending)]), limit: Query.maximumLimit)
        while true {
            let page = try self.query(query, in: PendingWriteRecords.writesID)
            found.formUnion(page.records.compactMap { RecordID(key: $0[PendingWriteRecords.record]) })
            guard let next = page.next else { return found }
            query.start = .after(next)
        }
    }

    /// How many writes of a mirror are kept; of one state, or (nil) of all.
    public func countOfWrites(of mirror: CollectionID, in state: PendingWrite.State?) throws -> Int {
        let mirror = PendingWriteRecords.isOf(mirror)
        return try count(
            state.map { .all([mirror, PendingWriteRecords.isIn($0)]) } ?? mirror, in: PendingWriteRecords.writesID)
    }

    /// Writes of every mirror, the oldest first, for operators.
    public func listOfWrites(limit: Int) throws -> [WireDictionary] {
        let query = Query(order: [SortKey(PendingWriteRecords.created)], limit: limit)
        return try self.query(query, in: PendingWriteRecords.writesID).records.map(\.fields)
    }

    /// One write and how it is sent, for operators; nil: there is none of this id.
    public func descriptionOfWrite(_ id: RecordID) throws -> WireDictionary? {
        guard let write = try record(id, in: PendingWriteRecords.writesID, visible: nil),
            let delivery = try record(id, in: PendingWriteRecords.deliveriesID, visible: nil)
        else { return nil }
        return write.fields.merging(delivery.fields)
    }

    private func pendingWrite(of delivery: Record) throws -> PendingWrite? {
        guard let write = try record(delivery.id, in: PendingWriteRecords.writesID, visible: nil) else { return nil }
        return PendingWrite(write, delivery)
    }
}

extension StoreTransaction {
    /// Keeps a change that is to be sent. Throws `request.limitExceeded` where the mirror has too many.
    @discardableResult
    func addPendingWrite(
        _ change: PendingChange, isThrough: Bool, origin: WriteOrigin, author: String, epoch: Epoch
    ) throws -> RecordID {
        guard try countOfWrites(of: change.collection, in: nil) < PendingWriteRecords.mostOfMirror else {
            throw PorticoError(
                .requestLimitExceeded, "Too many changes of \(change.collection) wait for another system.")
        }
        let write = try apply(
            PendingWriteRecords.writes.name,
            .create(
                nil,
                [
                    "collection": .string("\(change.collection)"), "record": .string(change.record.text),
                    "state": .string(PendingWrite.State.pending.rawValue), "fields": .dictionary(change.fields),
                ]), author: author)
        guard let id = write?.id else {
            throw PorticoError(.serverInternal, "The pending write is not there after it was written.")
        }
        _ = try apply(
            PendingWriteRecords.deliveries.name,
            .create(
                id,
                [
                    "collection": .string("\(change.collection)"), "record": .string(change.record.text),
                    "operation": .string(change.operation.rawValue),
                    "before": change.before.map { .dictionary($0) } ?? .null,
                    "key": .string(origin.idempotencyKey ?? id.text), "through": .bool(isThrough),
                    "sent": .bool(false), "client": origin.mutation.map { .string($0.client.text) } ?? .null,
                    "sequence": origin.mutation.map { .int64($0.sequence) } ?? .null, "epoch": .string(epoch.text),
                ]), author: author)
        return id
    }

    /// Says whether a write may have been sent.
    public func setSent(_ sent: Bool, of id: RecordID) throws {
        _ = try apply(PendingWriteRecords.deliveries.name, .update(id, ["sent": .bool(sent)]))
    }

    /// Says what the other system had before a write is sent.
    public func setBefore(_ before: WireDictionary?, of id: RecordID) throws {
        let before = before.map { WireValue.dictionary($0) } ?? .null
        _ = try apply(PendingWriteRecords.deliveries.name, .update(id, ["before": before]))
    }

    /// Changes the state of a write.
    public func setState(
        _ state: PendingWrite.State, reason: ErrorCode? = nil, message: String? = nil, of id: RecordID
    ) throws {
        _ = try apply(
            PendingWriteRecords.writes.name,
            .update(
                id,
                [
                    "state": .string(state.rawValue), "reason": reason.map { .string($0.rawValue) } ?? .null,
                    "message": message.map { .string(String($0.prefix(1_000))) } ?? .null,
                ]))
    }

    /// Removes a write that is made, or dropped.
    public func removePendingWrite(_ id: RecordID) throws {
        _ = try apply(PendingWriteRecords.deliveries.name, .delete(id))
        _ = try apply(PendingWriteRecords.writes.name, .delete(id))
    }

    /// Removes the oldest refused write of a mirror where there are more than ``PendingWriteRecords/mostRefused``.
    public func removeOldestRefusedWrite(of mirror: CollectionID) throws {
        guard try countOfWrites(of: mirror, in: .refused) > PendingWriteRecords.mostRefused else { return }
        let query = Query(
            .all([PendingWriteRecords.isOf(mirror), PendingWriteRecords.isIn(.refused)]),
            order: [SortKey(PendingWriteRecords.created)], limit: 1)
        for record in try self.query(query, in: PendingWriteRecords.writesID).records {
            try removePendingWrite(record.id)
        }
    }

    private func apply(
        _ entity: EntityName, _ action: RecordChange.Action, author: String = Principal.system.name
    ) throws -> Record? {
        let step = WriteTransaction.Step(
            adapter: PendingWriteRecords.adapter, change: RecordChange(entity, action))
        return try apply(WriteTransaction([step], author: author)).records.first ?? nil
    }
}

extension PendingWrite {
    fileprivate init?(_ write: Record, _ delivery: Record) {
        guard let mirror = write[PendingWriteRecords.collection].stringValue.flatMap(CollectionID.init(stored:)),
            let record = RecordID(key: write[PendingWriteRecords.record]),
            let state = write[PendingWriteRecords.state].stringValue.flatMap(State.init(rawValue:)),
            let operation = delivery[PendingWriteRecords.operation].stringValue
                .flatMap(MirrorChange.Kind.init(rawValue:))
        else { return nil }
        id = write.id
        collection = mirror
        self.record = record
        self.state = state
        position = delivery[PendingWriteRecords.position].int64Value ?? 0
        self.operation = operation
        fields = write[PendingWriteRecords.fields].dictionaryValue ?? [:]
        before = delivery[PendingWriteRecords.before].dictionaryValue
        key = delivery[PendingWriteRecords.key].stringValue ?? write.id.text
        isThrough = delivery[PendingWriteRecords.through].boolValue ?? false
        wasSent = delivery[PendingWriteRecords.sent].boolValue ?? false
        epoch = delivery[PendingWriteRecords.epoch].stringValue ?? ""
        author = write[PendingWriteRecords.author].stringValue ?? Principal.system.name
        let client = delivery[PendingWriteRecords.client].stringValue.flatMap { ClientID($0) }
        let sequence = delivery[PendingWriteRecords.sequence].int64Value
        mutation = client.flatMap { client in sequence.map { WriteOrigin.Mutation(client: client, sequence: $0) } }
    }
}

extension CollectionID {
    /// Reads `adapter/entity`.
    fileprivate init?(stored text: String) {
        let parts = text.split(separator: "/", maxSplits: 1).map(String.init)
        guard parts.count == 2, let adapter = AdapterName(parts[0]), let entity = EntityName(parts[1]) else {
            return nil
        }
        self.init(adapter, entity)
    }
}

/// A caller's change of a mirrored record, as it is to be made in the other system.
struct PendingChange {
    let collection: CollectionID
    let record: RecordID
    let operation: MirrorChange.Kind
    let fields: WireDictionary
    let before: WireDictionary?

    /// `change` as it was made of `before`, with the record that it made. Nil where nothing was changed.
    init?(_ step: WriteTransaction.Step, of entity: Entity, before: Record?, after: Record?) {
        guard let id = after?.id ?? before?.id, before != nil || after != nil else { return nil }
        collection = step.collection
        record = id
        self.before = before?.fields
        let given = after.map { entity.given(by: $0.fields) } ?? [:]
        switch step.change.action {
        case .create:
            operation = .create
            fields = given
        case .replace:
            operation = before == nil ? .create : .replace
            fields = given
        case .update(_, let named):
            operation = .update
            var changed = WireDictionary()
            for field in given where named[field.key] != nil || before?.fields[field.key] != field.value {
                changed[field.key] = field.value
            }
            fields = changed
        case .delete:
            operation = .delete
            fields = [:]
        }
    }
}

extension Entity {
    /// The fields of a record that do not come from the server alone.
    fileprivate func given(by record: WireDictionary) -> WireDictionary {
        var given = WireDictionary()
        for field in fields {
            switch field.source {
            case .caller, .callerOnCreate, .rules: given[field.name.text] = record[field.name.text] ?? .null
            case .creator, .createdAt, .createdPosition, .modifiedAt: continue
            }
        }
        return given
    }
}

extension WireDictionary {
    /// With the members of `other` that it does not have.
    fileprivate func merging(_ other: WireDictionary) -> WireDictionary {
        var merged = self
        for member in other where merged[member.key] == nil { merged[member.key] = member.value }
        return merged
    }
}
