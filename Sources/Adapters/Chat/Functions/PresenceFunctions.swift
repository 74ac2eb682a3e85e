import AdapterKit

/// What is true for a moment only and kept nowhere.
extension ChatFunction {
    static let typing = ChatFunction(
        "typing", "Tells the others in a room that the caller is typing.", .writes, isIdempotent: true,
        input: [Inputs.roomMember], output: [Inputs.done], at: [.chat(.post, "/chat/v1/rooms/{room}/typing")]
    ) { call in
        let room = try await call.room()
        call.live.signal(
            ChatFeed.typing, ["room": .string(room.id.text), "user": .string(call.caller)], in: room.id,
            of: ChatFeed.name, from: call.caller)
        return ["done": true]
    }

    static let presence = ChatFunction(
        "getpresence", "The members of a room who have a live stream open.", .reads, input: [Inputs.roomMember],
        output: [Member("online", .list(of: Limits.accountName), isRequired: true)],
        at: [.chat(.get, "/chat/v1/rooms/{room}/presence")]
    ) { call in
        let room = try await call.room()
        let names = call.live.listeners(in: room.id, of: ChatFeed.name, limit: call.settings.maximumMembers)
        return ["online": .names(names)]
    }
}
