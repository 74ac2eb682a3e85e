import AdapterKit
import RecordStorage
import Synchronization

/// What sending the pending writes of one mirror does to the store. Each function is for a transaction of its own; the
/// process may end between any two of them.
package struct WriteDelivery: Sendable {
    private let collection: CollectionDeclaration
    private let honoursKeys: Bool

    /// `honoursKeys`: of the other system (``MirrorSource/honoursIdempotencyKeys``).
    package init(of collection: CollectionDeclaration, honoursKeys: Bool) {
        self.collection = collection
        self.honoursKeys = honoursKeys
    }

    /// Whether a row that another system answered is this record's: it says no other key.
    package func isRow(_ fields: WireDictionary, of record: RecordID) -> Bool {
        guard let key = fields[collection.entity.key.field.text] else { return true }
        guard let text = key.int64Value.map({ String($0) }) ?? key.stringValue else { return true }
        return text == record.text
    }

    /// The write that is to be sent now; nil: it is not pending any more. Where the other system honours no keys, that it
    /// may have been sent is durable before it is.
    package func begin(_ id: RecordID, in transaction: any StoreTransaction) throws -> PendingWrite? {
        guard let write = try transaction.pendingWrite(id), write.state == .pending else { return nil }
        if !honoursKeys, !write.wasSent { try transaction.setSent(true, of: id) }
        return write
    }

    /// It was not made, and may be sent again.
    package func notMade(_ id: RecordID, in transaction: any StoreTransaction) throws {
        if !honoursKeys { try transaction.setSent(false, of: id) }
    }

    /// The write is made: the record becomes what the other system has, with what is still pending of it. `stored`: what
    /// that is; nil: it did not say.
    package func made(
        _ write: PendingWrite, stored: WireDictionary?, in transaction: any StoreTransaction
    ) throws -> WriteReceipt {
        try PendingRebase(entity: collection.entity, write: write).made(stored, in: transaction)
        return WriteReceipt(
            position: transaction.position,
            records: [try transaction.record(write.record, in: write.collection, visible: nil)])
    }

    /// The write is refused for good. `isAwaited`: its caller learns of it by the answer. Otherwise the record becomes what
    /// the other system has (`truth`), and the author learns of it by the write's own record.
    package func refused(
        _ write: PendingWrite, _ code: ErrorCode, _ message: String, isAwaited: Bool, truth: MirrorRecord,
        in transaction: any StoreTransaction
    ) throws {
        guard !isAwaited else { return try transaction.removePendingWrite(write.id) }
        try transaction.setState(.refused, reason: code, message: message, of: write.id)
        if let losing = write.losingCopy { try transaction.keep(losing) }
        try PendingRebase(entity: collection.entity, write: write).becomes(truth, in: transaction)
        try transaction.removeOldestRefusedWrite(of: write.collection)
    }

    /// It cannot be found out whether the write was made.
    package func staysUnknown(_ id: RecordID, _ message: String, in transaction: any StoreTransaction) throws {
        try transaction.setState(.unknown, reason: .upstreamOutcomeUnknown, message: message, of: id)
    }

    /// An operator has the write sent again. It is in its record again: a refresh, or its refusal, may have taken it out.
    package func retried(_ write: PendingWrite, in transaction: any StoreTransaction) throws {
        try transaction.setSent(false, of: write.id)
        try transaction.setState(.pending, of: write.id)
        try PendingRebase(entity: collection.entity, write: write).reapplied(in: transaction)
    }

    /// An operator drops the write. What was refused has left its record before.
    package func dropped(
        _ write: PendingWrite, truth: MirrorRecord, in transaction: any StoreTransaction
    ) throws {
        try transaction.removePendingWrite(write.id)
        guard write.state != .refused else { return }
        try PendingRebase(entity: collection.entity, write: write).becomes(truth, in: transaction)
    }
}

/// The records of a mirror that a refresh leaves as they are: those with a pending write, and those of which a write was made
/// since the refresh began, because what it reads may be older.
package final class RefreshProtection: Sendable {
    /// Records that are known to have been changed since a refresh began; with more of them that refresh changes nothing.
    private static let mostSettled = 100_000

    private let mirror: CollectionID
    private struct State {
        var settled: Set<RecordID> = []
        var successor: RefreshProtection?
    }

    private let state = Mutex(State())

    package init(of mirror: CollectionID) {
        self.mirror = mirror
    }

    /// Refreshes of another mirror of the same entity leave what is noted here as it is too.
    func protect(refreshesOf successor: RefreshProtection) {
        state.withLock { $0.successor = successor }
    }

    /// A refresh of the mirror begins: what it reads may be older than writes that are made from now on.
    package func refreshBegins() { state.withLock { $0.settled = [] } }

    /// A write of the record is made. To be noted before that is durable.
    package func note(_ record: RecordID) {
        let successor = state.withLock { state in
            if state.settled.count < Self.mostSettled { state.settled.insert(record) }
            return state.successor
        }
        successor?.note(record)
    }

    /// Asked in the transaction in which the refresh takes effect.
    package func protected(in snapshot: any StoreSnapshot) throws -> Set<RecordID> {
        // In this order: a write is among those that are made before it is pending no longer.
        let pending = try snapshot.recordsWithPendingWrites(of: mirror)
        let settled = state.withLock { $0.settled }
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
        add(
            write.id, of: write.record, at: write.position, isThrough: write.isThrough, wasSent: mayHaveBeenSent,
            isUnknown: write.state == .unknown)
        return true
    }
}
