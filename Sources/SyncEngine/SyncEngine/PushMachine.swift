import AdapterKit
import RecordStorage
import SyncMessages

/// Makes a device's changes, each once, within transactions of the store: the effect, the sequence number and the
/// outcome become durable together. ``PushExecution`` says which transactions a push takes: one, where no caller has to be asked.
///
/// What a change may do is what it may do at every other interface: the step that ``EntityScope`` makes of it carries the row
/// rules, the store checks the fields.
public struct PushMachine: Sendable {
    let catalogue: SyncCatalogue
    let tokens: CheckpointTokens

    /// `seal` authenticates the checkpoints; `epoch` is the store's.
    public init(catalogue: SyncCatalogue, epoch: Epoch, seal: any CheckpointSeal) {
        self.catalogue = catalogue
        tokens = CheckpointTokens(seal: seal, epoch: epoch)
    }

    /// The attachments that the plan's mutations name.
    public func attachments(namedBy plan: PushPlan) -> Set<AttachmentDigest> {
        plan.mutations.reduce(into: []) { named, mutation in
            guard let fields = mutation.fields, let entity = catalogue[mutation.collection]?.entity else { return }
            named.formUnion(entity.attachments(in: fields))
        }
    }

    /// The request with what is decided outside the transaction. Throws `request.invalid`.
    public func plan(_ request: PushRequest, for caller: SyncCaller) throws(PorticoError) -> PushPlan {
        guard let client = ClientID(request.clientID) else {
            throw PorticoError(
                .requestInvalid, "A client id has 1 to 64 letters, digits, `-`, `_` and `.`.", target: "clientId")
        }
        // A revision of another history says nothing about this one, whatever its number.
        let knowsHistory = request.checkpoint.map { tokens.isOfThisEpoch($0) } ?? true
        return PushPlan(
            client: client, caller: caller, mutations: request.mutations, knowsHistory: knowsHistory)
    }

    /// The reads that ``perform(_:in:)`` makes in any case, and those that it makes where a mutation lost against another change.
    public func reads(of plan: PushPlan) -> [StoreRead] {
        var reads: [StoreRead] = [.client(plan.client)]
        for mutation in plan.mutations {
            reads.append(.outcome(mutation.sequence, from: plan.client))
            guard let collection = catalogue[mutation.collection], let id = RecordID(mutation.id) else { continue }
            reads.append(.record(id, in: collection.id))
            switch mutation.operation {
            case .create: break
            case .update, .delete:
                if plan.knowsHistory, let base = mutation.baseRev {
                    reads.append(.history(id, in: collection.id, after: Revision(base)))
                } else {
                    reads.append(.latestHistory(id, in: collection.id, limit: 1))
                }
                if mutation.operation == .delete { reads.append(.removal(id, in: collection.id)) }
            }
            guard collection.declaration.isWrittenElsewhere(collection.entity.name) else { continue }
            reads += StoreRead.pendingWrites(of: id, in: collection.id)
        }
        return reads
    }

    /// The groups that the mutations' records are of, as they are and as they are to be.
    private func groupReads(of plan: PushPlan, in transaction: any StoreTransaction) throws -> [StoreRead] {
        var reads: [StoreRead] = []
        for mutation in plan.mutations {
            guard let collection = catalogue[mutation.collection], let id = RecordID(mutation.id) else { continue }
            let rows = collection.entity.rows
            let groups = Set(rows.read.groups + rows.write.groups)
            guard !groups.isEmpty else { continue }
            let record = try transaction.record(id, in: collection.id, visible: nil)
            for group in groups {
                for value in [record?.fields[group.through.text], mutation.fields?[group.through.text]] {
                    guard let value, let id = RecordID(key: value) else { continue }
                    let read = StoreRead.record(id, in: CollectionID(collection.id.adapter, group.entity))
                    if !reads.contains(read) { reads.append(read) }
                }
            }
        }
        return reads
    }

