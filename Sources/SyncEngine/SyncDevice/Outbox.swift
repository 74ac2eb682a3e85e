import SyncMessages
import ValueTree

/// The edits that the server does not have yet, or that the replica does not show yet. A value: the caller that holds it
/// persists it, before anything is sent.
///
/// Of one record only one edit is under way at a time, because the next one's base is what becomes of the first.
/// Sequences are given in the order of sending and grow; an edit keeps its own until its outcome is known.
public struct Outbox: Sendable, Equatable {
    /// Edits without an outcome, in the order in which they were made.
    public internal(set) var pending: [PendingEdit] = []
    /// Edits that the server made and that no applied checkpoint contains.
    public internal(set) var acknowledged: [AcknowledgedEdit] = []
    /// Edits that the server did not make, until the app resolves them.
    public internal(set) var setAside: [SetAsideEdit] = []
    var lastNumber: Int64 = 0
    var lastSequence: Int64 = 0

    /// No edits.
    public init() {}

    /// The edit as it will be when it is added: its number, and the base that `row`, the replica's record, gives it.
    func draft(_ edit: LocalEdit, on row: RecordCopy?) -> PendingEdit {
        let earlier = pending.last { $0.edit.key == edit.key }
        let base = earlier.map(\.base) ?? settled(edit.key, over: row)
        // Without a base a server makes the change on whatever is there: that is for what nothing was known of at all.
        let baseRev = earlier.map(\.baseRev) ?? base?.rev
        return PendingEdit(
            number: lastNumber + 1, edit: edit, base: base,
            baseRev: edit.operation == .create ? baseRev : baseRev ?? Self.unknownBase, sequence: nil)
    }

    mutating func add(_ edit: PendingEdit) {
        pending.append(edit)
        lastNumber = edit.number
    }

    /// The record as the server has it, as far as is known: the replica's, under what was acknowledged since.
    private func settled(_ key: RecordKey, over row: RecordCopy?) -> RecordCopy? {
        acknowledged.reduce(row) { record, known in
            guard known.edit.key == key, known.rev > record?.rev ?? -1 else { return record }
            let after = known.edit.applied(to: record)
            return after.map { RecordCopy(id: $0.id, rev: known.rev, fields: $0.fields) }
        }
    }

    /// The record as the app is to see it.
    public func overlay(_ key: RecordKey, over row: RecordCopy?) -> RecordCopy? {
        pending.reduce(settled(key, over: row)) { record, waiting in
            waiting.edit.key == key ? waiting.edit.applied(to: record) : record
        }
    }

    /// Records that look different from the replica's.
    public var touchedKeys: Set<RecordKey> {
        Set(pending.map(\.edit.key)).union(acknowledged.map(\.edit.key))
    }
}

extension Outbox {
    /// The numbers of the edits that go into the next batch: the first of each record. Those that were sent before go
    /// first, because a server takes a sequence for answered once it has seen a later one.
    func batch(limit: Int) -> [Int64] {
        var taken: Set<RecordKey> = []
        let firsts = pending.filter { taken.insert($0.edit.key).inserted }
        let sentBefore = firsts.filter { $0.sequence != nil }.sorted { $0.sequence ?? 0 < $1.sequence ?? 0 }
        return (sentBefore + firsts.filter { $0.sequence == nil }).prefix(limit).map(\.number)
    }

    /// Gives each of the edits its sequence, those apart that have one.
    mutating func assignSequences(to numbers: [Int64]) {
        let chosen = Set(numbers)
        for place in pending.indices where chosen.contains(pending[place].number) {
            guard pending[place].sequence == nil else { continue }
            lastSequence += 1
            pending[place].sequence = lastSequence
        }
    }

    /// In the order of their sequences.
    func mutations(_ numbers: [Int64]) -> [Mutation] {
        let chosen = Set(numbers)
        return pending.filter { chosen.contains($0.number) }.compactMap(\.mutation).sorted { $0.sequence < $1.sequence }
    }

    /// Forgets what a replica at this position contains: it needs not be laid over it any more.
    mutating func forgetAcknowledged(through position: Int64) {
        acknowledged.removeAll { $0.rev <= position }
    }

    mutating func takeSetAside(_ number: Int64) -> SetAsideEdit? {
        guard let place = setAside.firstIndex(where: { $0.pending.number == number }) else { return nil }
        return setAside.remove(at: place)
    }
}

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

extension LocalEdit {
    fileprivate func moved(to new: RecordKey, _ description: CollectionDescription?) -> LocalEdit {
        func named(_ fields: WireDictionary) -> WireDictionary {
            guard let description, fields[description.key] != nil else { return fields }
            var named = fields
            named[description.key] = description.keyValue(of: new.id)
            return named
        }
        switch action {
        case .create(let fields): return LocalEdit(new, .create(named(fields)))
        case .update(let fields): return LocalEdit(new, .update(named(fields)))
        case .delete: return LocalEdit(new, .delete)
        }
    }
}

extension PendingEdit {
    /// `row`: the server's record under the new id. It is the base where it has what the base had, whatever the ids.
    fileprivate func moved(
        to new: RecordKey, _ row: RecordCopy?, _ description: CollectionDescription?
    ) -> PendingEdit {
        func others(_ fields: WireDictionary?) -> [String: WireValue] {
            Dictionary(
                (fields?.entries ?? []).filter { $0.key != description?.key && !$0.value.isNull }
                    .map { ($0.key, $0.value) }, uniquingKeysWith: { $1 })
        }
        let isBase = row != nil && base != nil && others(row?.fields) == others(base?.fields)
        let known = isBase ? row : base.map { RecordCopy(id: new.id, rev: $0.rev, fields: $0.fields) }
        return PendingEdit(
            number: number, edit: edit.moved(to: new, description), base: known,
            baseRev: baseRev == nil ? nil : isBase ? row?.rev : Outbox.unknownBase, sequence: sequence)
    }

    /// Whether the edit kept an earlier base than `other` because it met what others had changed. It keeps it for good:
    /// an edit of one's own in between does not mean that the user has seen that change.
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

extension Outbox {
    /// Edits of a record that has another id now are edits of that. `rows`: the server's, as they are from now on.
    mutating func move(
        _ old: RecordKey, to id: String, _ rows: ReplicaRows, _ description: CollectionDescription?
    ) {
        let new = RecordKey(old.collection, id)
        for place in pending.indices where pending[place].edit.key == old {
            pending[place] = pending[place].moved(to: new, rows[new], description)
        }
        for place in acknowledged.indices where acknowledged[place].edit.key == old {
            acknowledged[place] = AcknowledgedEdit(
                edit: acknowledged[place].edit.moved(to: new, description), rev: acknowledged[place].rev)
        }
        for place in setAside.indices where setAside[place].pending.edit.key == old {
            let problem = setAside[place]
            setAside[place] = SetAsideEdit(
                pending: problem.pending.moved(to: new, rows[new], description), cause: problem.cause,
                reason: problem.reason)
        }
    }

    /// A base that the server will find to be none of its revisions.
    static let unknownBase: Int64 = 0

    /// Puts the waiting edits on the rows of a replica that started over. The revisions from before may be numbers of
    /// another history, or older than the log, so a base counts only where the record is still as it was.
    mutating func rebase(onto rows: ReplicaRows) {
        acknowledged.removeAll()
        for place in pending.indices where pending[place].baseRev != nil {
            let found = rows[pending[place].edit.key]
            let isUnchanged = found != nil && found?.fields == pending[place].base?.fields
            if isUnchanged { pending[place].base = found }
            pending[place].baseRev = isUnchanged ? found?.rev : Self.unknownBase
        }
    }
}
