/// One change of one record; several go together in one transaction.
public struct RecordChange: Sendable, Equatable {
    public enum Action: Sendable, Equatable {
        /// Refused with `record.exists` where the id is taken. Nil: the server chooses.
        case create(RecordID?, WireDictionary)
        /// Sets the named fields, leaves the others.
        case update(RecordID, WireDictionary)
        /// Sets every field, those not named to their default or null; creates the record where `orCreate`.
        case replace(RecordID, WireDictionary, orCreate: Bool)
        case delete(RecordID)
    }

    public let entity: EntityName
    public let action: Action
    /// What must be so for the change to be made.
    public let condition: Condition

    public enum Condition: Sendable, Equatable {
        case none
        /// The record has this revision; otherwise `precondition.failed`.
        case revision(Revision)
        /// The record is there, at whatever revision.
        case exists
        /// The record is not there.
        case absent
    }

    public init(_ entity: EntityName, _ action: Action, if condition: Condition = .none) {
        self.entity = entity
        self.action = action
        self.condition = condition
    }
}

/// What a transaction did, once it is durable.
public struct WriteReceipt: Sendable, Equatable {
    /// The operation id of the transaction's last change: the log position that contains it.
    public let position: Revision
    /// One for each change, in order: the record afterwards, nil where it was deleted.
    public let records: [Record?]

    public init(position: Revision, records: [Record?]) {
        self.position = position
        self.records = records
    }
}
