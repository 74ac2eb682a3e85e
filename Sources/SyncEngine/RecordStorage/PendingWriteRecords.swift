import AdapterKit

/// A caller's change of a mirrored record that the other system has not taken yet, or has not taken.
///
/// Two records of the host's own adapter `portico` keep it under one id: `writes` is what its author reads and syncs,
/// `deliveries` what sending it takes.
public struct PendingWrite: Sendable, Equatable {
    /// A state of a write.
    public enum State: String, Sendable, CaseIterable {
        /// It is still to be sent, or under way.
        case pending
        /// The other system refused it for good.
        case refused
        /// It was sent, and it cannot be found out whether it was made. It is not sent again unless an operator says so.
        case unknown
    }

    /// The id of both records.
    public let id: RecordID
    /// The mirror.
    public let collection: CollectionID
    /// The changed record.
    public let record: RecordID
    /// The state of the write.
    public let state: State
    /// Where the log has it: changes of one record are sent in this order.
    public let position: Int64
    /// The kind of change of the record.
    public let operation: MirrorChange.Kind
    /// As ``MirrorChange/fields``.
    public let fields: WireDictionary
    /// As ``MirrorChange/before``.
    public let before: WireDictionary?
    /// As ``MirrorChange/isConditional``.
    public let isConditional: Bool
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
    /// When it was asked for.
    public let created: WireDate
    /// Times that it was sent, or was to be.
    public let tries: Int
    /// After how many of them it was unknown whether it was made.
    public let losses: Int
    /// When that was so first; nil: never since it is pending.
    public let lost: WireDate?
    /// The device's mutation, of joined ones the last; nil: it came over HTTP.
    public let mutation: WriteOrigin.Mutation?

    /// When a write whose outcome is unknown holds up later changes of its record no longer.
    public var lockEnds: WireDate { (lost ?? created).adding(PendingWriteRecords.longestLock) }

    /// Whether a change of its record has to wait for an operator.
    public func isLocking(at now: WireDate) -> Bool { state == .unknown && now < lockEnds }

    /// As it is sent.
    public func change(mayRepeat: Bool) -> MirrorChange {
        MirrorChange(
            collection.entity, record, operation, fields: fields, before: before, idempotencyKey: key,
            mayRepeat: mayRepeat, isConditional: isConditional)
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

    /// The key that names the change in other systems; nil: the server makes one.
    public var idempotencyKey: String?
    /// The device's mutation; nil: it came over HTTP.
    public var mutation: Mutation?

    /// Whether the caller chose the key, and sends the change again under it where the answer is lost. A device is
    /// answered by its sequence number instead.
    var isKeyOfCaller: Bool { idempotencyKey != nil && mutation == nil }

    /// Creates the origin of a change over HTTP. `idempotencyKey`: the caller's own.
    public init(idempotencyKey: String? = nil) {
        self.idempotencyKey = idempotencyKey
    }

    /// Creates the origin of a device's mutation, whose key is `clientId:sequence`.
    public init(_ mutation: Mutation) {
        self.mutation = mutation
        idempotencyKey = "\(mutation.client):\(mutation.sequence)"
    }
}

/// The records of ``PendingWrite``.
public enum PendingWriteRecords {
    /// Writes of one mirror that wait or are unknown at most. Of one author there are at most as many as places are left, so
    /// that one account has half of them, and there is a place for another.
    public static let mostOfMirror = 10_000
    /// Refused writes of one author and mirror that are kept; the oldest goes beyond it.
    public static let mostRefused = 1_000
    /// Keys of one author that are remembered; the oldest goes beyond it.
    public static let mostKeys = 10_000
    /// Seconds for which a key is remembered.
    public static let keyLifetime = 86_400.0
    /// Seconds for which a write whose outcome is unknown holds up later changes of its record.
    public static let longestLock = 7 * 86_400.0
    /// After how many seconds a caller whose change finds no place may try again.
    public static let pauseWithoutPlace = 30
    /// The text of a refusal or an answer that is kept, in characters.
    static let longestMessage = 1_000

