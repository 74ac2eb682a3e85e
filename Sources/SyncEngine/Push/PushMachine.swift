import AdapterKit
import SyncMessages

/// Makes a device's changes, each once, within one transaction of the store: the effect, the sequence number and the
/// outcome become durable together.
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

    /// To be called within the transaction. Throws `access.denied` for a client of another identity, and errors of the
    /// store itself, which end the whole push.
    public func perform(_ plan: PushPlan, in transaction: any StoreTransaction) throws -> [MutationOutcome] {
        if let known = try transaction.client(plan.client), known.identity != plan.caller.principal.id {
            throw PorticoError(.accessDenied, "This client belongs to somebody else.", target: "clientId")
        }
        return try plan.mutations.map { mutation in
            try MutationRun(plan: plan, mutation: mutation, catalogue: catalogue, transaction: transaction).outcome()
        }
    }
}

/// A push, ready to be made.
public struct PushPlan: Sendable {
    let client: ClientID
    let caller: SyncCaller
    public let mutations: [Mutation]
    /// Whether the base revisions are of the store's present history.
    let knowsHistory: Bool
}
