import AdapterKit

/// A room and who is in it. Only its members know of it; what others may learn of a public room, the directory of public
/// rooms tells (``ChatFunction/publicRooms``).
enum Rooms {
    static let entity = entity(maximumMembers: 2000)

    static func entity(maximumMembers: Int) -> Entity {
        Entity(
            "rooms", summary: "A room, as its members see it.", key: EntityKey(id),
            fields: [
                Field(id, .string(maximumLength: 255), source: .callerOnCreate),
                Field(name, .string(TextLimits(minimumLength: 1, maximumLength: 200)), isRequired: true),
                Field(owner, .string, source: .creator, summary: "Who created it, and may moderate it."),
                Field(
                    members, .list(of: ChatLimits.accountName), defaultValue: [], maximumCount: maximumMembers,
                    summary: "Account names."),
                Field(
                    banned, .list(of: ChatLimits.accountName), defaultValue: [], maximumCount: ChatLimits.banned,
                    summary: "Who may not come back."),
                Field(isPublic, .bool, defaultValue: false, summary: "Whether every account may join."),
                Field(
                    retention, .integer(IntegerRange(0...ChatLimits.longestRetention)),
                    summary: "Seconds that messages are kept; nothing or 0: for ever."),
                Field(created, .date, source: .createdAt),
            ],
            indexes: [Index([isPublic, name])],
            rows: RowRules(read: .sharedWith(members), write: .all([.owner(owner), .sharedWith(members)])))
    }

    static let id: FieldName = "id"
    static let name: FieldName = "name"
    static let owner: FieldName = "owner"
    static let members: FieldName = "members"
    static let banned: FieldName = "banned"
    static let isPublic: FieldName = "isPublic"
    static let retention: FieldName = "retention"
    static let created: FieldName = "created"

    /// A room as the functions tell it; the members are asked for on their own, since there may be thousands.
    static func value(_ room: Record) -> WireValue {
        [
            "id": room[id], "name": room[name], "owner": room[owner], "isPublic": room[isPublic],
            "created": room[created],
        ]
    }

    static let shape = ObjectShape(
        "ChatRoom",
        members: [
            Member(id, .string, isRequired: true), Member(name, .string, isRequired: true),
            Member(owner, .string, isRequired: true), Member(isPublic, .bool, isRequired: true),
            Member(created, .date, isRequired: true),
        ])
}

extension Record {
    /// The account names that a list field holds.
    func names(_ field: FieldName) -> [String] {
        (self[field].arrayValue ?? []).compactMap(\.stringValue)
    }
}

/// A message. Its place in the room is the store's operation id at its creation: one total order, the same for every
/// reader, whether online or synced.
enum Messages {
    static let entity = Entity(
        "messages", summary: "A message in a room that the reader is a member of.", key: EntityKey(id),
        fields: [
            Field(
                id, .string(maximumLength: 255), source: .callerOnCreate,
                summary: "Chosen by the client where it sends one, so that posting again posts once."),
            Field(room, .string(maximumLength: 255), isRequired: true, source: .callerOnCreate),
            Field(
                sequence, .integer, source: .createdPosition, summary: "The order in the room; numbers are left out."),
            Field(user, .string, source: .creator),
            Field(text, ChatLimits.text, isRequired: true),
            Field(
                attachments, .list(of: ChatLimits.digest), defaultValue: [], maximumCount: ChatLimits.attachments,
                summary: "SHA-256 digests of attachments (docs/protocol/sync.md)."),
            Field(sent, .date, source: .createdAt),
            Field(
                edited, .date, source: .modifiedAt, summary: "The time of the last change; `sent` where there is none."),
        ],
        indexes: [Index([room, sequence])], searchFields: [text], attachments: [attachments],
        rows: RowRules(read: membership, write: .all([.owner(user), membership])), conflictPolicy: .lastWriterWins)

    private static let membership = RowRule.memberOf(Rooms.entity.name, through: room, members: Rooms.members)

    static let id: FieldName = "id"
    static let room: FieldName = "room"
    static let sequence: FieldName = "seq"
    static let user: FieldName = "user"
    static let text: FieldName = "text"
    static let attachments: FieldName = "attachments"
    static let sent: FieldName = "sent"
    static let edited: FieldName = "edited"

    static func value(_ message: Record) -> WireValue {
        var value: WireDictionary = [:]
        for field in [id, room, sequence, user, text, sent] { value[field.text] = message[field] }
        if message[attachments].arrayValue?.isEmpty == false { value[attachments.text] = message[attachments] }
        if message[edited] != message[sent] { value[edited.text] = message[edited] }
        return .dictionary(value)
    }

    static let shape = ObjectShape(
        "ChatMessage",
        members: [
            Member(id, .string, isRequired: true), Member(room, .string, isRequired: true),
            Member(sequence, .integer, isRequired: true, summary: "The order in the room."),
            Member(user, .string, isRequired: true), Member(text, .string, isRequired: true),
            Member(sent, .date, isRequired: true), Member(edited, .date, summary: "Where it was changed later."),
            Member(attachments, .list(of: ChatLimits.digest), summary: "Where there are any."),
        ])
}

