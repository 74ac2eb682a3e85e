import AdapterKit
import RecordStorage
import SyncMessages

/// One mutation within the transaction of its push.
struct MutationRun {
    let plan: PushPlan
    let mutation: Mutation
    let catalogue: SyncCatalogue
    let epoch: Epoch
    let transaction: any StoreTransaction

    var principal: Principal { plan.caller.principal }

    /// The outcome of the first time, whenever it is asked for again.
    func outcome() throws -> MutationOutcome {
        if let known = try transaction.outcome(of: mutation.sequence, from: plan.client) { return try again(known) }
        let last = try transaction.client(plan.client)?.lastSequence
        guard last.map({ mutation.sequence > $0 }) ?? true else { return try tooLate() }
        let outcome = try decide()
        try remember(outcome)
        return outcome
    }

    private func decide() throws -> MutationOutcome {
        do {
            return try make(try target())
        } catch let error as PorticoError where error.code.passes {
            throw error
        } catch let error as PorticoError {
            try keepLosing(.rejection)
            return refusal(error)
        }
    }

    private func make(_ target: MutationTarget) throws -> MutationOutcome {
        try target.collection.entity.checkAttachments(in: mutation.fields ?? [:], denied: plan.deniedAttachments)
        switch mutation.operation {
        case .create: return try create(target)
        case .update: return try update(target)
        case .delete: return try delete(target)
        }
    }

    private func target() throws(PorticoError) -> MutationTarget {
        guard let collection = catalogue[mutation.collection] else {
            throw PorticoError(.routeNotFound, "There is no collection of this name.", target: "collection")
        }
        guard let id = RecordID(mutation.id) else {
            throw PorticoError(.requestInvalid, "That cannot be an id.", target: "id")
        }
        switch collection.verdict(for: plan.caller, effect: .writes) {
        case .allowed: return try MutationTarget(collection: collection, id: id, principal: principal)
        case .needsLogin: throw PorticoError(.loginRequired, "This needs a login.")
        case .denied: throw PorticoError(.accessDenied, "You may not change \(collection.name).")
        }
    }

    func refusal(_ error: PorticoError) -> MutationOutcome {
        MutationOutcome(
            sequence: mutation.sequence, verdict: .rejected, reason: error.code.rawValue, message: error.message)
    }
}

/// The record that a mutation is about.
struct MutationTarget {
    let collection: SyncCollection
    let id: RecordID
    let scope: EntityScope

    init(collection: SyncCollection, id: RecordID, principal: Principal) throws(PorticoError) {
        self.collection = collection
        self.id = id
        scope = try EntityScope(collection.entity.name, of: collection.declaration, for: principal)
    }
}
