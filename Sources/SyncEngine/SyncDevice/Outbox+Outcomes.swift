import SyncMessages
import ValueTree

extension Outbox {
    /// Takes an outcome; one of a sequence that waits for none is an old answer and changes nothing.
    mutating func settle(_ outcome: MutationOutcome) {
        guard outcome.verdict != .retry,
            let place = pending.firstIndex(where: { $0.sequence == outcome.sequence })
        else { return }
        let settled = pending.remove(at: place)
        switch outcome.verdict {
        case .applied, .merged: acknowledge(settled, outcome)
        case .conflict: setAside(settled, .conflict(outcome.record), outcome.reason)
        case .rejected: setAside(settled, .rejected, outcome.reason)
        case .retry: break
        }
    }

    private mutating func setAside(_ edit: PendingEdit, _ cause: SetAsideEdit.Cause, _ reason: String?) {
        setAside.append(SetAsideEdit(pending: edit, cause: cause, reason: reason))
    }

    private mutating func acknowledge(_ settled: PendingEdit, _ outcome: MutationOutcome) {
        let rev = outcome.rev ?? outcome.record?.rev ?? settled.baseRev ?? 0
        let expected = settled.edit.applied(to: settled.base)
        let known = expected.map { RecordCopy(id: $0.id, rev: rev, fields: outcome.record?.fields ?? $0.fields) }
        acknowledged.append(AcknowledgedEdit(edit: settled.edit.showing(known?.fields), rev: rev))
        for place in pending.indices where pending[place].edit.key == settled.edit.key {
            guard !pending[place].stayedBehind(settled) else { continue }
            guard !foreignFields(known, expected).meets(pending[place].edit, outcome.verdict) else { continue }
            pending[place].base = known
            pending[place].baseRev = known?.rev ?? Self.unknownBase
        }
    }

    /// The fields that others changed: where the record that came of an edit is not what the device made of it.
    private func foreignFields(_ known: RecordCopy?, _ expected: RecordCopy?) -> ChangedFields {
        guard let known, let expected else { return ChangedFields(names: []) }
        // A member that is left out is null: some formats have no other way to say it.
        let names = Set(known.fields.keys).union(expected.fields.keys)
        return ChangedFields(
            names: names.filter { (known.fields[$0] ?? .null) != (expected.fields[$0] ?? .null) })
    }
}

extension LocalEdit {
    /// The same edit, after which the record holds exactly these fields; a deletion as it is.
    fileprivate func showing(_ fields: WireDictionary?) -> LocalEdit {
        guard let fields, self.fields != nil else { return self }
        return LocalEdit(key, .create(fields))
    }
}

extension PendingEdit {
    /// Whether the edit kept an earlier base than `other` because it met what others had changed. It keeps it for good:
    /// an edit of one's own in between does not mean that anybody has seen that change.
    fileprivate func stayedBehind(_ other: PendingEdit) -> Bool {
        guard let baseRev, let otherRev = other.baseRev else { return false }
        // A replica that starts over makes both unknown. Their copies still tell which was made on the older record.
        guard baseRev == otherRev else { return baseRev < otherRev }
        return base?.rev ?? 0 < other.base?.rev ?? 0
    }
}

private struct ChangedFields {
    let names: Set<String>

    /// Whether the edit, made without knowing of them, would undo what others changed. Where nothing was merged, what
    /// differs is what the server itself adds.
    func meets(_ edit: LocalEdit, _ verdict: MutationOutcome.Verdict) -> Bool {
        guard verdict == .merged, !names.isEmpty else { return false }
        guard let fields = edit.fields else { return true }
        return fields.entries.contains { names.contains($0.key) }
    }
}
