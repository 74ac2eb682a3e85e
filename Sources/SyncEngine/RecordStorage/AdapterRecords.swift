import AdapterKit
import Synchronization

/// One adapter's view of a store: with the adapter's own authority, or as a principal whom its row rules bind.
///
/// The only place where row rules become conditions, for reads, queries, counts and writes alike. Entities of other
/// adapters are out of reach.
public struct AdapterRecords: RecordStore {
    private let store: any Store
    private let declaration: AdapterDeclaration
    /// Nil: the adapter itself.
    private let principal: Principal?
    private let attachments: (any AttachmentAuthorization)?
    private let origin: WriteOrigin
    private let keyUses: KeyUses
    private let through: (any WriteThrough)?
    private let observer: (any ChangeObserver)?
    private let confirmation: (any CallerConfirmation)?
    private let preparation: (any ReadPreparation)?

    /// All of the adapter's records; what it creates is the system's.
    public init(store: any Store, declaration: AdapterDeclaration) {
        self.store = store
        self.declaration = declaration
        self.principal = nil
        attachments = nil
        origin = WriteOrigin()
        keyUses = KeyUses()
        through = nil
        observer = nil
        confirmation = nil
        preparation = nil
    }

    /// The adapter's records as far as `principal` may see and change them. `attachments` decides which attachments its
    /// changes may name; nil: any. `through` makes changes of mirrors in the other systems that are to have them first;
    /// nil: they are queued. `observer` learns what was changed. `confirmation` is asked before each change,
    /// `preparation` before each read.
    public init(
        store: any Store, declaration: AdapterDeclaration, principal: Principal,
        attachments: (any AttachmentAuthorization)? = nil, origin: WriteOrigin = WriteOrigin(),
        through: (any WriteThrough)? = nil, observer: (any ChangeObserver)? = nil,
        confirmation: (any CallerConfirmation)? = nil, preparation: (any ReadPreparation)? = nil
    ) {
        self.preparation = preparation
        self.observer = observer
        self.confirmation = confirmation
        self.store = store
        self.declaration = declaration
        self.principal = principal
        self.attachments = attachments
        self.origin = origin
        keyUses = KeyUses()
        self.through = through
    }

    public func record(_ id: RecordID, in entity: EntityName) async throws -> Record? {
        let scope = try await readable(entity)
        return try await store.record(id, in: scope.collection, visible: scope.visible)
    }

    public func query(_ query: Query, in entity: EntityName) async throws -> RecordPage {
        let scope = try await readable(entity)
        try query.checkSize()
        var narrowed = query
        narrowed.filter = try scope.narrowing(query.filter)
        return try await store.query(narrowed, in: scope.collection)
    }

    /// A page that ends early where its records would be larger than `bytes` (``Record/writtenSize``).
    public func query(_ query: Query, in entity: EntityName, atMost bytes: Int) async throws -> RecordPage {
        let scope = try await readable(entity)
        try query.checkSize()
        var narrowed = query
        narrowed.filter = try scope.narrowing(query.filter)
        return try await store.query(narrowed, in: scope.collection, atMost: bytes)
    }

    public func count(_ filter: Filter?, in entity: EntityName) async throws -> Int {
        let scope = try await readable(entity)
        return try await store.count(try scope.narrowing(filter), in: scope.collection)
    }

    public func requireAccess(_ effect: Effect, to entities: Set<EntityName>) async throws {
        for entity in entities.sorted() { try EntityScope(entity, of: declaration, for: principal).require(effect) }
    }

    public func apply(_ changes: [RecordChange]) async throws -> WriteReceipt {
        let receipt = try await make(changes)
        await observer?.noteChanges(changes, receipt)
        return try visibleReceipt(receipt, of: changes)
    }

