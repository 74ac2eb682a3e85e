import AdapterKit

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
            Field(text, Limits.text, isRequired: true),
            Field(
                attachments, .list(of: Limits.digest), defaultValue: [], maximumCount: Limits.attachments,
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

    static func told(_ message: Record) -> WireValue {
        var told: WireDictionary = [:]
        for field in [id, room, sequence, user, text, sent] { told[field.text] = message[field] }
        if message[attachments].arrayValue?.isEmpty == false { told[attachments.text] = message[attachments] }
        if message[edited] != message[sent] { told[edited.text] = message[edited] }
        return .dictionary(told)
    }

    static let shape = ObjectShape(
        "ChatMessage",
        members: [
            Member(id, .string, isRequired: true), Member(room, .string, isRequired: true),
            Member(sequence, .integer, isRequired: true, summary: "The order in the room."),
            Member(user, .string, isRequired: true), Member(text, .string, isRequired: true),
            Member(sent, .date, isRequired: true), Member(edited, .date, summary: "Where it was changed later."),
            Member(attachments, .list(of: Limits.digest), summary: "Where there are any."),
        ])
}

/// What bounds the chat's texts and pages.
enum Limits {
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
    /// How often a record that others change at the same time is read again.
    static let maximumAttempts = 20
    static let largestInvitation = 100
}
