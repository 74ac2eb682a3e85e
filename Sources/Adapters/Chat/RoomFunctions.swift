import AdapterKit

/// Rooms: which there are, making one, coming and going.
extension ChatFunction {
    static let rooms = ChatFunction(
        "getchatrooms", "The rooms that the caller is a member of, by name.", .reads, output: [roomList],
        at: [.chat(.get, "/chat/v1/rooms")]
    ) { call in
        let query = Query(order: [SortKey(Rooms.name)], limit: call.settings.maximumRooms)
        let page = try await call.records.query(query, in: Rooms.entity.name)
        return ["rooms": .array(page.records.map(Rooms.value))]
    }

    static let publicRooms = ChatFunction(
        "getpublicrooms", "The rooms that every account may join, by name.", .reads,
        input: [
            ChatInputs.page(ChatLimits.usualPage, ChatLimits.largestPage),
            Member("after", .string(maximumLength: 200), summary: "Those whose names come after this one."),
            Member(
                "afterRoom", ChatLimits.recordID,
                summary: "With `after`: the id of that room, so that others of its name come too."),
        ],
        output: [roomList], at: [.chat(.get, "/chat/v1/public-rooms", query: [ChatInputs.limit, "after", "afterRoom"])]
    ) { call in
        let query = Query(
            .both(.compare(Rooms.isPublic, .equal, true), later(than: call)),
            order: [SortKey(Rooms.name), SortKey(Rooms.id)],
            limit: call.limit(ChatLimits.usualPage))
        let page = try await call.unrestricted.query(query, in: Rooms.entity.name)
        let open = page.records.filter { !$0.names(Rooms.banned).contains(call.caller) }
        return ["rooms": .array(open.map(Rooms.value))]
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
        "createchatroom", "Makes a room; the caller owns it and is its first member.", .writes, of: Rooms.entity,
        input: [
            Member(Rooms.name, .string(TextLimits(minimumLength: 1, maximumLength: 200)), isRequired: true),
            Member(Rooms.members, .list(of: ChatLimits.accountName), summary: "Who else is in it."),
            Member(Rooms.isPublic, .bool, acceptsText: true, summary: "Whether every account may join."),
            Member("id", ChatLimits.recordID, summary: "Chosen by the client, a UUID for example."),
        ],
        output: [ChatInputs.roomAnswer], at: [.chat(.post, "/chat/v1/rooms")]
    ) { call in
        try await RoomLimits.checkRooms(of: call.caller, call)
        let members = try await RoomMembers.invitedAccounts(Rooms.members, call)
        try RoomLimits.check(members, call.settings)
        let room = try await call.records.create(
            [
                "name": call[Rooms.name], "members": .names(members),
                "isPublic": .bool(call[Rooms.isPublic].boolValue ?? false),
            ], id: call.text("id") == nil ? nil : try call.id("id"), in: Rooms.entity.name)
        return ["room": Rooms.value(room)]
    }

    static let join = ChatFunction(
        "joinchatroom", "Makes the caller a member of a public room.", .writes, of: Rooms.entity, isIdempotent: true,
        input: [ChatInputs.roomMember], output: [ChatInputs.roomAnswer],
        at: [.chat(.post, "/chat/v1/rooms/{room}/join")]
    ) { call in
        try await RoomLimits.checkRooms(of: call.caller, call)
        let room = try await call.changeRoom(try call.id(ChatInputs.room)) { room in
            let members = room.names(Rooms.members)
            if members.contains(call.caller) { return nil }
            // A room that may not be joined is as good as none: its existence is its members' business.
            guard room[Rooms.isPublic].boolValue == true, !room.names(Rooms.banned).contains(call.caller) else {
                throw ChatCall.noRoom
            }
            try RoomLimits.check(members + [call.caller], call.settings)
            return ["members": .names(members + [call.caller])]
        }
        return ["room": Rooms.value(room)]
    }