/// Limits of the chat's texts and pages.
enum ChatLimits {
    static let text = Shape.string(TextLimits(minimumLength: 1, maximumLength: 16_384))
    static let accountName = Shape.string(TextLimits(minimumLength: 1, maximumLength: 64))
    static let recordID = Shape.string(TextLimits(minimumLength: 1, maximumLength: 255))
    static let digest = Shape.string(TextLimits(minimumLength: 64, maximumLength: 64))
    /// Attachments of one message.
    static let attachments = 20
    /// Accounts that one room keeps out.
    static let banned = 10_000
    /// Seconds; a hundred years.
    static let longestRetention: Int64 = 3_155_760_000
    /// Characters of a message that a push carries.
    static let pushedText = 500
    static let largestPage: Int64 = 200
    static let usualPage: Int64 = 50
    static let largestPeoplePage: Int64 = 1000
    /// Times that a record which others change at the same time is read again.
    static let maximumAttempts = 20
    static let largestInvitation = 100
}

/// The place up to which an account has read a room. The chat's own: a mark only moves forward, which a plain write cannot promise.
enum ReadPositions {
    static let entity = Entity(
        "readMarks", summary: "How far an account has read a room.", key: EntityKey(id, chosenBy: .server),
        fields: [
            Field(id, .string, source: .callerOnCreate), Field(room, .string, isRequired: true),
            Field(user, ChatLimits.accountName, isRequired: true),
            Field(sequence, .integer, isRequired: true, summary: "The last message that was read."),
        ],
        indexes: [Index([user, room], isUnique: true), Index([room])],
        parents: [ParentReference(room, in: Rooms.entity.name)], writers: .login, exposure: .adapterOnly)

    static let id: FieldName = "id"
    static let room: FieldName = "room"
    static let user: FieldName = "user"
    static let sequence: FieldName = "seq"

    static func filter(room: RecordID, user name: String) -> Filter {
        .all([.compare(user, .equal, .string(name)), .compare(Self.room, .equal, .string(room.text))])
    }
}

/// The devices that get an account's pushes. A token is a secret of its device, so only the chat's own functions read
/// it.
enum Devices {
    static let entity = Entity(
        "devices", summary: "Where to send a push.", key: EntityKey(id, chosenBy: .server),
        fields: [
            Field(id, .string, source: .callerOnCreate), Field(user, ChatLimits.accountName, isRequired: true),
            Field(platform, .choice(platforms), isRequired: true),
            Field(token, .string(TextLimits(minimumLength: 1, maximumLength: 4096)), isRequired: true),
            Field(registered, .date, source: .modifiedAt), Field(credentialVersion, .integer),
            Field(session, .string(maximumLength: 64)),
        ],
        indexes: [Index([token], isUnique: true), Index([user])],
        rows: RowRules(read: .owner(user), write: .owner(user)), exposure: .adapterOnly)

    static let platforms = ["apns", "webhook", "log"]
    /// Devices that one account may register; the oldest goes when another comes.
    static let maximum = 20

    static let id: FieldName = "id"
    static let user: FieldName = "user"
    static let platform: FieldName = "platform"
    static let token: FieldName = "token"
    static let registered: FieldName = "registered"
    /// The account's version when the device was registered: a new password ends pushes to what was registered before.
    static let credentialVersion: FieldName = "credentialVersion"
    /// That registered it: its end ends pushes too. Null: it was registered by HTTP Basic or a provider's token, or by an
    /// earlier version of the adapter.
    static let session: FieldName = "session"
}

/// The limits of the chat's operations that no field can declare, for every interface through which a room is made or
/// changed. Whether a member is an account cannot be asked within a transaction: a name that is none reaches nothing.
struct ChatRules: RecordRules {
    let maximumRooms: Int

    func prepare(_ change: RecordChange, of record: Record?, in writing: RecordRuleContext) throws -> PreparedChange {
        if change.entity == Rooms.entity.name { try check(change, of: record, in: writing) }
        return PreparedChange(change)
    }

    func verify(_ record: Record, of entity: EntityName, in writing: RecordRuleContext) throws {}

    private func check(_ change: RecordChange, of room: Record?, in writing: RecordRuleContext) throws {
        let caller = writing.caller.name
        if room == nil { try RoomLimits.checkRooms(try rooms(of: caller, writing), of: maximumRooms) }
        guard let members = change.fields.names(Rooms.members) else { return }
        let present = room?.names(Rooms.members) ?? []
        let invited = Set(members).subtracting(present).subtracting([caller])
        guard invited.count <= ChatLimits.largestInvitation else { throw RoomLimits.tooManyInvited }
        let banned = change.fields.names(Rooms.banned)
        guard invited.isDisjoint(with: banned ?? []) else {
            throw PorticoError(
                .requestInvalid, "A member cannot be banned from the room as well.", target: Rooms.banned.text)
        }
        guard invited.isDisjoint(with: banned ?? room?.names(Rooms.banned) ?? []) else {
            throw RoomLimits.banned(Rooms.members)
        }
        for name in invited { try RoomLimits.checkInvitation(try rooms(of: name, writing), of: maximumRooms) }
    }

    private func rooms(of name: String, _ writing: RecordRuleContext) throws -> Int {
        try writing.snapshot.count(RoomLimits.rooms(of: name), in: Rooms.entity.name)
    }
}

extension WireDictionary {
    /// The account names that a list field is set to; nil where it is not set.
    fileprivate func names(_ field: FieldName) -> [String]? {
        self[field.text].map { ($0.arrayValue ?? []).compactMap(\.stringValue) }
    }
}
