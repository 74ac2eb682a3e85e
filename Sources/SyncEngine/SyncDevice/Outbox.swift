import SyncMessages
import ValueTree

/// The edits that the server does not have yet, or that the replica does not show yet. A value: whoever holds it
/// persists it, before anything is sent.
///
/// Of one record only one edit is under way at a time, because the next one's base is what becomes of the first.
/// Sequences are given in the order of sending and grow; an edit keeps its own until its outcome is known.
public struct Outbox: Sendable, Equatable {
    public internal(set) var pending: [PendingEdit] = []
    public internal(set) var acknowledged: [AcknowledgedEdit] = []
    public internal(set) var setAside: [SetAsideEdit] = []
    var lastNumber: Int64 = 0
    var lastSequence: Int64 = 0

    public init() {}

    /// What the edit will be when it is added: its number, and the base that `row`, the replica's record, gives it.
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

    /// What a replica at this position contains needs not be laid over it any more.
    mutating func forgetAcknowledged(through position: Int64) {
        acknowledged.removeAll { $0.rev <= position }
    }

    mutating func takeSetAside(_ number: Int64) -> SetAsideEdit? {
        guard let place = setAside.firstIndex(where: { $0.pending.number == number }) else { return nil }
        return setAside.remove(at: place)
    }
}
