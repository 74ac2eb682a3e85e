import AdapterKit
import WireFormats

/// Another server of the Twaddle contract, asked in the system's own name.
struct TwaddleClient: Sendable {
    /// A message as the other server tells it.
    struct Message: Sendable, Equatable {
        let id: String
        /// The order in the room.
        let sequence: Int64
        let user: String
        let text: String
    }

    /// The outcome of posting a message.
    enum Posting: Sendable, Equatable {
        /// It is there, as this message; nil: the server says only that it is.
        case stored(Message?)
        /// It would be refused again.
        case refused(status: Int)
    }

    /// The contract's largest page.
    static let pageSize = 200

    let upstream: any Upstream
    let path: String

    /// A page of a room's messages, the oldest first: the latest, or those before a place in the room.
    func messages(in room: RecordID, before: Int64? = nil) async throws -> [Message] {
        var request: WireDictionary = [
            "function": "getmessages", "room": .string(room.text), "limit": .int64(Int64(Self.pageSize)),
        ]
        if let before { request["before"] = .int64(before) }
        let response = try await ask(request, isRead: true)
        let answer = try document(response)
        guard let values = answer["messages"]?.arrayValue else {
            throw MirrorRefusal(.unexpected, "the answer has no list of messages")
        }
        let messages = try values.map(Self.message)
        guard zip(messages, messages.dropFirst()).allSatisfy({ $0.sequence < $1.sequence }) else {
            throw MirrorRefusal(.unexpected, "the messages are in no order")
        }
        return messages
    }

    /// Joins a public room. What the other server says to it is found out when the room is read.
    func join(_ room: RecordID) async throws {
        _ = try await ask(["function": "joinchatroom", "room": .string(room.text)], isRead: true)
    }

    /// Posts under an id, so that a server that honours ids has it once. Throws where it may be tried again.
    func post(_ text: String, as id: RecordID, in room: RecordID) async throws -> Posting {
        let response = try await ask(
            [
                "function": "postmessage", "room": .string(room.text), "text": .string(text), "id": .string(id.text),
            ], isRead: false)
        switch response.status {
        // Under this id there is a message already: this one, that came by another way.
        case 409: return .stored(nil)
        case 400, 413, 422: return .refused(status: response.status)
        default:
            guard let message = try document(response)["message"] else {
                throw MirrorRefusal(.unexpected, "the answer has no message")
            }
            return .stored(try Self.message(message))
        }
    }

    private func ask(_ request: WireDictionary, isRead: Bool) async throws -> UpstreamResponse {
        guard let address = upstream.url.resolving(path) else {
            throw PorticoError(.upstreamFailed, "The system \(upstream.name) could not be asked.", logDetail: "no path")
        }
        let text = String(decoding: try JSONFormat().write(.dictionary(request)), as: UTF8.self)
        var posted = UpstreamRequest(posting: FormFields([(name: "post", value: text)]), to: address)
        posted.fields["Accept"] = "application/json"
        posted.isIdempotent = isRead
        return try await upstream.send(posted)
    }

    /// Throws `record.notFound` for 404, which a server answers where the room is none for this account.
    private func document(_ response: UpstreamResponse) throws -> WireDictionary {
        guard response.status != 404 else {
            throw PorticoError(.recordNotFound, "The system \(upstream.name) has no such room.")
        }
        let body = try response.document(["application/json"], of: upstream.name)
        guard let members = try? JSONFormat().read(body).dictionaryValue else {
            throw MirrorRefusal(.malformed, "the answer is no JSON, or no dictionary")
        }
        return members
    }

    /// Old servers tell numbers as texts, and ids as numbers.
    private static func message(_ value: WireValue) throws -> Message {
        guard let id = value["id"]?.stringValue ?? value["id"]?.int64Value.map({ String($0) }),
            let sequence = value["seq"]?.int64Value ?? value["seq"]?.stringValue.flatMap({ Int64($0) }),
            let text = value["text"]?.stringValue
        else { throw MirrorRefusal(.unexpected, "a message lacks its `id`, its `seq` or its `text`") }
        return Message(id: id, sequence: sequence, user: value["user"]?.stringValue ?? "", text: text)
    }
}
