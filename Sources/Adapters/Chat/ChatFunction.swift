import AdapterKit

/// One function of the chat. The Twaddle contract and the resources are two interfaces to it with the same input,
/// output and checks.
struct ChatFunction: Sendable {
    /// As a Twaddle request names it.
    let name: String
    let operation: Operation
    private let run: @Sendable (ChatCall) async throws -> WireDictionary

    /// `written`: whose right to write it asks; nil for what writes nothing.
    init(
        _ name: String, _ summary: String, _ effect: Effect, of written: Entity? = nil, isIdempotent: Bool? = nil,
        input: [Member] = [], output: [Member], at bindings: [HTTPBinding],
        run: @escaping @Sendable (ChatCall) async throws -> WireDictionary
    ) {
        self.name = name
        self.run = run
        operation = Operation(
            OperationName(unchecked: name), summary: summary, effect: effect, isIdempotent: isIdempotent,
            input: ObjectShape("chat_\(name)", members: input),
            output: .object(ObjectShape("chat_\(name)_answer", members: output)), entities: written.map { [$0.name] },
            bindings: bindings)
    }

    /// Throws `access.denied` where the caller may not write what the function changes, whichever interface it was called by:
    /// some of it is changed on the chat's own authority.
    func answer(_ call: ChatCall) async throws -> WireDictionary {
        if operation.effect == .writes {
            try await call.records.requireAccess(.writes, to: Set(operation.entities ?? []))
        }
        return try await run(call)
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
enum ChatInputs {
    static let room: FieldName = "room"
    static let member: FieldName = "member"
    static let message: FieldName = "message"
    static let limit: FieldName = "limit"

    static let roomMember = Member(room, ChatLimits.recordID, isRequired: true, summary: "The room's id.")
    static let messageMember = Member(message, ChatLimits.recordID, isRequired: true, summary: "The message's id.")
    static let personMember = Member(member, ChatLimits.accountName, isRequired: true, summary: "The account's name.")

    static func page(_ usual: Int64, _ largest: Int64) -> Member {
        Member(
            limit, .integer(IntegerRange(1...largest)), defaultValue: .int64(usual), acceptsText: true,
            summary: "At most that many.")
    }

    static let done = Member("done", .bool, isRequired: true, summary: "True: it is so now.")
    static let roomAnswer = Member(room, .object(Rooms.shape), isRequired: true)
}

/// A call of a function, with what it takes to run it.
struct ChatCall: Sendable {
    let input: WireDictionary
    /// The caller's account name.
    let caller: String
    /// The caller's session; nil: its credential belongs to none.
    let session: String?
    /// Whether the caller is a person, and no program with an API key.
    let isPerson: Bool
    /// Whether the caller may moderate every room.
    let isModerator: Bool
    /// The records as far as the caller may see and change them.
    let records: any RecordStore
    /// All of the chat's records: for what the chat does on its own authority, after it has checked.
    let unrestricted: any RecordStore
    let accounts: any AccountLookup
    let live: any LiveSignals
    let settings: ChatSettings

    init(_ call: Call, _ input: WireDictionary, _ context: AdapterContext, _ settings: ChatSettings) {
        self.input = input
        caller = call.caller.name
        session = call.session
        isPerson = call.caller.kind == .user
        isModerator = !settings.moderators.isDisjoint(with: call.caller.roles)
        records = call.records
        unrestricted = context.records
        accounts = context.accounts
        live = context.live
        self.settings = settings
    }

    subscript(member: FieldName) -> WireValue { input[member.text] ?? .null }

    func text(_ member: FieldName) -> String? { self[member].stringValue }

    func limit(_ usual: Int64) -> Int { Int(self[ChatInputs.limit].int64Value ?? usual) }

    /// The record that a member names.
    func id(_ member: FieldName) throws(PorticoError) -> RecordID {
        guard let id = text(member).flatMap({ RecordID($0) }) else {
            throw PorticoError(.requestInvalid, "That is no id.", target: member.text)
        }
        return id
    }

    /// The room that the call names, which the caller is a member of. A room of others is as good as none.
    func room() async throws -> Record {
        guard let room = try await records.record(try id(ChatInputs.room), in: Rooms.entity.name) else {
            throw Self.noRoom
        }
        return room
    }

    /// The room, for a moderator whether or not it is a member.
    func moderatedRoom() async throws -> Record {
        guard isModerator else { return try await room() }
        guard let room = try await unrestricted.record(try id(ChatInputs.room), in: Rooms.entity.name) else {
            throw Self.noRoom
        }
        return room
    }

    func moderates(_ room: Record) -> Bool { isModerator || room[Rooms.owner].stringValue == caller }

    static let noRoom = PorticoError(.recordNotFound, "There is no such room.", target: ChatInputs.room.text)
    static let noMessage = PorticoError(.recordNotFound, "There is no such message.", target: ChatInputs.message.text)

    /// The name, as it is spelled, of the account that a text names.
    func accountName(_ text: String, target: FieldName) async throws -> String {
        guard let account = try await accounts.account(named: text) else {
            throw PorticoError(.requestInvalid, "There is no such account.", target: target.text)
        }
        return account.name
    }

    /// Changes fields of a room by what it holds: read, and written only where it has not changed since.
    /// `change` gives nil where nothing has to be done.
    func changeRoom(_ id: RecordID, _ change: (Record) throws -> WireDictionary?) async throws -> Record {
        for _ in 0..<ChatLimits.maximumAttempts {
            guard let room = try await unrestricted.record(id, in: Rooms.entity.name) else { throw Self.noRoom }
            guard let fields = try change(room) else { return room }
            do {
                return try await unrestricted.update(id, fields, in: Rooms.entity.name, if: .revision(room.revision))
            } catch let error as PorticoError where error.code == .preconditionFailed {
                continue
            }
        }
        throw PorticoError(.recordConflict, "The room keeps changing; try again.", retryAfter: 1)
    }
}
