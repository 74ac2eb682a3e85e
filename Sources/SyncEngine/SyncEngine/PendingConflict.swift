import AdapterKit
import RecordStorage
import SyncMessages

/// A conflict that an adapter has to decide before its mutation can be made: outside the transaction, since an adapter
/// may ask somebody else.
public struct PendingConflict: Sendable, Equatable {
    public let sequence: Int64
    public let adapter: AdapterName
    public let conflict: RecordConflict
}

/// What an adapter answered, and about which state of the record.
struct Decision: Sendable {
    let revision: Revision
    let result: Result<ConflictDecision, PorticoError>
}

/// Thrown before anything of the mutation was done.
struct Undecided: Error {
    let query: PendingConflict
}

/// Thrown where a mutation cannot be made now, after others that could: the transaction is undone with it, and those
/// before it are made by themselves.
struct PushBrokenOff: Error {
    /// Mutations before it.
    let made: Int
    let cause: PorticoError
}

/// How far one transaction of a push has come.
public struct PushProgress: Sendable {
    /// Of its first mutations.
    public let outcomes: [MutationOutcome]
    /// What keeps the next one from being made; nil: all were.
    public let query: PendingConflict?
}