    /// To be called within the transaction; whatever it throws has to undo it. Throws `access.denied` for a client of
    /// another identity, and what ``PushExecution/failed(_:)`` understands.
    public func perform(_ plan: PushPlan, in transaction: any StoreTransaction) throws -> PushProgress {
        if let known = try transaction.client(plan.client), known.identity != plan.caller.principal.id {
            throw PorticoError(.accessDenied, "This client belongs to another account.", target: "clientId")
        }
        try transaction.prefetch(try groupReads(of: plan, in: transaction))
        var outcomes: [MutationOutcome] = []
        outcomes.reserveCapacity(plan.mutations.count)
        for mutation in plan.mutations {
            let run = MutationExecution(
                plan: plan, mutation: try following(mutation, in: transaction), sent: mutation, catalogue: catalogue,
                epoch: tokens.epoch, transaction: transaction)
            do {
                outcomes.append(try run.outcome())
            } catch let undecided as UndecidedConflict {
                return PushProgress(outcomes: outcomes, pendingConflict: undecided.pendingConflict)
            } catch let error as PorticoError where error.code.passes {
                throw InterruptedPush(made: outcomes.count, cause: error)
            } catch {
                // What is made stays, so that the rules are asked about each mutation in a transaction that begins with it.
                guard RuleAnswers.areMissing(error), !outcomes.isEmpty else { throw error }
                return PushProgress(outcomes: outcomes, pendingConflict: nil)
            }
        }
        return PushProgress(outcomes: outcomes, pendingConflict: nil)
    }
}

extension PushMachine {
    /// The mutation of a record that has another id now as one of that: another system chose its key, and the device may not
    /// have heard of it.
    private func following(_ mutation: Mutation, in transaction: any StoreTransaction) throws -> Mutation {
        guard let collection = catalogue[mutation.collection], let id = RecordID(mutation.id),
            collection.declaration.isWrittenElsewhere(collection.entity.name),
            let move = try transaction.move(of: id, in: collection.id),
            try transaction.record(id, in: collection.id, visible: nil) == nil
        else { return mutation }
        var followed = mutation
        followed.id = move.to.text
        if let base = mutation.baseRev, let before = move.before, base == before.number {
            followed.baseRev = move.after.number
        }
        let key = collection.entity.key.field
        if let field = collection.entity.fields.first(where: { $0.name == key }), mutation.fields?[key.text] != nil {
            followed.fields?[key.text] = move.to.keyValue(of: field)
        }
        return followed
    }
}

/// A push, or a part of it, ready to be made.
public struct PushPlan: Sendable {
    let client: ClientID
    let caller: SyncCaller
    /// In the order in which the device sent them.
    public internal(set) var mutations: [Mutation]
    /// Attachments that the mutations name and the caller may not name (``AttachmentRights``).
    public var deniedAttachments: Set<AttachmentDigest> = []
    /// Answers of rules in other processes; nil: they are not asked.
    public var answers: RuleAnswers?
    /// The fields that a device sends for a record, from its fields as they are: of a device whose format carries less of a
    /// value than the record has. Nil: as they were sent.
    public var restored: (@Sendable (_ sent: WireDictionary, _ known: WireDictionary) -> WireDictionary)?
    /// Whether the base revisions are of the store's present history.
    let knowsHistory: Bool
    /// Adapters' decisions, by sequence numbers.
    var decisions: [Int64: ConflictOutcome] = [:]
}

/// A push from its first transaction to its last: which mutations the next one makes, whom to ask in between, and what
/// each mutation is answered. Does nothing itself.
///
///     var run = PushRun(plan)
///     while let part = run.next {
///         do { run.made(try await the transaction of part) } catch { try run.failed(error) }
///         if let conflict = run.pendingConflict { run.decided(await the adapter's answer) }
///     }
///
/// What was made stays made, and is reported again whenever the push is repeated. Where one mutation cannot be made now, it
/// and all behind it are answered `retry`: a later sequence number would overtake it for good.
public struct PushExecution: Sendable {
    /// Times that an adapter is asked about one mutation, whose record changes again each time meanwhile.
    public static let maximumDecisionsPerMutation = 4

    private let plan: PushPlan
    private var end: Int
    /// Why those from `end` on are to be sent again.
    private var delay: PorticoError?
    private var decisions: [Int64: ConflictOutcome] = [:]
    private var asked = 0
    /// The conflict that an adapter has to decide before the next transaction; nil: none.
    public private(set) var pendingConflict: PendingConflict?
    private var settled: [MutationOutcome] = []
    private var isBegun = false

