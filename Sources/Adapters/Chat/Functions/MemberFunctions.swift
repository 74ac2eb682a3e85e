import AdapterKit

/// Who is in a room. Every member may invite; its owner and the moderators send others away.
extension ChatFunction {
    static let members = ChatFunction(
        "getmembers", "Who is in a room.", .reads, input: [Inputs.roomMember], output: [memberList],
        at: [.chat(.get, "/chat/v1/rooms/{room}/members")]
    ) { call in
        ["members": .names(try await call.room().names(Rooms.members))]
    }

    static let invite = ChatFunction(
        "invite", "Makes somebody a member of a room.", .writes, isIdempotent: true,
        input: [Inputs.roomMember, Inputs.personMember], output: [memberList],
        at: [.chat(.put, "/chat/v1/rooms/{room}/members/{member}")]
    ) { call in
        let room = try await call.room()
        let name = try await call.accountName(call.text(Inputs.member) ?? "", target: Inputs.member)
        let rooms = try await call.unrestricted.count(RoomLimits.rooms(of: name), in: Rooms.entity.name)
        let changed = try await call.changeRoom(room.id) { room in
            let members = room.names(Rooms.members)
            guard members.contains(call.caller) else { throw ChatCall.noRoom }
            if members.contains(name) { return nil }
            guard !room.names(Rooms.banned).contains(name) else {
                throw RoomLimits.banned(Inputs.member)
            }
            try RoomLimits.checkInvitation(rooms, of: call.settings.maximumRooms)
            try RoomLimits.check(members + [name], call.settings)
            return ["members": .names(members + [name])]
        }
        return ["members": .names(changed.names(Rooms.members))]
    }

    static let remove = ChatFunction(
        "removemember", "Ends somebody's membership; the owner's right.", .writes, isIdempotent: true,
        input: [Inputs.roomMember, Inputs.personMember], output: [memberList],
        at: [.chat(.delete, "/chat/v1/rooms/{room}/members/{member}")]
    ) { call in
        try await sendAway(call, banning: false)
    }

    static let ban = ChatFunction(
        "banmember", "Ends somebody's membership for good; the owner's right.", .writes, isIdempotent: true,
        input: [Inputs.roomMember, Inputs.personMember], output: [memberList],
        at: [.chat(.put, "/chat/v1/rooms/{room}/bans/{member}")]
    ) { call in
        try await sendAway(call, banning: true)
    }

    private static func sendAway(_ call: ChatCall, banning: Bool) async throws -> WireDictionary {
        let room = try await call.moderatedRoom()
        let name = call.text(Inputs.member) ?? ""
        guard call.moderates(room) || (name == call.caller && !banning) else {
            throw PorticoError(.accessDenied, "Only the room's owner may do this.")
        }
        guard !(banning && name == room[Rooms.owner].stringValue) else {
            throw PorticoError(.requestInvalid, "The owner cannot be banned.", target: Inputs.member.text)
        }
        let changed = try await RoomMembers.remove(name, from: room.id, banning: banning, call)
        return ["members": .names(changed.names(Rooms.members))]
    }

    private static let memberList = Member("members", .list(of: Limits.accountName), isRequired: true)
}
