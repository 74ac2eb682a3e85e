import AdapterKit
import RecordStorage
import SyncMessages

/// Makes a device's changes, each once, within transactions of the store: the effect, the sequence number and the
/// outcome become durable together. ``PushRun`` says which transactions a push takes: one, where nobody has to be asked.
///
/// What a change may do is what it may do at every other door: the step that ``EntityScope`` makes of it carries the row
/// rules, the store checks the fields.
public struct PushMachine: Sendable {
    let catalogue: SyncCatalogue
    let tokens: CheckpointTokens

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

    /// To be called within the transaction; whatever it throws has to undo it. Throws `access.denied` for a client of
    /// another identity, and what ``PushRun/failed(_:)`` understands.
    public func perform(_ plan: PushPlan, in transaction: any StoreTransaction) throws -> PushProgress {
        if let known = try transaction.client(plan.client), known.identity != plan.caller.principal.id {
            throw PorticoError(.accessDenied, "This client belongs to somebody else.", target: "clientId")
        }
        var outcomes: [MutationOutcome] = []
        outcomes.reserveCapacity(plan.mutations.count)
        for mutation in plan.mutations {
            let run = MutationRun(
                plan: plan, mutation: mutation, catalogue: catalogue, epoch: tokens.epoch, transaction: transaction)
            do {
                outcomes.append(try run.outcome())
            } catch let undecided as Undecided {
                return PushProgress(outcomes: outcomes, query: undecided.query)
            } catch let error as PorticoError where error.code.passes {
                throw PushBrokenOff(made: outcomes.count, cause: error)
            }
        }
        return PushProgress(outcomes: outcomes, query: nil)
    }
}

/// A push, or a part of it, ready to be made.
public struct PushPlan: Sendable {
    let client: ClientID
    let caller: SyncCaller
    public internal(set) var mutations: [Mutation]
    /// Attachments that the mutations name and the caller may not name (``AttachmentRights``).
    public var deniedAttachments: Set<AttachmentDigest> = []
    /// Whether the base revisions are of the store's present history.
    let knowsHistory: Bool
    /// What adapters decided, by sequence numbers.
    var decisions: [Int64: Decision] = [:]
}
