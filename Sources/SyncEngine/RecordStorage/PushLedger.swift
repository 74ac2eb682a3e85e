import AdapterKit

/// One replica of one app, named by itself: 1 to 64 letters, digits, `-`, `_` and `.` of ASCII.
public struct ClientID: ValidatedName {
    public let text: String

    public init(unchecked text: String) {
        self.text = text
    }

    public static func isValid(_ text: String) -> Bool {
        (1...64).contains(text.utf8.count)
            && text.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."):
                    true
                default: false
                }
            }
    }
}

/// A store's knowledge of a client that has pushed.
public struct PushClient: Sendable, Equatable {
    /// The client.
    public let id: ClientID
    /// Whose it is, for good: the id of the principal that pushed first.
    public let identity: String
    /// The largest sequence number that has an outcome.
    public let lastSequence: Int64
    /// When it last pushed, by the store's clock.
    public let time: WireDate

    /// Creates the value from its parts.
    public init(id: ClientID, identity: String, lastSequence: Int64, time: WireDate) {
        self.id = id
        self.identity = identity
        self.lastSequence = lastSequence
        self.time = time
    }
}

/// The answer to a mutation, so that a retry gets the same one.
public struct PushOutcome: Sendable, Equatable {
    /// The client that pushed.
    public let client: ClientID
    /// The mutation's sequence number.
    public let sequence: Int64
    /// The outcome as the engine wrote it.
    public let content: WireDictionary
    /// The store's position when it was remembered: the caller that has read up to here has read the effect.
    public let position: Revision

    /// Creates the value from its parts.
    public init(client: ClientID, sequence: Int64, content: WireDictionary, position: Revision) {
        self.client = client
        self.sequence = sequence
        self.content = content
        self.position = position
    }
}

/// The share that one author has of the copies that are kept: so many of the newest, and so many bytes together. Who sends
/// changes that are refused, and may write nothing, fills no disk by that.
public enum KeptCopiesShare {
    /// Copies of one author.
    public static let copies = 1_000
    /// Bytes of one author's copies together, as a store writes their content.
    public static let bytes = 64 << 20
    /// Stores look at an author's share with every so many copies, so that much may be beyond it.
    public static let interval: Int64 = 16

    /// The newest copy that is beyond the share, of an author's copies with the sizes of their content, newest first; nil
    /// where none is.
    public static func firstBeyond(_ copies: [(number: Int64, size: Int)]) -> Int64? {
        var total = 0
        for (index, copy) in copies.enumerated() {
            total += copy.size
            if index >= Self.copies || total > bytes { return copy.number }
        }
        return nil
    }
}

/// A caller's values that did not become the record, to be kept for people to look at.
public struct LosingCopy: Sendable, Equatable {
    /// Why the change did not become the record.
    public enum Reason: String, Sendable, CaseIterable {
        /// Another change of the record won.
        case conflict
        /// The change could not be made.
        case rejection
    }

    /// The record's collection.
    public let collection: CollectionID
    /// The record.
    public let id: RecordID
    /// Why it did not become the record.
    public let reason: Reason
    /// The account name of who wrote it.
    public let author: String
    /// The client that pushed.
    public let client: ClientID
    /// The mutation's sequence number.
    public let sequence: Int64
    /// As the engine wants to have it back.
    public let content: WireDictionary

    /// Creates the value from its parts.
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
    /// The values that were written.
    public let copy: LosingCopy

    /// Creates the value from its parts.
    public init(number: Int64, time: WireDate, position: Revision, copy: LosingCopy) {
        self.number = number
        self.time = time
        self.position = position
        self.copy = copy
    }
}

/// Which kept copies are asked for.
public enum KeptCopies: Sendable, Equatable {
    /// The copies of all records.
    case all
    /// The copies of one record.
    case of(RecordID, in: CollectionID)
}
