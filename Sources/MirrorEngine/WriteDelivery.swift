import AdapterKit
import Crypto
import RecordStorage
import Synchronization

/// The effect of sending a mirror's pending writes on the store. Each function is for a transaction of its own; the
/// process may end between any two of them.
package struct WriteDelivery: Sendable {
    private let collection: CollectionDeclaration
    private let honoursKeys: Bool
    /// Entities of the adapter whose records may name records of the mirror.
    private let entities: [Entity]

    /// `honoursKeys`: of the other system (``MirrorSource/honoursIdempotencyKeys``). `entities`: the adapter's.
    package init(of collection: CollectionDeclaration, honoursKeys: Bool, among entities: [Entity] = []) {
        self.collection = collection
        self.honoursKeys = honoursKeys
        self.entities = entities
    }

    /// Whether a row that another system answered is this record's: it says no other key.
    package func isRow(_ fields: WireDictionary, of record: RecordID) -> Bool {
        guard let key = fields[collection.entity.key.field.text] else { return true }
        guard let text = key.int64Value.map({ String($0) }) ?? key.stringValue else { return true }
        return text == record.text
    }

    /// The id that the other system has given a record that it created; nil: the record's own.
    package func newID(in fields: WireDictionary, of write: PendingWrite) -> RecordID? {
        guard write.isCreation, !isRow(fields, of: write.record), let key = fields[collection.entity.key.field.text]
        else {
            return nil
        }
        return RecordID(key: key)
    }

    /// Whether a record may get this id: there is none that has it, or a refresh was quicker and brought this one.
    package func mayTake(_ id: RecordID, _ write: PendingWrite, in snapshot: any StoreSnapshot) throws -> Bool {
        guard let known = try snapshot.record(id, in: write.collection, visible: nil) else { return true }
        let key = collection.entity.key.field.text
        return write.fields.allSatisfy { field in
            field.key == key || field.value.meansTheSame(as: known.fields[field.key] ?? .null)
        }
    }

    /// The write that is to be sent now; nil: it is not pending any more. That it is sent is durable before it is: no other
    /// change is joined with it from then on, and where the other system honours no keys it may have been made.
    package func begin(_ id: RecordID, in transaction: any StoreTransaction) throws -> PendingWrite? {
        guard let write = try transaction.pendingWrite(id), write.state == .pending else { return nil }
        try transaction.setBegun(write, mayBeMade: !honoursKeys)
        return try transaction.pendingWrite(id)
    }

    /// Whether its records name others by declaration.
    package var namesOthers: Bool { !collection.entity.references.isEmpty }

    /// The write, where it names a record that is still to be created in the other system: that one may get another key, and
    /// what is sent before would name what is not there.
    package func waiting(_ id: RecordID, in snapshot: any StoreSnapshot) throws -> PendingWrite? {
        guard let write = try snapshot.pendingWrite(id), write.state == .pending else { return nil }
        for reference in collection.entity.references {
            guard let named = write.fields[reference.field.text].flatMap({ RecordID(key: $0) }) else { continue }
            let other = CollectionID(collection.id.adapter, reference.entity)
            let earlier = try snapshot.pendingWrites(of: named, in: other)
            let isUnmade = earlier.contains { other in
                other.isCreation && other.state != .refused && other.id != id && other.position < write.position
            }
            if isUnmade { return write }
        }
        return nil
    }

    /// It was not made, and may be sent again. `detail` is for operators, `message` for the author. Of one that was refused
    /// before, operators still see the refusal.
    package func requeue(
        _ write: PendingWrite, _ detail: String, _ message: String, in transaction: any StoreTransaction
    ) throws {
        if !honoursKeys { try transaction.setSent(false, of: write.id) }
        if !write.wasRefused { try transaction.setFailure(detail, isLost: false, of: write) }
        if !write.isThrough {
            try transaction.setState(.pending, reason: .upstreamFailed, message: message, of: write.id)
        }
    }

    /// It may have been made; that is to be found out. `detail` is for operators.
    package func markLost(_ write: PendingWrite, _ detail: String, in transaction: any StoreTransaction) throws {
        guard let known = try transaction.pendingWrite(write.id) else { return }
        try transaction.setFailure(detail, isLost: true, of: known)
    }

    /// The write is made: the record becomes what the other system has, with what is still pending of it. `stored`: what
    /// that is; nil: it did not say.
    package func complete(
        _ write: PendingWrite, stored: WireDictionary?, in transaction: any StoreTransaction
    ) throws -> WriteReceipt {
        if let id = stored.flatMap({ newID(in: $0, of: write) }) {
            return try move(write, to: id, stored, in: transaction)
        }
        try PendingRebase(entity: collection.entity, write: write).complete(stored, in: transaction)
        return WriteReceipt(
            position: transaction.position,
            records: [try transaction.record(write.record, in: write.collection, visible: nil)])
    }

    /// The record takes the key that the other system chose: its pending writes, and the records that name it, name it so.
    private func move(
        _ write: PendingWrite, to id: RecordID, _ stored: WireDictionary?, in transaction: any StoreTransaction
    ) throws -> WriteReceipt {
        guard let key = collection.entity.fields.first(where: { $0.name == collection.entity.key.field }) else {
            throw PorticoError(.serverInternal, "An entity has no key field.")
        }
        let old = try transaction.record(write.record, in: write.collection, visible: nil)
        try transaction.movePendingWrites(of: write.record, to: id, in: write.collection, key: key)
        let moved = try transaction.pendingWrite(write.id) ?? write
        try PendingRebase(entity: collection.entity, write: moved).complete(stored, in: transaction)
        // Before the old record goes: what belongs to it would go with it.
        try repoint(write.record.keyValue(of: key), to: id.keyValue(of: key), in: transaction)
        if old != nil {
            let step = WriteTransaction.Step(
                adapter: write.collection.adapter, change: RecordChange(collection.entity.name, .delete(write.record)))
            _ = try transaction.apply(WriteTransaction([step], author: Principal.system.name))
        }
        let record = try transaction.record(id, in: write.collection, visible: nil)
        try transaction.noteMove(
            of: write.record, to: id, in: write.collection, before: old?.revision,
            after: record?.revision ?? transaction.position)
        return WriteReceipt(position: transaction.position, records: [record])
    }

    private func repoint(_ old: WireValue, to new: WireValue, in transaction: any StoreTransaction) throws {
        for entity in entities {
            for reference in entity.references where reference.entity == collection.entity.name {
                let named = CollectionID(collection.id.adapter, entity.name)
                let query = Query(.compare(reference.field, .equal, old), limit: Query.maximumLimit)
                while true {
                    let found = try transaction.query(query, in: named).records
                    let steps = found.map { record in
                        WriteTransaction.Step(
                            adapter: collection.id.adapter,
                            change: RecordChange(entity.name, .update(record.id, [reference.field.text: new])))
                    }
                    if !steps.isEmpty {
                        _ = try transaction.apply(WriteTransaction(steps, author: Principal.system.name))
                    }
                    for record in found {
                        try transaction.repointPendingWrites(
                            of: record.id, in: named, reference.field, from: old, to: new)
                    }
                    guard found.count == Query.maximumLimit else { break }
                }
            }
        }
    }

    /// The write is refused for good, and the record becomes what the other system has (`truth`). `isAwaited`: its caller
    /// learns of it by the answer; otherwise the author learns of it by the write's own record.
    package func refuse(
        _ write: PendingWrite, _ code: ErrorCode, _ message: String, isAwaited: Bool, truth: MirrorRecord,
        in transaction: any StoreTransaction
    ) throws {
        let rebase = PendingRebase(entity: collection.entity, write: write)
        guard !isAwaited else {
            try transaction.removePendingWrite(write.id)
            return try rebase.restore(truth, in: transaction)
        }
        try transaction.setState(.refused, reason: code, message: message, of: write.id)
        if let losing = write.losingCopy { try transaction.keep(losing) }
        try rebase.restore(truth, in: transaction)
        try transaction.removeOldestRefusedWrite(of: write.collection, by: write.author)
    }

    /// It cannot be found out whether the write was made.
    package func markUnknown(_ id: RecordID, _ message: String, in transaction: any StoreTransaction) throws {
        guard let known = try transaction.pendingWrite(id) else { return }
        if known.lost == nil { try transaction.setFailure(message, isLost: true, of: known) }
        try transaction.setState(.unknown, reason: .upstreamOutcomeUnknown, message: message, of: id)
    }

    /// An operator has the write sent again. It is in its record again: a refresh, or its refusal, may have taken it out.
    ///
    /// What was refused is another change for the other system, which would answer its key with the refusal again. What may
    /// have been made keeps its key.
    package func retry(_ write: PendingWrite, in transaction: any StoreTransaction) throws {
        let key = write.state == .refused ? "\(write.keyAfterRefusal)\(write.tries)" : nil
        try transaction.setUnsent(write.id, key: key)
        try transaction.setState(.pending, of: write.id)
        try PendingRebase(entity: collection.entity, write: write).reapply(in: transaction)
    }

    /// An operator drops the write. What was refused has left its record before.
    package func drop(
        _ write: PendingWrite, truth: MirrorRecord, in transaction: any StoreTransaction
    ) throws {
        try transaction.removePendingWrite(write.id)
        guard write.state != .refused else { return }
        try PendingRebase(entity: collection.entity, write: write).restore(truth, in: transaction)
    }
}

