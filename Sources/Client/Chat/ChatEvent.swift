import ValueTree
import WireFormats

/// What happens in one's rooms.
public enum ChatEvent: Sendable, Equatable {
    /// Everything that was missed has been told.
    case ready
    /// Too much was missed: what is shown is to be read anew.
    case reset
    case message(ChatMessage)
    case edit(ChatMessage)
    case removal(message: String, room: String)
    /// Somebody came or went.
    case membership(room: String, joined: [String], left: [String])
    /// Anything else of a room changed.
    case room(ChatRoom)
    case read(room: String, user: String, sequence: Int64)
    /// Somebody types; forget it after some seconds.
    case typing(room: String, user: String)
    case presence(user: String, isOnline: Bool)

    /// Nil for what this version does not know.
    init?(_ event: ServerEvents.Event) throws(ClientError) {
        let data: WireValue
        do {
            data = try JSONFormat().read(Array(event.data.utf8))
        } catch {
            throw .unreadableAnswer("an event: \(error.description)")
        }
        func text(_ name: String) -> String { data[name]?.stringValue ?? "" }
        func names(_ name: String) -> [String] { (data[name]?.arrayValue ?? []).compactMap(\.stringValue) }
        switch event.name {
        case "ready": self = .ready
        case "reset": self = .reset
        case "message": self = .message(try ChatMessage(data))
        case "edit": self = .edit(try ChatMessage(data))
        case "removal": self = .removal(message: text("id"), room: text("room"))
        case "membership": self = .membership(room: text("id"), joined: names("joined"), left: names("left"))
        case "room": self = .room(try ChatRoom(data))
        case "read":
            self = .read(room: text("room"), user: text("user"), sequence: data["seq"]?.int64Value ?? 0)
        case "typing": self = .typing(room: text("room"), user: text("user"))
        case "presence": self = .presence(user: text("user"), isOnline: data["online"]?.boolValue ?? false)
        default: return nil
        }
    }
}
