import AdapterKit

/// One change in the order in which all changes were made.
public struct LogEntry: Sendable, Equatable {
    public enum Kind: String, Sendable {
        case put
        case remove
    }

    /// The operation id, which is also the record's revision after it.
    public let position: Revision
    public let collection: CollectionID
    public let id: RecordID
    public let kind: Kind
    /// When it was written, by the store's clock. For people and for the offline window; never for order.
    public let time: WireDate
    /// The record's revision before the change; nil where it was not there.
    public let previousRevision: Revision?
    /// The values, before the change, of the fields that row rules look at: what tells a scope that a row left it.
    /// Empty where the record was not there, and where a migration changed it.
    public let previousScopeValues: WireDictionary
    /// The fields whose values the change changed, in declared order; nil: any, because the record came or went.
    public let changedFields: [FieldName]?

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
