import AdapterKit
import RecordStorage
import SyncMessages

extension MutationRun {
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
        let fields = mutation.fields ?? [:]
        guard let current = try visible(target) else { return try missing(target) }
        guard !isBase(current.revision) else {
            return try write(target, .update(target.id, fields), as: .applied)
        }
        switch target.collection.entity.conflictPolicy {
        case .reject: return try conflict(current)
        case .lastWriterWins:
            try keep(["overwritten": .dictionary(current.fields), "rev": .int64(current.revision.number)], .conflict)
            return try write(target, .update(target.id, fields), as: .applied)
        case .merge:
            guard try FieldMerge(transaction).isPossible(fields, current, target, base: base) else {
                return try conflict(current)
            }
            return try write(target, .update(target.id, fields), as: .merged)
        case .adapterDecides: return try decided(.update(fields), current, target)
        }
    }

    func delete(_ target: MutationTarget) throws -> MutationOutcome {
        guard let current = try visible(target) else { return try missing(target) }
        let policy = target.collection.entity.conflictPolicy
        guard !isBase(current.revision), policy != .lastWriterWins else {
            return try write(target, .delete(target.id), as: .applied)
        }
        return policy == .adapterDecides ? try decided(.delete, current, target) : try conflict(current)
    }

    /// What the adapter decided of the record as it is. Throws ``Undecided`` where it has not been asked about that.
    private func decided(
        _ change: RecordConflict.Change, _ current: Record, _ target: MutationTarget
    ) throws -> MutationOutcome {
        guard let decision = plan.decisions[mutation.sequence], decision.revision == current.revision else {
            let changed = try FieldMerge(transaction).fieldsChanged(since: base, target)
            throw Undecided(
                query: PendingConflict(
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

extension MutationRun {
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
        let bound = BoundWrite(
            declaration: target.collection.declaration, principal: principal, epoch: epoch, transaction: transaction)
        let receipt = try bound.apply([step])
        let seen = verdict == .merged ? try visible(target) : nil
        return MutationOutcome(
            sequence: mutation.sequence, verdict: verdict, rev: receipt.position.number,
            record: seen.map(RecordCopy.init))
    }

    private func conflict(_ current: Record) throws -> MutationOutcome {
        try keepLosing(.conflict)
        return MutationOutcome(
            sequence: mutation.sequence, verdict: .conflict, rev: current.revision.number,
            record: RecordCopy(current), reason: ErrorCode.recordConflict.rawValue,
            message: "The record is another than the one that was changed.")
    }

    /// The record is gone, or was never there for this caller. To delete what somebody deleted is done already; a change
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

    /// The deletion of a record that the caller could see.
    private func tombstone(_ target: MutationTarget) throws -> LogEntry? {
        let last = try transaction.history(of: target.id, in: target.collection.id, limit: 1).first
        guard let last, last.kind == .remove, let revision = last.previousRevision else { return nil }
        let before = Revision(last.position.number - 1)
        let state = RowState(revision: revision, values: last.previousScopeValues)
        let memberships = Memberships(RowHistory(snapshot: transaction))
        let wasSeen = try Scope(target.collection, for: plan.caller).holds(state, at: before, in: memberships)
        return wasSeen ? last : nil
    }
}

extension RecordCopy {
    init(_ record: Record) {
        self.init(id: record.id.text, rev: record.revision.number, fields: record.fields)
    }
}