    /// The adapter of the host that has them.
    public static let adapter: AdapterName = "portico"
    /// The entity that authors see.
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
        indexes: [Index([collection, state]), Index([author, collection, state])],
        rows: RowRules(read: .owner(author), write: .nobody),
        writers: .nobody, conflictPolicy: .reject)
    /// The entity that sending takes.
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
            Field(tries, .integer, isNullable: true), Field(losses, .integer, isNullable: true),
            Field(lost, .date, isNullable: true), Field(answer, .string(maximumLength: 1_000), isNullable: true),
            Field(conditional, .bool, isNullable: true),
        ],
        indexes: [Index([collection, position]), Index([collection, record])],
        rows: RowRules(read: .nobody, write: .nobody), writers: .nobody, conflictPolicy: .reject,
        exposure: .adapterOnly)
    /// Idempotency keys that callers chose, each with the change that it came with.
    public static let keys = Entity(
        "keys", summary: "An idempotency key of a caller.", key: EntityKey(id, chosenBy: .server),
        fields: [
            Field(id, .string(maximumLength: 64), isRequired: true),
            Field(author, .string, source: .creator), Field(key, .string(maximumLength: 255), isRequired: true),
            Field(change, .string(maximumLength: 64), isRequired: true),
            Field(created, .date, source: .createdAt),
        ],
        indexes: [Index([author, key]), Index([author, created]), Index([created])],
        rows: RowRules(read: .nobody, write: .nobody), writers: .nobody, conflictPolicy: .reject,
        exposure: .adapterOnly)

    /// Records whose key another system chose: the id that they had here before, which devices may still name.
    public static let moves = Entity(
        "moves", summary: "A record that has another id now.", key: EntityKey(id, chosenBy: .server),
        fields: [
            Field(id, .string(maximumLength: 64), isRequired: true),
            Field(collection, .string(maximumLength: 128), isRequired: true),
            Field(record, .string(maximumLength: 512), isRequired: true),
            Field(movedTo, .string(maximumLength: 512), isRequired: true),
            Field(before, .integer, isNullable: true), Field(after, .integer, isRequired: true),
            Field(created, .date, source: .createdAt),
        ],
        indexes: [Index([collection, record]), Index([collection, movedTo]), Index([created])],
        rows: RowRules(read: .nobody, write: .nobody), writers: .nobody, conflictPolicy: .reject,
        exposure: .adapterOnly)

    /// The declaration of what the host serves of them.
    public static let declaration = AdapterDeclaration(
        name: adapter, title: "Portico", summary: "What the gateway itself keeps for its callers.", version: "1.0",
        entities: [writes, deliveries, keys, moves])
    /// To be installed in the store beforehand.
    public static let collections = [
        CollectionDeclaration(adapter: adapter, entity: writes),
        CollectionDeclaration(adapter: adapter, entity: deliveries),
        CollectionDeclaration(adapter: adapter, entity: keys),
        CollectionDeclaration(adapter: adapter, entity: moves),
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
    static let tries: FieldName = "tries"
    static let losses: FieldName = "losses"
    static let lost: FieldName = "lost"
    static let answer: FieldName = "answer"
    static let conditional: FieldName = "conditional"
    static let change: FieldName = "change"
    static let movedTo: FieldName = "movedTo"
    static let after: FieldName = "after"

    static let writesID = CollectionID(adapter, writes.name)
    static let deliveriesID = CollectionID(adapter, deliveries.name)
    static let keysID = CollectionID(adapter, keys.name)
    static let movesID = CollectionID(adapter, moves.name)

    static func isOf(_ mirror: CollectionID) -> Filter { .compare(collection, .equal, .string("\(mirror)")) }

    static func isIn(_ asked: PendingWrite.State) -> Filter { .compare(state, .equal, .string(asked.rawValue)) }

    /// Finds how the last write of a record is sent.
    static func lastDelivery(of id: RecordID, in mirror: CollectionID) -> Query {
        Query(
            .all([isOf(mirror), .compare(record, .equal, .string(id.text))]),
            order: [SortKey(position, descending: true)], limit: 1)
    }

    /// Finds the places of a mirror's queue that are taken: by one author, or (nil) by all.
    static func queued(of mirror: CollectionID, by name: String?) -> Filter {
        .all([name.map(isBy), isOf(mirror), isQueued].compactMap(\.self))
    }

    /// Whether an author with so many writes may have another one, where so many places are taken by all.
    public static func hasPlace(of author: Int, taken: Int) -> Bool { author < mostOfMirror - taken }

    static func isBy(_ name: String) -> Filter { .compare(author, .equal, .string(name)) }

    /// A filter of the writes that take a place.
    static let isQueued = Filter.oneOf(
        state, [.string(PendingWrite.State.pending.rawValue), .string(PendingWrite.State.unknown.rawValue)])
}

/// Which writes an operator asks for; nil: whatever it is.
public struct WriteSelection: Sendable, Equatable {
    /// The account whose change it is.
    public var author: String?
    /// The changed record's id.
    public var record: String?
    /// The mirror, `adapter/entity`.
    public var mirror: String?

