import AdapterKit
import RecordStorage
import SyncMessages

/// One mutation within the transaction of its push.
struct MutationExecution {
    let plan: PushPlan
    let mutation: Mutation
    /// As the device sent it: of the id that the record had there.
    let sent: Mutation
    let catalogue: SyncCatalogue
    let epoch: Epoch
    let transaction: any StoreTransaction

    var principal: Principal { plan.caller.principal }

    /// The outcome of the first time, whenever it is asked for again.
    ///
    /// Throws ``UndecidedConflict`` and, with nothing of the mutation left, where rules in another process have to be asked.
    func outcome() throws -> MutationOutcome {
        guard catalogue[mutation.collection]?.declaration.rules is any RemoteRecordRules else { return try settle() }
        // Copies of what loses may have been kept before the rules were asked.
        return try transaction.undoing { try settle() }
    }

    private func settle() throws -> MutationOutcome {
        if let known = try transaction.outcome(of: mutation.sequence, from: plan.client) {
            return try repeatedOutcome(known)
        }
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
            throw PorticoError(
                .routeNotFound, "There is no collection \(SyncCatalogue.shown(mutation.collection)).",
                target: "collection")
        }
        guard let id = RecordID(mutation.id) else {
            throw PorticoError(.requestInvalid, "That cannot be an id.", target: "id")
        }
        switch collection.decision(for: plan.caller, effect: .writes) {
        case .allowed: return try MutationTarget(collection: collection, id: id, principal: principal)
        case .loginRequired: throw PorticoError(.loginRequired, "This needs a login.")
        case .denied:
            throw PorticoError(
                .accessDenied,
                collection.declaration.writeRefusal(of: collection.entity.name)
                    ?? "You may not change \(collection.name).")
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

extension MutationExecution {
    func create(_ target: MutationTarget) throws -> MutationOutcome {
        guard target.collection.entity.key.chooser != .server else {
            throw PorticoError(
                .requestInvalid, "The server chooses the ids of \(target.collection.name).", target: "id")
        }
        let fields = mutation.fields ?? [:]
        guard let existing = try visible(target) else {
            return try write(target, .create(target.id, fields), as: .applied)
        }
        guard target.collection.entity.conflictPolicy == .adapterDecides else { return try conflict(existing) }
        return try decided(.create(fields), existing, target)
    }

    func update(_ target: MutationTarget) throws -> MutationOutcome {
        guard let current = try visible(target) else { return try missing(target) }
        let fields = restored(mutation.fields ?? [:], from: current)
        guard !isBase(current.revision) else {
            return try write(target, .update(target.id, fields), as: .applied)
        }
        switch target.collection.entity.conflictPolicy {
        case .reject: return try conflict(current)
        case .lastWriterWins:
            try keep(["overwritten": .dictionary(current.fields), "rev": .int64(current.revision.number)], .conflict)
            return try write(target, .update(target.id, fields), as: .applied)
        case .merge:
            // Whether a guess is what the record has is nothing for those who may not read it.
            guard mayRead, try FieldMerge(transaction).isPossible(fields, current, target, base: base) else {
                return try conflict(current)
            }
            return try write(target, .update(target.id, fields), as: .merged)
        case .adapterDecides: return try decided(.update(fields), current, target)
        }
    }

    /// The sent fields with those restored that the caller may not read: they tell nothing of themselves.
    private func restored(_ fields: WireDictionary, from current: Record) -> WireDictionary {
        guard let restored = plan.restored, mayRead else { return fields }
        return restored(fields, current.fields)
    }

    func delete(_ target: MutationTarget) throws -> MutationOutcome {
        guard let current = try visible(target) else { return try missing(target) }
        let policy = target.collection.entity.conflictPolicy
        guard !isBase(current.revision), policy != .lastWriterWins else {
            return try write(target, .delete(target.id), as: .applied)
        }
        return policy == .adapterDecides ? try decided(.delete, current, target) : try conflict(current)
    }

    /// The adapter's decision about the record as it is. Throws ``UndecidedConflict`` where it has not been asked about that.
    private func decided(
        _ change: RecordConflict.Change, _ current: Record, _ target: MutationTarget
    ) throws -> MutationOutcome {
        guard let decision = plan.decisions[mutation.sequence], decision.revision == current.revision else {
            let changed = try FieldMerge(transaction).fieldsChanged(since: base, target)
            throw UndecidedConflict(
                pendingConflict: PendingConflict(
                    sequence: mutation.sequence, adapter: target.collection.id.adapter,
                    conflict: RecordConflict(
                        entity: target.collection.entity.name, change: change, current: current,
                        changedSince: changed.map { Set($0.map { FieldName(unchecked: $0) }) }, caller: principal)))
        }
        switch try decision.result.get() {
        case .keep: return try conflict(current)
        case .change(let fields): return try write(target, .update(target.id, fields), as: .merged)
        case .delete: return try write(target, .delete(target.id), as: .applied)
        }
    }
}

extension MutationExecution {
    /// The revision that the device knew; nil where it names none or one of another history.
    private var base: Revision? {
        plan.knowsHistory ? mutation.baseRev.map { Revision($0) } : nil
    }

    /// Whether the change was made on what is there. Without a base revision it was made on whatever is.
    private func isBase(_ revision: Revision) -> Bool {
        guard let known = mutation.baseRev else { return true }
        return plan.knowsHistory && known == revision.number
    }

    private func visible(_ target: MutationTarget) throws -> Record? {
        try transaction.record(target.id, in: target.collection.id, visible: target.scope.visible)
    }

    private func write(
        _ target: MutationTarget, _ action: RecordChange.Action, as verdict: MutationOutcome.Verdict
    ) throws -> MutationOutcome {
        let step = try target.scope.step(RecordChange(target.collection.entity.name, action))
        let bound = AuthorizedWrite(
            declaration: target.collection.declaration, principal: principal, epoch: epoch,
            origin: WriteOrigin(WriteOrigin.Mutation(client: plan.client, sequence: mutation.sequence)),
            transaction: transaction, answers: plan.answers)
        let receipt = try bound.apply([step])
        let seen = verdict == .merged ? try visible(target) : nil
        return MutationOutcome(
            sequence: mutation.sequence, verdict: verdict, rev: receipt.position.number,
            record: seen.flatMap(copy))
    }

    /// Whether the caller may read the records of the collection at all: who may write them need not.
    private var mayRead: Bool { catalogue[mutation.collection]?.isReadable(by: plan.caller) ?? false }

    private func copy(_ record: Record) -> RecordCopy? { mayRead ? RecordCopy(record) : nil }

    private func conflict(_ current: Record) throws -> MutationOutcome {
        try keepLosing(.conflict)
        return MutationOutcome(
            sequence: mutation.sequence, verdict: .conflict, rev: current.revision.number,
            record: copy(current), reason: ErrorCode.recordConflict.rawValue,
            message: "The record is another than the one that was changed.")
    }

    /// The record is gone, or was never there for this caller. To delete what a caller deleted is done already; a change
    /// of it lost against the deletion.
    private func missing(_ target: MutationTarget) throws -> MutationOutcome {
        guard let tombstone = try tombstone(target) else {
            throw PorticoError(.recordNotFound, "There is no such record.", target: "id")
        }
        guard mutation.operation != .delete else {
            return MutationOutcome(sequence: mutation.sequence, verdict: .applied, rev: tombstone.position.number)
        }
        try keepLosing(.conflict)
        return MutationOutcome(
            sequence: mutation.sequence, verdict: .conflict, reason: ErrorCode.recordNotFound.rawValue,
            message: "The record was deleted.")
    }

    /// The log's last entry of the record: usually one behind what the device knew.
    private func lastEntry(_ target: MutationTarget) throws -> LogEntry? {
        if let base, let last = try transaction.history(of: target.id, in: target.collection.id, after: base).first {
            return last
        }
        return try transaction.history(of: target.id, in: target.collection.id, limit: 1).first
    }

    /// The deletion of a record that the caller could see.
    private func tombstone(_ target: MutationTarget) throws -> LogEntry? {
        guard let last = try lastEntry(target), last.kind == .remove, let revision = last.previousRevision else {
            return nil
        }
        let before = Revision(last.position.number - 1)
        let state = RowState(revision: revision, values: last.previousScopeValues)
        let memberships = GroupMemberships(RowHistory(snapshot: transaction))
        let wasSeen = try SyncScope(target.collection, for: plan.caller).holds(state, at: before, in: memberships)
        return wasSeen ? last : nil
    }
}

extension RecordCopy {
    init(_ record: Record) {
        self.init(id: record.id.text, rev: record.revision.number, fields: record.fields)
    }
}

extension MutationExecution {
    private static let digestKey = "digest"
    private static let outcomeKey = "outcome"

    /// Stored with the outcome in the transaction of the effect.
    func remember(_ outcome: MutationOutcome) throws {
        try transaction.remember(
            [Self.outcomeKey: outcome.wireValue, Self.digestKey: .string(digest(of: sent.id))], of: mutation.sequence,
            from: plan.client, of: principal.id)
    }

    /// A number that a later one has overtaken, without an outcome: either it was answered so long ago that the outcome
    /// is gone, or it comes out of turn. No caller can tell which, so it is not made.
    func tooLate() throws -> MutationOutcome {
        try keepLosing(.rejection)
        return refusal(
            PorticoError(.requestInvalid, "A later sequence number was answered already.", target: "sequence"))
    }

    /// The stored outcome, but for a record that the caller has lost the sight of. A device that counts anew, restored
    /// from a backup of its own, gets an error instead of another mutation's outcome.
    func repeatedOutcome(_ known: PushOutcome) throws -> MutationOutcome {
        guard try known.content[Self.digestKey]?.stringValue.map({ try digests().contains($0) }) ?? false else {
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
        let scope = SyncScope(collection, for: plan.caller)
        return try transaction.record(id, in: collection.id, visible: scope.visible) != nil
    }

    /// A digest of what names the mutation. Values are left out: a repetition in another wire format may spell them differently.
    private func digest(of id: String) -> String {
        var mixer = StableHash()
        for part in [sent.operation.rawValue, sent.collection, id] { mixer.add(part) }
        for name in sent.fields?.keys.sorted() ?? [] { mixer.add(name) }
        return String(mixer.value, radix: 16)
    }

    /// The digests of a mutation that is sent again: the record may have got another id meanwhile, and the device heard of it.
    private func digests() throws -> [String] {
        guard let collection = catalogue[sent.collection], let id = RecordID(sent.id),
            collection.declaration.isWrittenElsewhere(collection.entity.name)
        else { return [digest(of: sent.id)] }
        let former = try transaction.formerIDs(of: id, in: collection.id).map(\.text)
        return ([sent.id] + former).map { digest(of: $0) }
    }

    /// Keeps what the device wrote, for the caller that wants to look at it.
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

/// Whether two changes of one record can both be made: a three-way merge whose common ancestor is known by the names of
/// the fields that were changed since, which the log keeps.
struct FieldMerge {
    private let snapshot: any StoreSnapshot

    init(_ snapshot: any StoreSnapshot) {
        self.snapshot = snapshot
    }

    /// Where no field was changed to different values on both sides. False where the log no longer reaches back to it.
    func isPossible(
        _ fields: WireDictionary, _ current: Record, _ target: MutationTarget, base: Revision?
    ) throws -> Bool {
        guard let changed = try fieldsChanged(since: base, target) else { return false }
        return fields.allSatisfy { entry in
            !changed.contains(entry.key) || current.fields[entry.key] == entry.value
                || target.collection.entity.isFilledByServer(entry.key)
        }
    }

    /// Nil where the record was made anew, or where the log does not reach back to that revision.
    func fieldsChanged(since base: Revision?, _ target: MutationTarget) throws -> Set<String>? {
        guard let base else { return nil }
        let entries = try RowHistory(snapshot: snapshot).entries(of: target.id, in: target.collection.id, since: base)
        guard entries.last?.previousRevision == base else { return nil }
        var names: Set<String> = []
        for entry in entries {
            guard let changed = entry.changedFields else { return nil }
            names.formUnion(changed.map(\.text))
        }
        return names
    }
}

extension Entity {
    /// Whether the server fills the field. A device's value of it is ignored, so it takes part in no conflict.
    fileprivate func isFilledByServer(_ name: String) -> Bool {
        switch fields.first(where: { $0.name.text == name })?.source {
        case .creator, .createdAt, .modifiedAt, .createdPosition, .rules: true
        default: false
        }
    }
}