extension PendingWrite {
    /// Begins the key of one that was refused and is sent again. No caller's key has a colon, and that of a device ends with a
    /// number.
    fileprivate var keyAfterRefusal: String { "\(id):again-" }

    fileprivate var wasRefused: Bool { key.hasPrefix(keyAfterRefusal) }
}

/// The records of a mirror that a refresh leaves as they are: those with a pending write, and those of which a write was made
/// since the refresh began, because what it reads may be older. One of an entity, whichever mirror of it writes and refreshes.
public final class RefreshProtection: Sendable {
    /// Records that are known to have been changed since a refresh began; with more of them that refresh changes nothing.
    private static let mostSettled = 100_000

    private let mirror: CollectionID
    private let settled = Mutex<Set<RecordID>>([])

    /// Creates that of a mirror's entity.
    public init(of mirror: CollectionID) {
        self.mirror = mirror
    }

    /// A refresh of the mirror begins: what it reads may be older than writes that are made from now on.
    package func beginRefresh() { settled.withLock { $0 = [] } }

    /// A write of the record is made. To be noted before that is durable.
    package func note(_ record: RecordID) {
        settled.withLock { settled in
            if settled.count < Self.mostSettled { settled.insert(record) }
        }
    }

    /// Asked in the transaction in which the refresh takes effect.
    package func protectedRecords(in snapshot: any StoreSnapshot) throws -> Set<RecordID> {
        // In this order: a write is among those that are made before it is pending no longer.
        let pending = try snapshot.recordsWithPendingWrites(of: mirror)
        let settled = settled.withLock { $0 }
        guard settled.count < Self.mostSettled else {
            throw PorticoError(.overloaded, "Too many records were changed since the refresh began.")
        }
        return pending.union(settled)
    }
}

