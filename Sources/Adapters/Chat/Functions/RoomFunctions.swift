import AdapterKit

/// Rooms: which there are, making one, coming and going.
extension ChatFunction {
    static let rooms = ChatFunction(
        "getchatrooms", "The rooms that the caller is a member of, by name.", .reads, output: [roomList],
        at: [.chat(.get, "/chat/v1/rooms")]
    ) { call in
        let query = Query(order: [SortKey(Rooms.name)], limit: call.settings.maximumRooms)
        let page = try await call.records.query(query, in: Rooms.entity.name)
        return ["rooms": .array(page.records.map(Rooms.told))]
    }

    static let publicRooms = ChatFunction(
        "getpublicrooms", "The rooms that everybody may join, by name.", .reads,
        input: [
            Inputs.page(Limits.usualPage, Limits.largestPage),
            Member("after", .string(maximumLength: 200), summary: "Those whose names come after this one."),
            Member(
                "afterRoom", Limits.recordID,
                summary: "With `after`: the id of that room, so that others of its name come too."),
        ],
        output: [roomList], at: [.chat(.get, "/chat/v1/public-rooms", query: [Inputs.limit, "after", "afterRoom"])]
    ) { call in
        let query = Query(
            .both(.compare(Rooms.isPublic, .equal, true), later(than: call)),
            order: [SortKey(Rooms.name), SortKey(Rooms.id)],
            limit: call.limit(Limits.usualPage))
        let page = try await call.unrestricted.query(query, in: Rooms.entity.name)
        let open = page.records.filter { !$0.names(Rooms.banned).contains(call.caller) }
        return ["rooms": .array(open.map(Rooms.told))]
    }

    /// Names are not unique: a page ends at a name and an id.
    private static func later(than call: ChatCall) -> Filter? {
        call.text("after").map { name in
            let laterName = Filter.compare(Rooms.name, .greater, .string(name))
            guard let room = call.text("afterRoom") else { return laterName }
            return .any([
                laterName,
                .all([
                    .compare(Rooms.name, .equal, .string(name)), .compare(Rooms.id, .greater, .string(room)),
                ]),
            ])
        }
    }

    static let createRoom = ChatFunction(
        "createchatroom", "Makes a room; the caller owns it and is its first member.", .writes,
        input: [
            Member(Rooms.name, .string(TextLimits(minimumLength: 1, maximumLength: 200)), isRequired: true),
            Member(Rooms.members, .list(of: Limits.accountName), summary: "Who else is in it."),
            Member(Rooms.isPublic, .bool, acceptsText: true, summary: "Whether everybody may join."),
            Member("id", Limits.recordID, summary: "Chosen by the client, a UUID for example."),
        ],
        output: [Inputs.roomAnswer], at: [.chat(.post, "/chat/v1/rooms")]
    ) { call in
        try await RoomLimits.checkRooms(of: call.caller, call)
        let members = try await RoomMembers.invited(Rooms.members, call)
        try RoomLimits.check(members, call.settings)
        let room = try await call.records.create(
            [
                "name": call[Rooms.name], "members": .names(members),
                "isPublic": .bool(call[Rooms.isPublic].boolValue ?? false),
            ], id: call.text("id") == nil ? nil : try call.id("id"), in: Rooms.entity.name)
        return ["room": Rooms.told(room)]
    }

    static let join = ChatFunction(
        "joinchatroom", "Makes the caller a member of a public room.", .writes, isIdempotent: true,
        input: [Inputs.roomMember], output: [Inputs.roomAnswer], at: [.chat(.post, "/chat/v1/rooms/{room}/join")]
    ) { call in
        try await RoomLimits.checkRooms(of: call.caller, call)
        let room = try await call.changeRoom(try call.id(Inputs.room)) { room in
            let members = room.names(Rooms.members)
            if members.contains(call.caller) { return nil }
            // A room that may not be joined is as good as none: its existence is its members' business.
            guard room[Rooms.isPublic].boolValue == true, !room.names(Rooms.banned).contains(call.caller) else {
                throw ChatCall.noRoom
            }
            try RoomLimits.check(members + [call.caller], call.settings)
            return ["members": .names(members + [call.caller])]
        }
        return ["room": Rooms.told(room)]
    }

    static let leave = ChatFunction(
        "leavechatroom", "Ends the caller's membership.", .writes, isIdempotent: true, input: [Inputs.roomMember],
        output: [Inputs.done], at: [.chat(.post, "/chat/v1/rooms/{room}/leave")]
    ) { call in
        try await RoomMembers.remove(call.caller, from: try await call.room().id, call)
        return ["done": true]
    }

    static let retention = ChatFunction(
        "setretention", "How long a room keeps its messages; the owner's right.", .writes, isIdempotent: true,
        input: [
            Inputs.roomMember,
            Member(
                "seconds", .integer(IntegerRange(0...Limits.longestRetention)), isRequired: true, acceptsText: true,
                summary: "0: for ever."),
        ],
        output: [Inputs.done], at: [.chat(.put, "/chat/v1/rooms/{room}/retention")]
    ) { call in
        let room = try await call.moderatedRoom()
        guard call.moderates(room) else {
            throw PorticoError(.accessDenied, "Only the room's owner may do this.")
        }
        let seconds = call["seconds"]
        _ = try await call.changeRoom(room.id) { $0[Rooms.retention] == seconds ? nil : ["retention": seconds] }
        return ["done": true]
    }

    private static let roomList = Member("rooms", .list(of: .object(Rooms.shape)), isRequired: true)
}

extension WireValue {
    static func names(_ names: [String]) -> WireValue { .array(names.map(WireValue.string)) }
}