    /// Begins the push; nothing of it is made yet.
    public init(_ plan: PushPlan) {
        self.plan = plan
        end = plan.mutations.count
    }

    /// The mutations of the next transaction; nil: none is left. A push without mutations has one too, which finds out
    /// whose the client is.
    public var next: PushPlan? {
        guard settled.count < end || !isBegun else { return nil }
        var part = plan
        part.mutations = Array(plan.mutations[settled.count..<end])
        part.decisions = decisions
        return part
    }

    /// One for each mutation, once ``next`` is nil.
    public var outcomes: [MutationOutcome] {
        settled + plan.mutations[settled.count...].map { $0.delayed(by: delay) }
    }

    /// A transaction is durable.
    public mutating func made(_ progress: PushProgress) {
        isBegun = true
        if !progress.outcomes.isEmpty { asked = 0 }
        settled += progress.outcomes
        pendingConflict = progress.pendingConflict
        asked += 1
        if pendingConflict != nil, asked > Self.maximumDecisionsPerMutation {
            stop(PorticoError(.overloaded, "The record changes too often to settle the conflict now."))
        }
    }

    /// An adapter has answered.
    public mutating func decided(_ result: Result<ConflictResolution, PorticoError>) {
        guard let pendingConflict else { return }
        self.pendingConflict = nil
        if case .failure(let error) = result, error.code.passes { return stop(error) }
        decisions[pendingConflict.sequence] = ConflictOutcome(
            revision: pendingConflict.conflict.current.revision, result: result)
    }

    /// A transaction was undone. Throws the error where nothing of the push was made and nothing of it can be.
    public mutating func failed(_ error: any Error) throws {
        switch error {
        // A mutation that finds no place here and now is answered as one, first or not: the device's others are none of it.
        case let broken as InterruptedPush where settled.count + broken.made > 0 || broken.cause.code == .overloaded:
            end = settled.count + broken.made
            delay = broken.cause
        case let broken as InterruptedPush: throw broken.cause
        case let error as PorticoError where error.code.passes && !settled.isEmpty: stop(error)
        default: throw error
        }
    }

    private mutating func stop(_ error: PorticoError) {
        pendingConflict = nil
        end = settled.count
        delay = error
        isBegun = true
    }
}

extension Mutation {
    fileprivate func delayed(by error: PorticoError?) -> MutationOutcome {
        MutationOutcome(
            sequence: sequence, verdict: .retry, reason: (error?.code ?? .overloaded).rawValue,
            message: error?.retryAfter == nil ? "The change cannot be made now." : error?.message,
            retryAfter: error?.retryAfter.map { Int64($0) })
    }
}

/// A conflict that an adapter has to decide before its mutation can be made: outside the transaction, since an adapter
/// may ask another caller.
public struct PendingConflict: Sendable, Equatable {
    /// The mutation's sequence number.
    public let sequence: Int64
    /// The adapter that decides.
    public let adapter: AdapterName
    /// The conflict that the adapter is asked about.
    public let conflict: RecordConflict
}

/// An adapter's answer, and the state of the record that it is about.
struct ConflictOutcome: Sendable {
    let revision: Revision
    let result: Result<ConflictResolution, PorticoError>
}

/// Thrown before anything of the mutation was done.
struct UndecidedConflict: Error {
    let pendingConflict: PendingConflict
}

/// Thrown where a mutation cannot be made now, after others that could: the transaction is undone with it, and those
/// before it are made by themselves.
struct InterruptedPush: Error {
    /// Mutations before it.
    let made: Int
    let cause: PorticoError
}

/// The progress of one transaction of a push.
public struct PushProgress: Sendable {
    /// The outcomes of its first mutations.
    public let outcomes: [MutationOutcome]
    /// The conflict that keeps the next one from being made; nil: all were.
    public let pendingConflict: PendingConflict?
}

extension ErrorCode {
    /// Says something about the moment and nothing about the mutation, which is sent again later.
    var passes: Bool {
        switch self {
        case .storeUnavailable, .storeFull, .overloaded, .stopping, .serverInternal, .deadlineExceeded,
            .adapterUnavailable, .upstreamFailed, .upstreamTimeout:
            true
        default: false
        }
    }
}
