import Foundation
import ValueTree

/// A room that one is in, or a public one.
public struct ChatRoom: Sendable, Equatable, Identifiable {
    public let id: String
    public let name: String
    /// Who made it, and may moderate it.
    public let owner: String
    /// Account names; nil where only ``ChatClient/members(of:)`` tells them.
    public let members: [String]?
    /// Whether everybody may join.
    public let isPublic: Bool
    public let created: Date?

    init(_ record: Record) throws(ClientError) {
        try self.init(.dictionary(record.fields))
    }

    init(_ value: WireValue) throws(ClientError) {
        guard let id = value["id"]?.stringValue, let name = value["name"]?.stringValue else {
            throw .unreadableAnswer("a room without its name")
        }
        (self.id, self.name) = (id, name)
        owner = value["owner"]?.stringValue ?? ""
        members = value["members"]?.arrayValue?.compactMap(\.stringValue)
        isPublic = value["isPublic"]?.boolValue ?? false
        created = value["created"].flatMap(Date.init(chat:))
    }
}

/// Somebody who can be talked to.
public struct ChatPerson: Sendable, Equatable, Identifiable {
    /// The account name, as members and messages have it.
    public let id: String
    public let name: String
}

/// How much of a room is new.
public struct ChatUnread: Sendable, Equatable {
    public let room: String
    /// ``ChatMessage/sequence`` of the last message that was read; 0: none.
    public let readUpTo: Int64
    /// Messages of others after it.
    public let count: Int
}

extension Date {
    init?(chat value: WireValue) {
        guard let date = value.dateValue ?? value.stringValue.flatMap({ WireDate(rfc3339: $0) }) else { return nil }
        self.init(timeIntervalSinceReferenceDate: date.secondsSinceReferenceDate)
    }
}
