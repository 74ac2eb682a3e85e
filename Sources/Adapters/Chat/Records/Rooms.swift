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
                    members, .list(of: Limits.accountName), defaultValue: [], maximumCount: maximumMembers,
                    summary: "Account names."),
                Field(
                    banned, .list(of: Limits.accountName), defaultValue: [], maximumCount: Limits.banned,
                    summary: "Who may not come back."),
                Field(isPublic, .bool, defaultValue: false, summary: "Whether everybody may join."),
                Field(
                    retention, .integer(IntegerRange(0...Limits.longestRetention)),
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
    static func told(_ room: Record) -> WireValue {
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
