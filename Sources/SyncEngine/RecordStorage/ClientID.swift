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

/// What a store knows of a client that has pushed.
public struct PushClient: Sendable, Equatable {
    public let id: ClientID
    /// Whose it is, for good: the id of the principal that pushed first.
    public let identity: String
    /// The largest sequence number that has an outcome.
    public let lastSequence: Int64
    /// When it last pushed, by the store's clock.
    public let time: WireDate

    public init(id: ClientID, identity: String, lastSequence: Int64, time: WireDate) {
        self.id = id
        self.identity = identity
        self.lastSequence = lastSequence
        self.time = time
    }
}

/// What a mutation was answered with, so that a retry gets the same answer.
public struct PushOutcome: Sendable, Equatable {
    public let client: ClientID
    public let sequence: Int64
    public let content: WireDictionary
    /// The store's position when it was remembered: whoever has read up to here has read the effect.
    public let position: Revision

    public init(client: ClientID, sequence: Int64, content: WireDictionary, position: Revision) {
        self.client = client
        self.sequence = sequence
        self.content = content
        self.position = position
    }
}