    static let leave = ChatFunction(
        "leavechatroom", "Ends the caller's membership.", .writes, of: Rooms.entity, isIdempotent: true,
        input: [ChatInputs.roomMember],
        output: [ChatInputs.done], at: [.chat(.post, "/chat/v1/rooms/{room}/leave")]
    ) { call in
        try await RoomMembers.remove(call.caller, from: try await call.room().id, call)
        return ["done": true]
    }

    static let retention = ChatFunction(
        "setretention", "How long a room keeps its messages; the owner's right.", .writes, of: Rooms.entity,
        isIdempotent: true,
        input: [
            ChatInputs.roomMember,
            Member(
                "seconds", .integer(IntegerRange(0...ChatLimits.longestRetention)), isRequired: true, acceptsText: true,
                summary: "0: for ever."),
        ],
        output: [ChatInputs.done], at: [.chat(.put, "/chat/v1/rooms/{room}/retention")]
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

/// Functions about a room's members. Every member may invite; its owner and the moderators send others away.
extension ChatFunction {
    static let members = ChatFunction(
        "getmembers", "Who is in a room.", .reads, input: [ChatInputs.roomMember], output: [memberList],
        at: [.chat(.get, "/chat/v1/rooms/{room}/members")]
    ) { call in
        ["members": .names(try await call.room().names(Rooms.members))]
    }

    static let invite = ChatFunction(
        "invite", "Makes an account a member of a room.", .writes, of: Rooms.entity, isIdempotent: true,
        input: [ChatInputs.roomMember, ChatInputs.personMember], output: [memberList],
        at: [.chat(.put, "/chat/v1/rooms/{room}/members/{member}")]
    ) { call in
        let room = try await call.room()
        let name = try await call.accountName(call.text(ChatInputs.member) ?? "", target: ChatInputs.member)
        let rooms = try await call.unrestricted.count(RoomLimits.rooms(of: name), in: Rooms.entity.name)
        let changed = try await call.changeRoom(room.id) { room in
            let members = room.names(Rooms.members)
            guard members.contains(call.caller) else { throw ChatCall.noRoom }
            if members.contains(name) { return nil }
            guard !room.names(Rooms.banned).contains(name) else {
                throw RoomLimits.banned(ChatInputs.member)
            }
            try RoomLimits.checkInvitation(rooms, of: call.settings.maximumRooms)
            try RoomLimits.check(members + [name], call.settings)
            return ["members": .names(members + [name])]
        }
        return ["members": .names(changed.names(Rooms.members))]
    }

    static let remove = ChatFunction(
        "removemember", "Ends an account's membership; the owner's right.", .writes, of: Rooms.entity,
        isIdempotent: true,
        input: [ChatInputs.roomMember, ChatInputs.personMember], output: [memberList],
        at: [.chat(.delete, "/chat/v1/rooms/{room}/members/{member}")]
    ) { call in
        try await removeMember(call, banning: false)
    }

    static let ban = ChatFunction(
        "banmember", "Ends an account's membership for good; the owner's right.", .writes, of: Rooms.entity,
        isIdempotent: true,
        input: [ChatInputs.roomMember, ChatInputs.personMember], output: [memberList],
        at: [.chat(.put, "/chat/v1/rooms/{room}/bans/{member}")]
    ) { call in
        try await removeMember(call, banning: true)
    }

    private static func removeMember(_ call: ChatCall, banning: Bool) async throws -> WireDictionary {
        let room = try await call.moderatedRoom()
        let name = call.text(ChatInputs.member) ?? ""
        guard call.moderates(room) || (name == call.caller && !banning) else {
            throw PorticoError(.accessDenied, "Only the room's owner may do this.")
        }
        guard !(banning && name == room[Rooms.owner].stringValue) else {
            throw PorticoError(.requestInvalid, "The owner cannot be banned.", target: ChatInputs.member.text)
        }
        let changed = try await RoomMembers.remove(name, from: room.id, banning: banning, call)
        return ["members": .names(changed.names(Rooms.members))]
    }

    private static let memberList = Member("members", .list(of: ChatLimits.accountName), isRequired: true)
}

/// The list of a room's members, changed.
enum RoomMembers {
    /// The caller and those whom the call names, each once.
    static func invitedAccounts(_ member: FieldName, _ call: ChatCall) async throws -> [String] {
        let texts = (call[member].arrayValue ?? []).compactMap(\.stringValue)
        guard texts.count <= ChatLimits.largestInvitation else {
            throw RoomLimits.tooManyInvited
        }
        var names = [call.caller]
        for text in texts {
            let name = try await call.accountName(text, target: member)
            if !names.contains(name) { names.append(name) }
        }
        return names
    }

    /// A room that loses all its members stays, for the operators: no other caller can reach it.
    @discardableResult
    static func remove(_ name: String, from id: RecordID, banning: Bool = false, _ call: ChatCall) async throws
        -> Record
    {
        try await call.changeRoom(id) { room in
            let members = room.names(Rooms.members)
            let banned = room.names(Rooms.banned)
            let bans = banning && !banned.contains(name)
            guard members.contains(name) || bans else { return nil }
            var fields: WireDictionary = ["members": .names(members.filter { $0 != name })]
            if bans { fields["banned"] = .names(banned + [name]) }
            return fields
        }
    }
}

/// Limits of rooms.
enum RoomLimits {
    static func check(_ members: [String], _ settings: ChatSettings) throws(PorticoError) {
        guard members.count <= settings.maximumMembers else {
            throw PorticoError(
                .requestLimitExceeded, "A room has at most \(settings.maximumMembers) members.",
                target: Rooms.members.text)
        }
    }

    static func checkRooms(of name: String, _ call: ChatCall) async throws {
        let count = try await call.records.count(rooms(of: name), in: Rooms.entity.name)
        try checkRooms(count, of: call.settings.maximumRooms)
    }

    /// Whether an account that is in `count` rooms may be in one more.
    static func checkRooms(_ count: Int, of maximum: Int) throws(PorticoError) {
        guard count < maximum else { throw tooManyRooms(maximum) }
    }

    private static func tooManyRooms(_ maximum: Int) -> PorticoError {
        PorticoError(.requestLimitExceeded, "An account can be in at most \(maximum) rooms.")
    }

    /// Whether others may bring an account that is in `count` rooms into one more. A quarter of its rooms is left to
    /// the account itself, so that no other account keeps it from making and joining rooms.
    static func checkInvitation(_ count: Int, of maximum: Int) throws(PorticoError) {
        guard count < maximum - maximum / 4 else { throw tooManyRooms(maximum) }
    }

    static func rooms(of name: String) -> Filter { .listContains(Rooms.members, .string(name)) }

    static let tooManyInvited = PorticoError(
        .requestLimitExceeded, "At most \(ChatLimits.largestInvitation) can be invited at once.",
        target: Rooms.members.text)

    static func banned(_ member: FieldName) -> PorticoError {
        PorticoError(.accessDenied, "This account is banned from the room.", target: member.text)
    }
}

/// Functions about the people that can be talked to.
extension ChatFunction {
    static let users = ChatFunction(
        "getusers", "The accounts that may sign in, without the caller.", .reads,
        input: [
            ChatInputs.page(1000, ChatLimits.largestPeoplePage),
            Member("after", ChatLimits.accountName, summary: "Those after this name."),
        ],
        output: [Member("users", .list(of: .object(person)), isRequired: true)],
        at: [.chat(.get, "/chat/v1/users", query: [ChatInputs.limit, "after"])]
    ) { call in
        // One more than asked for, since the caller may be among them.
        let limit = call.limit(1000)
        let accounts = try await call.accounts.accounts(after: call.text("after"), limit: limit + 1)
        let others = accounts.filter { $0.name.uppercased() != call.caller.uppercased() }.prefix(limit)
        return ["users": .array(others.map { ["id": .string($0.name), "name": .string($0.displayName)] })]
    }

    private static let person = ObjectShape(
        "ChatUser",
        members: [
            Member("id", .string, isRequired: true, summary: "The account name, as members and messages have it."),
            Member("name", .string, isRequired: true),
        ])
}
