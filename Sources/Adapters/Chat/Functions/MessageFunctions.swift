import AdapterKit

/// Messages: reading a page, posting, changing, removing, finding.
extension ChatFunction {
    static let messages = ChatFunction(
        "getmessages", "A page of a room's messages, oldest first; the latest without `before` and `after`.", .reads,
        input: [
            Inputs.roomMember, Inputs.page(Limits.usualPage, Limits.largestPage),
            Member("before", .integer, acceptsText: true, summary: "The messages before this `seq`."),
            Member("after", .integer, acceptsText: true, summary: "The messages after this `seq`."),
        ],
        output: [messageList], at: [.chat(.get, "/chat/v1/rooms/{room}/messages", query: ["limit", "before", "after"])]
    ) { call in
        let room = try await call.room()
        let page = try await call.records.query(MessagePage(call).query(in: room.id), in: Messages.entity.name)
        return ["messages": .array(MessagePage(call).oldestFirst(page.records).map(Messages.told))]
    }

    static let post = ChatFunction(
        "postmessage", "Posts a message; with an `id` of the client's, posting again posts once.", .writes,
        isIdempotent: false,
        input: [
            Inputs.roomMember, Member("text", Limits.text, isRequired: true),
            Member("id", Limits.recordID, summary: "Chosen by the client, a UUID for example."),
            Member(Messages.attachments, .list(of: Limits.digest), summary: "Digests of what was uploaded before."),
        ],
        output: [messageAnswer], at: [.chat(.post, "/chat/v1/rooms/{room}/messages")]
    ) { call in
        let room = try await call.room()
        return ["message": Messages.told(try await Posting(call, in: room).run())]
    }

    static let edit = ChatFunction(
        "editmessage", "Changes the text of a message of one's own.", .writes, isIdempotent: true,
        input: [Inputs.messageMember, Member("text", Limits.text, isRequired: true)], output: [messageAnswer],
        at: [.chat(.patch, "/chat/v1/messages/{message}")]
    ) { call in
        let id = try call.id(Inputs.message)
        guard try await call.records.record(id, in: Messages.entity.name) != nil else { throw ChatCall.noMessage }
        let message = try await call.records.update(id, ["text": call[Messages.text]], in: Messages.entity.name)
        return ["message": Messages.told(message)]
    }

    static let delete = ChatFunction(
        "deletemessage", "Removes a message: one's own, or any in a room that one moderates.", .writes,
        isIdempotent: true,
        input: [Inputs.messageMember], output: [Inputs.done], at: [.chat(.delete, "/chat/v1/messages/{message}")]
    ) { call in
        let id = try call.id(Inputs.message)
        let seen = call.isModerator ? call.unrestricted : call.records
        guard let message = try await seen.record(id, in: Messages.entity.name) else { throw ChatCall.noMessage }
        guard try await mayDelete(message, call) else {
            throw PorticoError(.accessDenied, "Only its author and the room's owner may remove a message.")
        }
        try await call.unrestricted.delete(id, in: Messages.entity.name)
        return ["done": true]
    }

    static let search = ChatFunction(
        "searchmessages", "Messages in one's rooms that hold every word, latest first.", .reads,
        input: [
            Member("words", .string(TextLimits(minimumLength: 1, maximumLength: 200)), isRequired: true),
            Member(Inputs.room, Limits.recordID, summary: "In this room only."),
            Inputs.page(Limits.usualPage, Limits.largestPage),
        ],
        output: [messageList], at: [.chat(.get, "/chat/v1/search", query: ["words", "room", "limit"])]
    ) { call in
        let words = (call.text("words") ?? "").split(whereSeparator: \.isWhitespace).map(String.init)
        let room = call.text(Inputs.room).map { Filter.compare(Messages.room, .equal, .string($0)) }
        let query = Query(
            .both(.search(words: words), room), order: [SortKey(Messages.sequence, descending: true)],
            limit: call.limit(Limits.usualPage))
        let page = try await call.records.query(query, in: Messages.entity.name)
        return ["messages": .array(page.records.map(Messages.told))]
    }

    private static func mayDelete(_ message: Record, _ call: ChatCall) async throws -> Bool {
        if call.isModerator || message[Messages.user].stringValue == call.caller { return true }
        guard let id = message[Messages.room].stringValue.flatMap({ RecordID($0) }),
            let room = try await call.records.record(id, in: Rooms.entity.name)
        else { return false }
        return call.moderates(room)
    }

    private static let messageList = Member("messages", .list(of: .object(Messages.shape)), isRequired: true)
    private static let messageAnswer = Member("message", .object(Messages.shape), isRequired: true)
}
