import AdapterKit
import RecordStorage

/// The new state of a record, and of the writes that are still pending of it, when one of its writes has ended: the state of
/// the other system is their new base.
struct PendingRebase: Sendable {
    let entity: Entity
    let write: PendingWrite

    /// The write is made. `stored`: what the other system has now; nil: it did not say.
    func complete(_ stored: WireDictionary?, in transaction: any StoreTransaction) throws {
        try transaction.removePendingWrite(write.id)
        let current = try transaction.record(write.record, in: write.collection, visible: nil)
        guard write.operation != .delete else { return try rebase(to: nil, in: transaction) }
        if let stored {
            let known = write.change(mayRepeat: false).after ?? [:]
            return try rebase(to: taking(stored, over: known), in: transaction)
        }
        // A queued write is in the record already.
        guard write.isThrough else { return }
        var base = write.operation == .update ? current?.fields ?? write.before ?? [:] : [:]
        for field in write.fields { base[field.key] = field.value }
        try rebase(to: base, in: transaction)
    }

    /// The write is not made. `truth`: what the other system has; where it cannot be asked, what it had before the write.
    func restore(_ truth: MirrorRecord, in transaction: any StoreTransaction) throws {
        switch truth {
        case .found(let fields): try rebase(to: taking(fields, over: write.before ?? [:]), in: transaction)
        case .absent: try rebase(to: nil, in: transaction)
        case .unavailable where write.isThrough: return
        case .unavailable: try rebase(to: write.before, in: transaction)
        }
    }

    /// The write is pending again: the record has it, in its turn among the others that are pending.
    func reapply(in transaction: any StoreTransaction) throws {
        let pending = try transaction.pendingWrites(of: write.record, in: write.collection)
            .filter { $0.state == .pending && !$0.isThrough }
        let current = try transaction.record(write.record, in: write.collection, visible: nil)
        var base = pending.first { $0.id != write.id }.map(\.before) ?? current?.fields
        for each in pending {
            if each.before != base { try transaction.setBefore(base, of: each.id) }
            base = each.applied(to: base)
        }
        // One that a caller waits for is in the record once it is made.
        if !pending.isEmpty { try store(base, in: transaction) }
    }

    private func rebase(to base: WireDictionary?, in transaction: any StoreTransaction) throws {
        var base = base
        for later in try transaction.pendingWrites(of: write.record, in: write.collection)
        where later.state == .pending && later.id != write.id {
            if later.before != base { try transaction.setBefore(base, of: later.id) }
            // One that a caller waits for is in the record once it is made.
            guard !later.isThrough else { continue }
            base = later.applied(to: base)
        }
        try store(base, in: transaction)
    }

    private func store(_ fields: WireDictionary?, in transaction: any StoreTransaction) throws {
        let current = try transaction.record(write.record, in: write.collection, visible: nil)
        let action: RecordChange.Action
        switch (fields, current) {
        case (nil, nil): return
        case (nil, .some): action = .delete(write.record)
        case (let fields?, let current?):
            guard let merged = entity.merging(fields, into: current, at: transaction.now) else { return }
            action = .replace(write.record, merged, orCreate: false)
        case (let fields?, nil): action = .replace(write.record, fields, orCreate: true)
        }
        let step = WriteTransaction.Step(
            adapter: write.collection.adapter, change: RecordChange(entity.name, action))
        do {
            try transaction.undoing {
                _ = try transaction.apply(WriteTransaction([step], author: Principal.system.name))
            }
        } catch let error as PorticoError where error.code.isOfTheRecord {
            // What the other system has does not fit here. The record stays; a refresh reports what does not fit.
        }
    }

    /// The fields of the entity that another system's answer has in a form that fits.
    private func taking(_ answer: WireDictionary, over known: WireDictionary) -> WireDictionary {
        var taken = known
        for field in entity.fields {
            guard let value = answer[field.name.text], !value.isNull || field.isNullable else { continue }
            if value.isNull || (try? field.shape.check(value, at: field.name.text)) != nil {
                taken[field.name.text] = value
            }
        }
        taken[entity.key.field.text] = known[entity.key.field.text] ?? taken[entity.key.field.text]
        return taken
    }
}

extension ErrorCode {
    fileprivate var isOfTheRecord: Bool {
        switch self {
        case .requestInvalid, .requestLimitExceeded, .recordExists, .recordNotFound, .recordConflict, .accessDenied:
            true
        default: false
        }
    }
}

extension PendingWrite {
    /// The record with this write; an update of no record leaves none.
    fileprivate func applied(to base: WireDictionary?) -> WireDictionary? {
        if operation == .update, base == nil { return nil }
        return MirrorChange(
            collection.entity, record, operation, fields: fields, before: base, idempotencyKey: key, mayRepeat: false
        ).after
    }

    /// For the device that wrote it.
    var losingCopy: LosingCopy? {
        guard let mutation else { return nil }
        let operation = operation == .replace ? MirrorChange.Kind.update : operation
        return LosingCopy(
            collection: collection, id: record, reason: .rejection, author: author, client: mutation.client,
            sequence: mutation.sequence,
            content: [
                "sequence": .int64(mutation.sequence), "operation": .string(operation.rawValue),
                "collection": .string(collection.entity.text), "id": .string(record.text),
                "fields": .dictionary(fields),
            ])
    }
}
