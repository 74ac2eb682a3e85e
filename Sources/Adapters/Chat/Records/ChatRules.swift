import AdapterKit

/// The limits of the chat's operations that no field can declare, for every interface through which a room is made.
struct ChatRules: RecordRules {
    let maximumRooms: Int

    func prepare(_ change: RecordChange, of record: Record?, in writing: RecordWriting) throws -> PreparedChange {
        if change.entity == Rooms.entity.name, record == nil {
            let own = Filter.listContains(Rooms.members, .string(writing.caller.name))
            try RoomLimits.checkRooms(try writing.moment.count(own, in: Rooms.entity.name), of: maximumRooms)
        }
        return PreparedChange(change)
    }

    func verify(_ record: Record, of entity: EntityName, in writing: RecordWriting) throws {}
}
