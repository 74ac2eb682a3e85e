import Foundation
import Synchronization
import ValueTree

/// A message, as this device has it.
public struct ChatMessage: Sendable, Equatable, Identifiable {
    /// Chosen on the device that wrote it, so that posting again posts once.
    public let id: String
    /// The room's id.
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

/// A room that one is in, or a public one.
public struct ChatRoom: Sendable, Equatable, Identifiable {
    /// The room's id.
    public let id: String
    /// The name to show.
    public let name: String
    /// The account that made it, and may moderate it.
    public let owner: String
    /// Account names; nil where only ``ChatClient/members(of:)`` returns them.
    public let members: [String]?
    /// Whether everyone may join.
    public let isPublic: Bool
    /// When the room was created.
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

/// An account that can be a member of rooms.
public struct ChatPerson: Sendable, Equatable, Identifiable {
    /// The account name, as members and messages have it.
    public let id: String
    /// The name to show.
    public let name: String
}

/// The number of new messages in a room.
public struct ChatUnread: Sendable, Equatable {
    /// The room's id.
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

/// UUIDs of version 7 (RFC 9562, section 5.7): random enough that no one has the same, and in the order in which they were
/// made, so that messages that wait stand as they were written.
final class MessageIDs: Sendable {
    private let now: @Sendable () -> Double
    private let last = Mutex<UInt64>(0)

    /// - Parameter now: seconds since 1970.
    init(now: @escaping @Sendable () -> Double = WallTime.now) {
        self.now = now
    }

    func next() -> String {
        let milliseconds = last.withLock { last in
            // Ahead of the clock where several fall into one of its ticks, or where it was set back.
            last = max(last + 1, UInt64(max(0, now() * 1000)))
            return last
        }
        var bytes = (0..<16).map { _ in UInt8.random(in: .min ... .max) }
        for place in 0..<6 { bytes[place] = UInt8(truncatingIfNeeded: milliseconds >> UInt64(40 - 8 * place)) }
        bytes[6] = bytes[6] & 0x0F | 0x70
        bytes[8] = bytes[8] & 0x3F | 0x80
        return Hexadecimal.uuid(bytes)
    }
}
