import SyncMessages
import ValueTree

/// One record of one collection, as the messages name them.
public struct RecordKey: Sendable, Hashable, Comparable {
    public let collection: String
    public let id: String

    public init(_ collection: String, _ id: String) {
        self.collection = collection
        self.id = id
    }

    public static func < (left: RecordKey, right: RecordKey) -> Bool {
        (left.collection, left.id) < (right.collection, right.id)
    }
}

extension WireDictionary {
    /// These fields with others laid over them.
    func merging(_ others: WireDictionary) -> WireDictionary {
        var merged = self
        for entry in others.entries { merged[entry.key] = entry.value }
        return merged
    }
}
