/// A place in the history of an adapter's records, from which to ask later what has changed since.
public struct ChangeCursor: Sendable, Hashable {
    /// Names the history: a restored backup begins another.
    public let history: String
    /// The position up to which changes are known.
    public let position: Revision
    /// Differs where the asker is another, or sees the same entities by other rules, or they are declared otherwise.
    public let scopeHash: UInt64

    /// Creates a change cursor with these values.
    public init(history: String, position: Revision, scopeHash: UInt64) {
        self.history = history
        self.position = position
        self.scopeHash = scopeHash
    }
}

/// A record that was changed since a mark, as far as the caller may see it: a record that it never could see is left out.
public struct ChangedRecord: Sendable, Equatable {
    /// The new state of a record.
    public enum State: Sendable, Equatable {
        /// It is there, and the asker sees it.
        case visible
        /// It is there, and the asker sees it no more.
        case hidden
        /// The record was deleted.
        case deleted
    }

    /// The entity of the record.
    public let entity: EntityName
    /// The id of the record.
    public let id: RecordID
    /// The new state of the record.
    public let state: State
    /// The ``Entity/historyFields`` in each state since the mark in which the asker saw it, the latest first.
    public let previousFields: [WireDictionary]

    /// Creates a changed record with these values.
    public init(entity: EntityName, id: RecordID, state: State, previousFields: [WireDictionary]) {
        self.entity = entity
        self.id = id
        self.state = state
        self.previousFields = previousFields
    }
}

/// Some of what has changed since a mark, each record once.
public struct ChangedRecordPage: Sendable, Equatable {
    /// In the order in which they were first changed.
    public let records: [ChangedRecord]
    /// Where to continue: every change up to here was returned.
    public let cursor: ChangeCursor
    /// Whether there is nothing more.
    public let isComplete: Bool

    /// Creates a changed record page with these values.
    public init(records: [ChangedRecord], cursor: ChangeCursor, isComplete: Bool) {
        self.records = records
        self.cursor = cursor
        self.isComplete = isComplete
    }
}

/// An adapter's own records as they are created, through any interface: for work that follows a record once it is
/// stored, such as telling people's devices of it.
///
/// Safe to use from any task.
public protocol ChangeFeed: Sendable {
    /// The end of the log as far as it is known: what comes now comes after it, and so may what came a moment ago.
    var position: Revision { get }

    /// Records of an entity that were created after a position and are still there, in the order of their creation.
    ///
    /// Waits until there is one; may return none with a later position all the same. Going on from the position that came
    /// with the last ones, nothing is left out and nothing is returned twice. Throws `sync.fetchAgain` for a position that the
    /// log does not reach back to, and `CancellationError` where the waiting task is cancelled.
    func created(in entity: EntityName, after position: Revision) async throws -> CreatedRecords
}

/// Records that were created after a position.
public struct CreatedRecords: Sendable, Equatable {
    /// The records in the order of their creation.
    public let records: [Record]
    /// To go on from.
    public let position: Revision

    /// Creates created records with these values.
    public init(records: [Record], position: Revision) {
        self.records = records
        self.position = position
    }
}

/// Where nothing ever comes, in tests that need none.
public struct NoChangeFeed: ChangeFeed {
    /// Creates the value; it has no state.
    public init() {}

    public var position: Revision { Revision(0) }

    public func created(in entity: EntityName, after position: Revision) async throws -> CreatedRecords {
        while true { try await Task.sleep(for: .seconds(3600)) }
    }
}
