import AdapterKit

/// One change in the order in which all changes were made.
public struct LogEntry: Sendable, Equatable {
    /// A kind of change.
    public enum Kind: String, Sendable {
        /// It was created or changed.
        case put
        /// It was deleted.
        case remove
        /// Any record of the collection may have come, gone or changed; the entry's id is empty. Replicas fetch the
        /// collection again (``StoreSnapshot/replacements()``).
        case replaceAll
    }

    /// The operation id, which is also the record's revision after it.
    public let position: Revision
    /// The record's collection.
    public let collection: CollectionID
    /// The record.
    public let id: RecordID
    /// The kind of the change.
    public let kind: Kind
    /// When it was written, by the store's clock. For people and for the offline window; never for order.
    public let time: WireDate
    /// The record's revision before the change; nil where it was not there.
    public let previousRevision: Revision?
    /// The values, before the change, of the fields that row rules look at: by which a scope finds that a row left it.
    /// Empty where the record was not there, and where a migration changed it.
    public let previousScopeValues: WireDictionary
    /// The fields whose values the change changed, in declared order; nil: any, because the record came or went.
    public let changedFields: [FieldName]?

    /// Creates an entry as it was read from a store.
    public init(
        position: Revision, collection: CollectionID, id: RecordID, kind: Kind, time: WireDate,
        previousRevision: Revision?, previousScopeValues: WireDictionary, changedFields: [FieldName]?
    ) {
        self.position = position
        self.collection = collection
        self.id = id
        self.kind = kind
        self.time = time
        self.previousRevision = previousRevision
        self.previousScopeValues = previousScopeValues
        self.changedFields = changedFields
    }
}

/// The part of the log that may go.
public enum CompactionBound: Sendable, Equatable {
    /// Everything up to this operation id, itself included.
    case through(Revision)
    /// Everything that was written before this instant, up to the first entry that was not.
    case before(WireDate)
}

/// Entries that a compaction removed, or would remove.
///
/// Records stay as they are: what goes is the way there. A replica whose position is below the floor starts over.
public struct Compaction: Sendable, Equatable {
    /// The store's floor afterwards; it never sinks.
    public let floor: Revision
    /// Log entries, the tombstones of deleted records among them.
    public let entries: Int
    /// Stored outcomes of pushes. The last of each client is kept.
    public let outcomes: Int

    /// Creates the result of a compaction.
    public init(floor: Revision, entries: Int, outcomes: Int) {
        self.floor = floor
        self.entries = entries
        self.outcomes = outcomes
    }
}

extension PorticoError {
    /// `sync.fetchAgain`: the log no longer reaches back to where a replica stands.
    public static func belowFloor(_ floor: Revision) -> PorticoError {
        PorticoError(
            .fetchAgain, "The log does not reach back that far; fetch everything again.",
            logDetail: "the floor is \(floor)")
    }
}
