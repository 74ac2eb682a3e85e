import AdapterKit

/// One thing that the chat can be asked for. The Twaddle contract and the resources are two doors to it: same input, same
/// answer, same checks.
struct ChatFunction: Sendable {
    /// As a Twaddle request names it.
    let name: String
    let operation: Operation
    let run: @Sendable (ChatCall) async throws -> WireDictionary

    init(
        _ name: String, _ summary: String, _ effect: Effect, isIdempotent: Bool? = nil, input: [Member] = [],
        output: [Member], at bindings: [HTTPBinding], run: @escaping @Sendable (ChatCall) async throws -> WireDictionary
    ) {
        self.name = name
        self.run = run
        operation = Operation(
            OperationName(unchecked: name), summary: summary, effect: effect, isIdempotent: isIdempotent,
            input: ObjectShape("chat_\(name)", members: input),
            output: .object(ObjectShape("chat_\(name)_answer", members: output)), bindings: bindings)
    }

    static let all: [ChatFunction] =
        [users, rooms, publicRooms, createRoom, join, leave, retention, members, invite, remove, ban]
        + [messages, post, edit, delete, search] + [markRead, unread] + [typing, presence] + [
            registerDevice, unregisterDevice,
        ]

    private static let byOperation = Dictionary(
        all.map { ($0.operation.name, $0) }, uniquingKeysWith: { $1 })
    private static let byName = Dictionary(all.map { ($0.name, $0) }, uniquingKeysWith: { $1 })

    static func by(_ operation: OperationName) -> ChatFunction? { byOperation[operation] }
    static func named(_ name: String) -> ChatFunction? { byName[name] }
}

extension HTTPBinding {
    static func chat(_ method: HTTPMethod, _ path: PathTemplate, query: [FieldName] = []) -> HTTPBinding {
        HTTPBinding(method, path, queryMembers: query)
    }
}

/// Members that several functions share.
enum Inputs {
    static let room: FieldName = "room"
    static let member: FieldName = "member"
    static let message: FieldName = "message"
    static let limit: FieldName = "limit"

    static let roomMember = Member(room, Limits.recordID, isRequired: true, summary: "The room's id.")
    static let messageMember = Member(message, Limits.recordID, isRequired: true, summary: "The message's id.")
    static let personMember = Member(member, Limits.accountName, isRequired: true, summary: "The account's name.")

    static func page(_ usual: Int64, _ largest: Int64) -> Member {
        Member(
            limit, .integer(IntegerRange(1...largest)), defaultValue: .int64(usual), acceptsText: true,
            summary: "At most that many.")
    }

    static let done = Member("done", .bool, isRequired: true, summary: "True: it is so now.")
    static let roomAnswer = Member(room, .object(Rooms.shape), isRequired: true)
}
