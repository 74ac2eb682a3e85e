/// A place in the history of an adapter's records, from which to ask later what has changed since.
public struct ChangeCursor: Sendable, Hashable {
    /// Names the history: a restored backup begins another.
    public let history: String
    public let position: Revision
    /// Differs where the asker is another, or sees the same entities by other rules, or they are declared otherwise.
    public let sight: UInt64

    public init(history: String, position: Revision, sight: UInt64) {
        self.history = history
        self.position = position
        self.sight = sight
    }
}

/// A record that was changed since a mark, as far as the asker may know of it: one that it never could see is not told.
public struct ChangedRecord: Sendable, Equatable {
    public enum State: Sendable, Equatable {
        /// It is there, and the asker sees it.
        case seen
        /// It is there, and the asker sees it no more.
        case hidden
        case deleted
    }

    public let entity: EntityName
    public let id: RecordID
    public let state: State
    /// The ``Entity/historyFields`` in each state since the mark in which the asker saw it, the latest first.
    public let states: [WireDictionary]

    public init(entity: EntityName, id: RecordID, state: State, states: [WireDictionary]) {
        self.entity = entity
        self.id = id
        self.state = state
        self.states = states
    }
}

/// Some of what has changed since a mark, each record once.
public struct ChangedRecordPage: Sendable, Equatable {
    /// In the order in which they were first changed.
    public let records: [ChangedRecord]
    /// To go on from: everything up to here was told.
    public let mark: ChangeCursor
    /// Whether there is nothing more.
    public let isComplete: Bool

    public init(records: [ChangedRecord], mark: ChangeCursor, isComplete: Bool) {
        self.records = records
        self.mark = mark
        self.isComplete = isComplete
    }
}