extension PendingWrites {
    /// Takes a write that the store has. False where it goes instead: another process kept it for a caller who got no
    /// answer, and nothing was sent.
    package mutating func take(_ write: PendingWrite, mayHaveBeenSent: Bool, isOfAnotherProcess: Bool) -> Bool {
        guard !isOfAnotherProcess || !write.isThrough || mayHaveBeenSent || honoursKeys else { return false }
        add(write, mayHaveBeenSent: mayHaveBeenSent)
        return true
    }
}

extension PendingWrite {
    /// As it is sent.
    ///
    /// Callers choose keys, and may choose those of others. So the key that is sent is a digest of whose change of which
    /// record it names: whatever an account sends, no key of another, or of another record, is used up.
    package func sentChange(mayRepeat: Bool) -> MirrorChange {
        var hash = SHA256()
        for part in [author, "\(collection)", record.text, key] {
            let bytes = Array(part.utf8)
            // The length first: no two lists of parts are one text.
            hash.update(data: Array("\(bytes.count):".utf8))
            hash.update(data: bytes)
        }
        let digest = hash.finalize().map { byte in
            let text = String(byte, radix: 16)
            return byte < 16 ? "0" + text : text
        }.joined()
        let change = change(mayRepeat: mayRepeat)
        return MirrorChange(
            change.entity, change.id, change.operation, fields: change.fields, before: change.before,
            idempotencyKey: digest, mayRepeat: mayRepeat, isConditional: change.isConditional)
    }
}

extension PendingWrite {
    /// Whether its record is not in the other system before it.
    fileprivate var isCreation: Bool { operation == .create || (operation == .replace && before == nil) }
}
