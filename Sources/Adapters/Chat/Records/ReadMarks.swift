import AdapterKit

/// How far somebody has read a room. The chat's own: a mark only moves forward, which a plain write cannot promise.
enum ReadPositions {
    static let entity = Entity(
        "readMarks", summary: "How far somebody has read a room.", key: EntityKey(id, chosenBy: .server),
        fields: [
            Field(id, .string, source: .callerOnCreate), Field(room, .string, isRequired: true),
            Field(user, Limits.accountName, isRequired: true),
            Field(sequence, .integer, isRequired: true, summary: "The last message that was read."),
        ],
        indexes: [Index([user, room], isUnique: true), Index([room])],
        parents: [ParentReference(room, in: Rooms.entity.name)], exposure: .adapterOnly)

    static let id: FieldName = "id"
    static let room: FieldName = "room"
    static let user: FieldName = "user"
    static let sequence: FieldName = "seq"

    static func filter(room: RecordID, user name: String) -> Filter {
        .all([.compare(user, .equal, .string(name)), .compare(Self.room, .equal, .string(room.text))])
    }
}

/// Where to send a push for somebody. A token is a secret of its device, so no door but the chat's own functions has it.
enum Devices {
    static let entity = Entity(
        "devices", summary: "Where to send a push.", key: EntityKey(id, chosenBy: .server),
        fields: [
            Field(id, .string, source: .callerOnCreate), Field(user, Limits.accountName, isRequired: true),
            Field(platform, .choice(platforms), isRequired: true),
            Field(token, .string(TextLimits(minimumLength: 1, maximumLength: 4096)), isRequired: true),
            Field(registered, .date, source: .modifiedAt),
        ],
        indexes: [Index([token], isUnique: true), Index([user])], exposure: .adapterOnly)

    static let platforms = ["apns", "webhook", "log"]
    /// How many devices one account may register; the oldest goes when another comes.
    static let maximum = 20

    static let id: FieldName = "id"
    static let user: FieldName = "user"
    static let platform: FieldName = "platform"
    static let token: FieldName = "token"
    static let registered: FieldName = "registered"
}