    /// A right to write shows nothing of what the caller may not read.
    private func visibleReceipt(_ receipt: WriteReceipt, of changes: [RecordChange]) throws -> WriteReceipt {
        guard let principal,
            declaration.entities.contains(where: { $0.readers.map { $0.decision(for: principal) != .allowed } ?? false }
            )
        else { return receipt }
        let records = try zip(changes, receipt.records).map { change, record in
            try EntityScope(change.entity, of: declaration, for: principal).visibleRecord(of: record, by: change)
        }
        return WriteReceipt(position: receipt.position, records: records)
    }

    private func make(_ changes: [RecordChange]) async throws -> WriteReceipt {
        try await confirmation?.confirm()
        let steps = try steps(of: changes)
        if let attachments { try await attachments.check(changes, of: declaration) }
        guard let principal, declaration.rules != nil || declaration.isWrittenElsewhere(steps) else {
            return try await store.write(WriteTransaction(steps, author: (principal ?? .system).name))
        }
        if let through, declaration.isWrittenThrough(steps) {
            return try await write(steps, of: principal, by: through)
        }
        let (declaration, epoch, origin) = (declaration, store.epoch, keyUses.next(of: origin))
        return try await RuleAnswers.settling(steps.count) { answers in
            try await store.transact(weight: steps.count, expecting: StoreRead.changing(steps)) {
                try AuthorizedWrite(
                    declaration: declaration, principal: principal, epoch: epoch, origin: origin, transaction: $0,
                    answers: answers
                ).apply(steps)
            }
        }
    }

    private func write(
        _ steps: [WriteTransaction.Step], of principal: Principal, by through: any WriteThrough
    ) async throws -> WriteReceipt {
        // Another system can take part in no transaction.
        guard let step = steps.first, steps.count == 1 else {
            throw PorticoError(.requestInvalid, "Changes of \(declaration.title) are made one at a time.")
        }
        let (declaration, epoch, origin) = (declaration, store.epoch, keyUses.next(of: origin))
        return try await RuleAnswers.settling { answers in
            try await through.write(step.collection) {
                try AuthorizedWrite(
                    declaration: declaration, principal: principal, epoch: epoch, origin: origin, transaction: $0,
                    answers: answers
                ).propose(step)
            }
        }
    }

    public func withReadSnapshot<Result: Sendable>(
        _ body: @escaping @Sendable (any RecordSnapshot) throws -> Result
    ) async throws -> Result {
        try await preparation?.prepare()
        let (declaration, principal, epoch) = (declaration, principal, store.epoch)
        return try await store.withReadSnapshot {
            try body(AdapterSnapshot(snapshot: $0, declaration: declaration, principal: principal, epoch: epoch))
        }
    }

    public func streamSnapshot(
        within time: Duration, _ body: @escaping @Sendable (any RecordSnapshot, any ChunkOutput) throws -> Void
    ) async throws -> any ByteStream {
        try await preparation?.prepare()
        let (declaration, principal, epoch) = (declaration, principal, store.epoch)
        return try await store.streamSnapshot(within: time) {
            try body(AdapterSnapshot(snapshot: $0, declaration: declaration, principal: principal, epoch: epoch), $1)
        }
    }

    private func steps(of changes: [RecordChange]) throws(PorticoError) -> [WriteTransaction.Step] {
        var steps: [WriteTransaction.Step] = []
        steps.reserveCapacity(changes.count)
        // Thousands of changes in a row are of one entity, and finding it costs more than the step.
        var latest: (name: EntityName, scope: EntityScope)?
        for change in changes {
            let scope: EntityScope
            if let latest, latest.name == change.entity {
                scope = latest.scope
            } else {
                scope = try EntityScope(change.entity, of: declaration, for: principal)
                latest = (change.entity, scope)
            }
            steps.append(try scope.step(change))
        }
        return steps
    }

    /// Throws before anything is prepared where the caller may not read the entity.
    private func readable(_ entity: EntityName) async throws -> EntityScope {
        let scope = try EntityScope(reading: entity, of: declaration, for: principal)
        try await preparation?.prepare()
        return scope
    }
}

/// Says again whether a caller may act: what goes on for long outlives credentials and roles.
public protocol CallerConfirmation: Sendable {
    /// Throws what the caller would be refused with now.
    func confirm() async throws
}

