import SyncDevice
import SyncMessages
import WireFormats

/// A record as it is on this device: the server's, with what was done here laid over it.
public struct Record: Sendable, Equatable, Identifiable {
    public let collection: String
    public let id: String
    /// Of the server's record; 0 where the server has none yet.
    public let revision: Int64
    public let fields: WireDictionary
    /// Whether there are edits of it that the server has not answered yet.
    public let isWaiting: Bool

    public init(collection: String, id: String, revision: Int64, fields: WireDictionary, isWaiting: Bool = false) {
        self.collection = collection
        self.id = id
        self.revision = revision
        self.fields = fields
        self.isWaiting = isWaiting
    }

    public subscript(field: String) -> WireValue? { fields[field] }

    /// The fields as a type of the app's.
    ///
    /// - Throws: `DecodingError` where they do not fit.
    public func decoded<Value: Decodable>(as type: Value.Type = Value.self) throws -> Value {
        try WireDecoder().decode(type, from: .dictionary(fields))
    }

    init(_ copy: RecordCopy, in collection: String) {
        self.init(collection: collection, id: copy.id, revision: copy.rev, fields: copy.fields)
    }
}
