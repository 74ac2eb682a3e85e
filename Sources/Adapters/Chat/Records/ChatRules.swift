import AdapterKit

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
        guard invited.count <= Limits.largestInvitation else { throw RoomLimits.tooManyInvited }
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