    /// Names a selection.
    public init(author: String? = nil, record: String? = nil, mirror: String? = nil) {
        self.author = author
        self.record = record
        self.mirror = mirror
    }

    fileprivate var filter: Filter? {
        let parts: [Filter?] = [
            author.map { PendingWriteRecords.isBy($0) },
            record.map { .compare(PendingWriteRecords.record, .equal, .string($0)) },
            mirror.map { .compare(PendingWriteRecords.collection, .equal, .string($0)) },
        ]
        let given = parts.compactMap(\.self)
        return given.isEmpty ? nil : .all(given)
    }
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

    /// The last of them; nil: there is none.
    func lastPendingWrite(of record: RecordID, in mirror: CollectionID) throws -> PendingWrite? {
        let query = PendingWriteRecords.lastDelivery(of: record, in: mirror)
        return try self.query(query, in: PendingWriteRecords.deliveriesID).records.first.flatMap(pendingWrite(of:))
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

    /// Places of a mirror's queue that are taken: of one author, or (nil) of all.
    func countOfQueuedWrites(of mirror: CollectionID, by author: String?) throws -> Int {
        try count(PendingWriteRecords.queued(of: mirror, by: author), in: PendingWriteRecords.writesID)
    }

    /// Writes of every mirror with how they are sent, the oldest first, for operators.
    public func listOfWrites(_ selection: WriteSelection, limit: Int) throws -> [WireDictionary] {
        let query = Query(selection.filter, order: [SortKey(PendingWriteRecords.created)], limit: limit)
        return try self.query(query, in: PendingWriteRecords.writesID).records.map { write in
            let delivery = try record(write.id, in: PendingWriteRecords.deliveriesID, visible: nil)
            return write.fields.described(with: delivery?.fields ?? [:])
        }
    }

    /// Refused writes of a mirror, and when the oldest of those that are still to be made was asked for; nil: there is none.
    public func backlogOfWrites(of mirror: CollectionID) throws -> (refused: Int, oldest: WireDate?) {
        let own = PendingWriteRecords.isOf(mirror)
        let oldest = Query(
            .all([own, PendingWriteRecords.isIn(.pending)]), order: [SortKey(PendingWriteRecords.created)], limit: 1)
        return (
            try count(.all([own, PendingWriteRecords.isIn(.refused)]), in: PendingWriteRecords.writesID),
            try query(oldest, in: PendingWriteRecords.writesID).records.first?[PendingWriteRecords.created].dateValue
        )
    }

    /// One write and how it is sent, for operators; nil: there is none of this id.
    public func descriptionOfWrite(_ id: RecordID) throws -> WireDictionary? {
        guard let write = try record(id, in: PendingWriteRecords.writesID, visible: nil),
            let delivery = try record(id, in: PendingWriteRecords.deliveriesID, visible: nil)
        else { return nil }
        return write.fields.described(with: delivery.fields)
    }

    private func pendingWrite(of delivery: Record) throws -> PendingWrite? {
        guard let write = try record(delivery.id, in: PendingWriteRecords.writesID, visible: nil) else { return nil }
        return PendingWrite(write, delivery)
    }
}

extension StoreTransaction {
    /// Keeps a change that is to be sent, joined with a write of its author and record that waits right before it. Throws
    /// `server.overloaded` where no place is left for the author.
    @discardableResult
    func addPendingWrite(
        _ change: PendingChange, isThrough: Bool, origin: WriteOrigin, author: String, epoch: Epoch
    ) throws -> RecordID {
        if !isThrough, let joined = try join(change, origin: origin, author: author) { return joined }
        try checkPlace(in: change.collection, for: author)
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
                    "conditional": change.isConditional && origin.mutation == nil ? true : .null,
                ]), author: author)
        return id
    }

    private func checkPlace(in mirror: CollectionID, for author: String) throws {
        let taken = try countOfQueuedWrites(of: mirror, by: nil)
        // Counting one author's costs as much again, and says nothing where all together would have a place.
        guard
            try PendingWriteRecords.hasPlace(of: taken, taken: taken)
                || PendingWriteRecords.hasPlace(of: countOfQueuedWrites(of: mirror, by: author), taken: taken)
        else {
            throw PorticoError(
                .overloaded, "Too many of your changes of \(mirror) wait for another system.",
                retryAfter: PendingWriteRecords.pauseWithoutPlace)
        }
    }

    /// The write that has the change too; nil: there is none that it can be joined with.
    ///
    /// Only an update that was never sent is joined: what another system got under a key stays as it was. Nor is one whose
    /// caller chose a key, under which it may come again.
    private func join(_ change: PendingChange, origin: WriteOrigin, author: String) throws -> RecordID? {
        guard change.operation == .update, !change.isConditional, !origin.isKeyOfCaller,
            let last = try lastPendingWrite(of: change.record, in: change.collection),
            last.operation == .update, last.state == .pending, last.author == author, !last.isThrough,
            !last.isConditional,
            last.tries == 0, !last.wasSent, last.mutation?.client == origin.mutation?.client,
            last.mutation != nil || last.key == last.id.text
        else { return nil }
        var fields = last.fields
        for field in change.fields { fields[field.key] = field.value }
        _ = try apply(PendingWriteRecords.writes.name, .update(last.id, ["fields": .dictionary(fields)]))
        if let mutation = origin.mutation {
            _ = try apply(
                PendingWriteRecords.deliveries.name, .update(last.id, ["sequence": .int64(mutation.sequence)]))
        }
        return last.id
    }

    /// Remembers the key that a caller chose for `change`. Throws `request.keyReused` where it came with another one.
    func use(_ key: String, of author: String, for change: String) throws {
        let known = try query(
            Query(
                .all([
                    PendingWriteRecords.isBy(author), .compare(PendingWriteRecords.key, .equal, .string(key)),
                ]), limit: 1), in: PendingWriteRecords.keysID
        ).records.first
        let oldest = now.adding(-PendingWriteRecords.keyLifetime)
        if let known, let created = known[PendingWriteRecords.created].dateValue, oldest < created {
            guard known[PendingWriteRecords.change].stringValue == change else {
                throw PorticoError(
                    .keyReused, "This Idempotency-Key came with another change.", target: "Idempotency-Key")
            }
            return
        }
        try forgetKeys(before: oldest, of: author)
        if let known { try remove(known.id, of: PendingWriteRecords.keys) }
        _ = try apply(
            PendingWriteRecords.keys.name, .create(nil, ["key": .string(key), "change": .string(change)]),
            author: author)
    }

    /// A few of them with each that comes, so that none has much to do.
    private func forgetKeys(before oldest: WireDate, of author: String) throws {
        let byAge = [SortKey(PendingWriteRecords.created)]
        let late = Filter.compare(PendingWriteRecords.created, .less, .date(oldest))
        for record in try query(Query(late, order: byAge, limit: 4), in: PendingWriteRecords.keysID).records {
            try remove(record.id, of: PendingWriteRecords.keys)
        }
        let own = PendingWriteRecords.isBy(author)
        guard try count(own, in: PendingWriteRecords.keysID) >= PendingWriteRecords.mostKeys else { return }
        for record in try query(Query(own, order: byAge, limit: 1), in: PendingWriteRecords.keysID).records {
            try remove(record.id, of: PendingWriteRecords.keys)
        }
    }

    private func remove(_ id: RecordID, of entity: Entity) throws { _ = try apply(entity.name, .delete(id)) }

    /// Says that a write is being sent. `mayBeMade`: it has to be found out afterwards where the process ends.
    public func setBegun(_ write: PendingWrite, mayBeMade: Bool) throws {
        _ = try apply(
            PendingWriteRecords.deliveries.name,
            .update(write.id, ["sent": .bool(write.wasSent || mayBeMade), "tries": .int64(Int64(write.tries + 1))]))
    }

    /// Says whether a write may have been sent.
    public func setSent(_ sent: Bool, of id: RecordID) throws {
        _ = try apply(PendingWriteRecords.deliveries.name, .update(id, ["sent": .bool(sent)]))
    }

    /// Says how sending a write failed. `isLost`: it may have been made all the same.
    public func setFailure(_ detail: String, isLost: Bool, of write: PendingWrite) throws {
        var fields: WireDictionary = ["answer": .string(String(detail.prefix(PendingWriteRecords.longestMessage)))]
        if isLost {
            fields["losses"] = .int64(Int64(write.losses + 1))
            fields["lost"] = .date(write.lost ?? now)
        }
        _ = try apply(PendingWriteRecords.deliveries.name, .update(write.id, fields))
    }

    /// Has a write begin anew. `key`: what names the change from now on; nil: what does so far. Why it was refused stays
    /// its last answer.
    public func setUnsent(_ id: RecordID, key: String?) throws {
        var fields: WireDictionary = ["sent": .bool(false), "losses": .null, "lost": .null]
        if let key { fields["key"] = .string(key) }
        if let refusal = try record(id, in: PendingWriteRecords.writesID, visible: nil)?.fields.refusal {
            fields["answer"] = refusal
        }
        _ = try apply(PendingWriteRecords.deliveries.name, .update(id, fields))
    }

    /// Says what the other system had before a write is sent.
    public func setBefore(_ before: WireDictionary?, of id: RecordID) throws {
        let before = before.map { WireValue.dictionary($0) } ?? .null
        _ = try apply(PendingWriteRecords.deliveries.name, .update(id, ["before": before]))
    }

    /// Changes the state of a write, or what its author reads of it.
    public func setState(
        _ state: PendingWrite.State, reason: ErrorCode? = nil, message: String? = nil, of id: RecordID
    ) throws {
        let fields: WireDictionary = [
            "state": .string(state.rawValue), "reason": reason.map { .string($0.rawValue) } ?? .null,
            "message": message.map { .string(String($0.prefix(PendingWriteRecords.longestMessage))) } ?? .null,
        ]
        let known = try record(id, in: PendingWriteRecords.writesID, visible: nil)
        // Devices have it already.
        if let known, fields.allSatisfy({ known.fields[$0.key] ?? .null == $0.value }) { return }
        _ = try apply(PendingWriteRecords.writes.name, .update(id, fields))
    }

    /// Removes a write that is made, or dropped.
    public func removePendingWrite(_ id: RecordID) throws {
        _ = try apply(PendingWriteRecords.deliveries.name, .delete(id))
        _ = try apply(PendingWriteRecords.writes.name, .delete(id))
    }

    /// Removes the oldest refused write of an author and mirror where there are more than
    /// ``PendingWriteRecords/mostRefused``.
    public func removeOldestRefusedWrite(of mirror: CollectionID, by author: String) throws {
        let refused = Filter.all([
            PendingWriteRecords.isBy(author), PendingWriteRecords.isOf(mirror), PendingWriteRecords.isIn(.refused),
        ])
        guard try count(refused, in: PendingWriteRecords.writesID) > PendingWriteRecords.mostRefused else { return }
        let query = Query(refused, order: [SortKey(PendingWriteRecords.created)], limit: 1)
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
        isConditional = delivery[PendingWriteRecords.conditional].boolValue ?? false
        key = delivery[PendingWriteRecords.key].stringValue ?? write.id.text
        isThrough = delivery[PendingWriteRecords.through].boolValue ?? false
        wasSent = delivery[PendingWriteRecords.sent].boolValue ?? false
        epoch = delivery[PendingWriteRecords.epoch].stringValue ?? ""
        author = write[PendingWriteRecords.author].stringValue ?? Principal.system.name
        created = write[PendingWriteRecords.created].dateValue ?? WireDate(secondsSinceReferenceDate: 0)
        tries = Int(delivery[PendingWriteRecords.tries].int64Value ?? 0)
        losses = Int(delivery[PendingWriteRecords.losses].int64Value ?? 0)
        lost = delivery[PendingWriteRecords.lost].dateValue
        let client = delivery[PendingWriteRecords.client].stringValue.flatMap { ClientID($0) }
        let sequence = delivery[PendingWriteRecords.sequence].int64Value
        mutation = client.flatMap { client in sequence.map { WriteOrigin.Mutation(client: client, sequence: $0) } }
    }
}

