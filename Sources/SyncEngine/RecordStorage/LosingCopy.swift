import AdapterKit

/// What somebody wrote that did not become the record, to be kept for people to look at.
public struct LosingCopy: Sendable, Equatable {
    public enum Reason: String, Sendable, CaseIterable {
        /// Another change of the record won.
        case conflict
        /// The change could not be made.
        case rejection
    }

    public let collection: CollectionID
    public let id: RecordID
    public let reason: Reason
    /// The account name of who wrote it.
    public let author: String
    public let client: ClientID
    public let sequence: Int64
    /// As the engine wants to have it back.
    public let content: WireDictionary

    public init(
        collection: CollectionID, id: RecordID, reason: Reason, author: String, client: ClientID, sequence: Int64,
        content: WireDictionary
    ) {
        self.collection = collection
        self.id = id
        self.reason = reason
        self.author = author
        self.client = client
        self.sequence = sequence
        self.content = content
    }
}

/// A losing copy with what the store adds.
public struct KeptCopy: Sendable, Equatable {
    /// Counted by the store.
    public let number: Int64
    /// By the store's clock.
    public let time: WireDate
    /// The store's position when it was kept.
    public let position: Revision
    public let copy: LosingCopy

    public init(number: Int64, time: WireDate, position: Revision, copy: LosingCopy) {
        self.number = number
        self.time = time
        self.position = position
        self.copy = copy
    }
}

/// Which kept copies are asked for.
public enum KeptCopies: Sendable, Equatable {
    case all
    case of(RecordID, in: CollectionID)
}
