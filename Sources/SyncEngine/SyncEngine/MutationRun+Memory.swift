import AdapterKit
import RecordStorage
import SyncMessages

extension MutationRun {
    private static let digestKey = "digest"
    private static let outcomeKey = "outcome"

    /// Stored with the outcome in the transaction of the effect.
    func remember(_ outcome: MutationOutcome) throws {
        try transaction.remember(
            [Self.outcomeKey: outcome.wireValue, Self.digestKey: .string(digest)], of: mutation.sequence,
            from: plan.client, of: principal.id)
    }

    /// A number that a later one has overtaken, without an outcome: either it was answered so long ago that the outcome
    /// is gone, or it comes out of turn. Nobody can tell which, so it is not made.
    func tooLate() throws -> MutationOutcome {
        try keepLosing(.rejection)
        return refusal(
            PorticoError(.requestInvalid, "A later sequence number was answered already.", target: "sequence"))
    }

    /// The stored outcome, but for a record that the caller has lost the sight of. A device that counts anew, restored
    /// from a backup of its own, is told so instead of being given another mutation's outcome.
    func again(_ known: PushOutcome) throws -> MutationOutcome {
        guard known.content[Self.digestKey]?.stringValue == digest else {
            try keepLosing(.rejection)
            return refusal(
                PorticoError(
                    .requestInvalid, "This sequence number was used for another mutation.", target: "sequence"))
        }
        guard var outcome = try known.content[Self.outcomeKey].map({ try MutationOutcome(from: $0) }) else {
            throw PorticoError(.serverInternal, "A stored outcome cannot be read.")
        }
        if let copy = outcome.record, try !isVisible(copy.id) { outcome.record = nil }
        return outcome
    }

    private func isVisible(_ id: String) throws -> Bool {
        guard let collection = catalogue[mutation.collection], let id = RecordID(id) else { return false }
        let scope = Scope(collection, for: plan.caller)
        return try transaction.record(id, in: collection.id, visible: scope.visible) != nil
    }

    /// Of what names the mutation. Values are left out: a repetition in another wire format may spell them differently.
    private var digest: String {
        var mixer = Mixer()
        for part in [mutation.operation.rawValue, mutation.collection, mutation.id] { mixer.add(part) }
        for name in mutation.fields?.keys.sorted() ?? [] { mixer.add(name) }
        return String(mixer.value, radix: 16)
    }

    /// What the device wrote, for whoever wants to look at it.
    func keepLosing(_ reason: LosingCopy.Reason) throws {
        let content = mutation.wireValue.dictionaryValue ?? [:]
        try keep(content, reason)
    }

    func keep(_ content: WireDictionary, _ reason: LosingCopy.Reason) throws {
        guard let collection = catalogue[mutation.collection], let id = RecordID(mutation.id) else { return }
        try transaction.keep(
            LosingCopy(
                collection: collection.id, id: id, reason: reason, author: principal.name, client: plan.client,
                sequence: mutation.sequence, content: content))
    }
}