/// Has records brought up to date that are about to be read.
public protocol ReadPreparation: Sendable {
    /// Returns when they may be read. Throws why they may not.
    func prepare() async throws
}

/// Learns which changes were made in a caller's name.
public protocol ChangeObserver: Sendable {
    /// The changes of one call, and what came of each.
    func noteChanges(_ changes: [RecordChange], _ receipt: WriteReceipt) async
}

/// The number of times that one request has changed records: each time its idempotency key names another change.
private final class KeyUses: Sendable {
    private let count = Mutex(0)

    func next(of origin: WriteOrigin) -> WriteOrigin {
        guard origin.isKeyOfCaller, let key = origin.idempotencyKey else { return origin }
        let number = count.withLock { count in
            count += 1
            return count
        }
        return number == 1 ? origin : WriteOrigin(idempotencyKey: "\(key)/\(number)")
    }
}

/// Makes changes of mirrors in other systems while their callers wait.
public protocol WriteThrough: Sendable {
    /// Runs `propose` in a transaction, which keeps a ``PendingWrite`` and returns its id; has it sent, and returns what was
    /// stored of the answer.
    ///
    /// Throws what `propose` does, what the other system refused it with, `upstream.failed` where nothing was sent, and
    /// `upstream.outcomeUnknown`.
    func write(
        _ mirror: CollectionID, _ propose: @escaping @Sendable (any StoreTransaction) throws -> RecordID
    ) async throws -> WriteReceipt
}

extension Query {
    /// Throws `request.limitExceeded` for a page beyond ``maximumLimit``.
    public func checkSize() throws(PorticoError) {
        guard limit <= Self.maximumLimit else {
            throw PorticoError(
                .requestLimitExceeded, "A page has at most \(Self.maximumLimit) records.", target: "limit")
        }
        guard limit >= 0 else { throw PorticoError(.requestInvalid, "A limit is not negative.", target: "limit") }
        if case .offset(let rows) = start, rows < 0 {
            throw PorticoError(.requestInvalid, "An offset is not negative.", target: "offset")
        }
    }
}

/// One adapter's view of a store in one snapshot, bound by the same row rules as ``AdapterRecords``.
struct AdapterSnapshot: RecordSnapshot {
    let snapshot: any StoreSnapshot
    let declaration: AdapterDeclaration
    /// Nil: the adapter itself.
    let principal: Principal?
    let epoch: Epoch

    var position: Revision { snapshot.position }

    func checkCancellation() throws { try snapshot.checkCancellation() }

    func record(_ id: RecordID, in entity: EntityName) throws -> Record? {
        let scope = try EntityScope(reading: entity, of: declaration, for: principal)
        return try snapshot.record(id, in: scope.collection, visible: scope.visible)
    }

    func query(_ query: Query, in entity: EntityName) throws -> RecordPage {
        let scope = try EntityScope(reading: entity, of: declaration, for: principal)
        try query.checkSize()
        var narrowed = query
        narrowed.filter = try scope.narrowing(query.filter)
        return try snapshot.query(narrowed, in: scope.collection)
    }

    func count(_ filter: Filter?, in entity: EntityName) throws -> Int {
        let scope = try EntityScope(reading: entity, of: declaration, for: principal)
        return try snapshot.count(try scope.narrowing(filter), in: scope.collection)
    }

    func rows(_ relation: Relation, _ receive: (any RowValues) throws -> Void) throws {
        try snapshot.rows(relation, seen: VisibleRows(of: declaration, for: principal), receive)
    }

    func changeCursor(of entities: [EntityName]) throws -> ChangeCursor {
        try ChangeLogReader(entities, of: declaration, for: principal, epoch: epoch, at: snapshot).mark
    }

    func changes(of entities: [EntityName], since mark: ChangeCursor, limit: Int) throws -> ChangedRecordPage {
        try ChangeLogReader(entities, of: declaration, for: principal, epoch: epoch, at: snapshot)
            .page(since: mark, limit: limit)
    }
}