extension WireDate {
    fileprivate func adding(_ seconds: Double) -> WireDate {
        WireDate(secondsSinceReferenceDate: secondsSinceReferenceDate + seconds)
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
    /// As ``MirrorChange/isConditional``.
    let isConditional: Bool

    /// `change` as it was made of `before`, with the record that it made. Nil where nothing was changed.
    init?(_ step: WriteTransaction.Step, of entity: Entity, before: Record?, after: Record?) {
        guard let id = after?.id ?? before?.id, before != nil || after != nil else { return nil }
        collection = step.collection
        record = id
        self.before = before?.fields
        if case .revision = step.change.condition { isConditional = true } else { isConditional = false }
        let given = after.map { entity.callerFields(by: $0.fields) } ?? [:]
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
    fileprivate func callerFields(by record: WireDictionary) -> WireDictionary {
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
    /// Why a write was refused; nil: it was not.
    fileprivate var refusal: WireValue? {
        guard self["state"]?.stringValue == PendingWrite.State.refused.rawValue, let message = self["message"],
            message != .null
        else { return nil }
        return message
    }

    /// A write as operators see it. The last answer of one that is refused is the refusal, not what an earlier attempt came to.
    fileprivate func described(with delivery: WireDictionary) -> WireDictionary {
        var members = merging(delivery)
        if let refusal { members["answer"] = refusal }
        return members
    }

    /// With the members of `other` that it does not have.
    fileprivate func merging(_ other: WireDictionary) -> WireDictionary {
        var merged = self
        for member in other where merged[member.key] == nil { merged[member.key] = member.value }
        return merged
    }
}
