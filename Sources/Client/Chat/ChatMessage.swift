import Foundation
import ValueTree

/// A message, as this device has it.
public struct ChatMessage: Sendable, Equatable, Identifiable {
    /// Chosen on the device that wrote it, so that posting again posts once.
    public let id: String
    public let room: String
    /// Its place in the room, the same for every reader; nil until the server has it.
    public let sequence: Int64?
    /// The account name of who wrote it.
    public let user: String
    public let text: String
    /// SHA-256 digests, for ``ChatClient/attachment(_:)``.
    public let attachments: [String]
    /// When the server took it; nil until then.
    public let sent: Date?
    /// When it was changed, where it was.
    public let edited: Date?
    /// Whether something of it was not answered by the server yet: it, or an edit of it.
    public let isWaiting: Bool

    /// - Parameter author: who wrote what has no author yet: the account of this device.
    init(_ record: Record, author: String) throws(ClientError) {
        try self.init(.dictionary(record.fields), id: record.id, author: author, isWaiting: record.isWaiting)
    }

    init(_ value: WireValue, id: String? = nil, author: String? = nil, isWaiting: Bool = false) throws(ClientError) {
        guard let id = id ?? value["id"]?.stringValue, let room = value["room"]?.stringValue,
            let user = value["user"]?.stringValue ?? author
        else { throw .unreadableAnswer("a message without its room") }
        (self.id, self.room, self.user, self.isWaiting) = (id, room, user, isWaiting)
        sequence = value["seq"]?.int64Value
        text = value["text"]?.stringValue ?? ""
        attachments = (value["attachments"]?.arrayValue ?? []).compactMap(\.stringValue)
        sent = value["sent"].flatMap(Date.init(chat:))
        let changed = value["edited"].flatMap(Date.init(chat:))
        edited = changed == sent ? nil : changed
    }
}
