import AdapterKit
import Foundation
import WireFormats

/// The rooms of the Twaddle contract: one URL, the function named in the request.
///
/// Who calls is who the request says (Basic, then `user`), unchecked, as the first server of the contract had it.
struct TwaddleRooms: Sendable {
    struct Message: Sendable, Equatable {
        let id: String
        let sequence: Int64
        let user: String
        let text: String

        func value(in room: String) -> WireValue {
            [
                "id": .string(id), "room": .string(room), "seq": .int64(sequence), "user": .string(user),
                "text": .string(text), "sent": "2026-01-01T00:00:00Z",
            ]
        }
    }

    struct Room: Sendable {
        let name: String
        var messages: [Message] = []
    }

    /// The most rooms, and messages of a room.
    static let most = (rooms: 1_000, messages: 100_000)
    static let largestPage = 200
    static let people = ["ann", "ben", "cleo"]

    /// Whether a message that is posted again under its id is posted once; without it ids of clients are left out.
    let honoursIDs: Bool
    private(set) var rooms = ["r1": Room(name: "Room 1")]
    private var lastSequence: Int64 = 0

    init(honoursIDs: Bool) {
        self.honoursIDs = honoursIDs
    }

    /// Whether a request changes nothing.
    static func isRead(_ members: WireDictionary) -> Bool {
        !["createchatroom", "postmessage"].contains(members["function"]?.stringValue ?? "")
    }

    mutating func answer(_ members: WireDictionary, as caller: String) throws(ServiceError) -> WireDictionary {
        switch members["function"]?.stringValue {
        case "getusers":
            let others = Self.people.filter { $0.uppercased() != caller.uppercased() }
            return ["users": .array(others.map { ["id": .string($0), "name": .string($0)] })]
        case "getchatrooms":
            return ["rooms": .array(rooms.sorted { $0.key < $1.key }.map { Self.value($0.key, $0.value) })]
        case "createchatroom": return ["room": try create(members)]
        case "joinchatroom":
            let (id, room) = try room(members)
            return ["room": Self.value(id, room)]
        case "getmessages":
            let (id, room) = try room(members)
            return ["messages": .array(try page(of: room, members).map { $0.value(in: id) })]
        case "postmessage": return ["message": try post(members, as: caller)]
        default: throw .invalid("There is no such function.")
        }
    }

    private static func value(_ id: String, _ room: Room) -> WireValue {
        ["id": .string(id), "name": .string(room.name)]
    }

    private func room(_ members: WireDictionary) throws(ServiceError) -> (String, Room) {
        guard let id = members["room"]?.stringValue, let room = rooms[id] else {
            throw .missing("There is no such room.")
        }
        return (id, room)
    }

    private mutating func create(_ members: WireDictionary) throws(ServiceError) -> WireValue {
        guard let name = members["name"]?.stringValue, !name.isEmpty else { throw .invalid("A room has a name.") }
        guard rooms.count < Self.most.rooms else { throw .refused("There are too many rooms.") }
        let id = "r\(rooms.count + 1)"
        rooms[id] = Room(name: name)
        return Self.value(id, Room(name: name))
    }

    private func page(of room: Room, _ members: WireDictionary) throws(ServiceError) -> [Message] {
        let limit = members["limit"]?.int64Value ?? 50
        guard (1...Int64(Self.largestPage)).contains(limit) else {
            throw .invalid("limit is a number from 1 to \(Self.largestPage).")
        }
        let before = members["before"]?.int64Value ?? .max
        return Array(room.messages.filter { $0.sequence < before }.suffix(Int(limit)))
    }

    private mutating func post(_ members: WireDictionary, as caller: String) throws(ServiceError) -> WireValue {
        let (id, room) = try room(members)
        guard let text = members["text"]?.stringValue, !text.isEmpty else { throw .invalid("A message has a text.") }
        let chosen = honoursIDs ? members["id"]?.stringValue : nil
        if let chosen, let message = room.messages.first(where: { $0.id == chosen }) {
            guard message.user == caller, message.text == text else {
                throw ServiceError(status: 409, code: "exists", message: "The id is taken.")
            }
            return message.value(in: id)
        }
        guard room.messages.count < Self.most.messages else { throw .refused("There are too many messages.") }
        lastSequence += 1
        let message = Message(id: chosen ?? "m\(lastSequence)", sequence: lastSequence, user: caller, text: text)
        rooms[id]?.messages.append(message)
        return message.value(in: id)
    }
}

extension SystemOfRecord {
    mutating func twaddle(_ request: ServiceRequest) throws(ServiceError) -> ServiceResponse {
        let members = try request.twaddle()
        return .json(
            .dictionary(try rooms.answer(members, as: request.caller ?? members["user"]?.stringValue ?? "guest")))
    }
}

extension ServiceRequest {
    /// The request of the Twaddle contract: the form's field `post`, encoded or as it stands, or a JSON body.
    func twaddle() throws(ServiceError) -> WireDictionary {
        let mark = Array("post=".utf8)
        var document = body
        if body.starts(with: mark) {
            document = Array(body.dropFirst(mark.count))
            if document.first != UInt8(ascii: "{") {
                let text = String(decoding: document, as: UTF8.self).replacing("+", with: " ")
                document = Array((text.removingPercentEncoding ?? "").utf8)
            }
        }
        guard let members = try? JSONFormat().read(document).dictionaryValue else {
            throw .invalid("Problems parsing request-string as JSON")
        }
        return members
    }

    /// The name of HTTP Basic; nil: none.
    fileprivate var caller: String? {
        guard let value = self["Authorization"], value.lowercased().hasPrefix("basic "),
            let data = Data(base64Encoded: String(value.dropFirst(6)))
        else { return nil }
        return String(decoding: data, as: UTF8.self).split(separator: ":").first.map(String.init)
    }
}
