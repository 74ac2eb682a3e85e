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
    /// The values, before the change, of the fields that row rules look at: what tells a scope that a row left it.
    /// Empty where the record was not there.
    public let previousScopeValues: WireDictionary

    public init(
        position: Revision, collection: CollectionID, id: RecordID, kind: Kind, previousScopeValues: WireDictionary
    ) {
        self.position = position
        self.collection = collection
        self.id = id
        self.kind = kind
        self.previousScopeValues = previousScopeValues
    }
}
