import AdapterKit

/// A read that a caller is going to make, declared so that a store behind a network fetches many with one round trip
/// (``Store/transact(weight:expecting:_:)``, ``Store/withReadSnapshot(expecting:_:)``, ``StoreSnapshot/prefetch(_:)``).
///
/// A declaration promises nothing and changes no result: a read that was not declared costs a round trip, one that was
/// declared in vain the work for it, and a store may leave any of them out.
public enum StoreRead: Sendable, Equatable {
    /// The record, whatever condition ``StoreSnapshot/record(_:in:visible:)`` asks it with. In a transaction also what
    /// the store itself looks at to create or change it.
    case record(RecordID, in: CollectionID)
    /// The records that deleting it takes beside it: those that go with it, and those that refer to it.
    case removal(RecordID, in: CollectionID)
    /// A call of ``StoreSnapshot/history(of:in:limit:)`` with this limit or a smaller one.
    case latestHistory(RecordID, in: CollectionID, limit: Int)
    /// A call of ``StoreSnapshot/history(of:in:after:)`` with this position or a later one.
    case history(RecordID, in: CollectionID, after: Revision)
    /// A call of ``StoreSnapshot/client(_:)``.
    case client(ClientID)
    /// A call of ``StoreSnapshot/outcome(of:from:)``.
    case outcome(Int64, from: ClientID)
    /// A call of ``StoreSnapshot/changes(after:limit:)`` with exactly these.
    case changes(after: Revision, limit: Int)
    /// A call of ``StoreSnapshot/replacements()``.
    case replacements
    /// A call of ``StoreSnapshot/mirrorState(of:)``.
    case mirrorState(CollectionID)
    /// An equal query. The fetched page is what the transaction sees only while it has changed no record of the collection,
    /// nor of one that the filter looks at.
    case query(Query, in: CollectionID)
    /// A count with an equal filter, under the same condition.
    case count(Filter?, in: CollectionID)
}

extension StoreRead {
    /// The reads of changing the records of these steps.
    package static func changing(_ steps: [WriteTransaction.Step]) -> [StoreRead] {
        steps.flatMap { step -> [StoreRead] in
            guard let id = step.change.recordID else { return [] }
            let record = StoreRead.record(id, in: step.collection)
            if case .delete = step.change.action { return [record, .removal(id, in: step.collection)] }
            return [record]
        }
    }
}
