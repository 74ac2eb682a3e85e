import AdapterKit

/// Messages: reading a page, posting, changing, removing, finding.
extension ChatFunction {
    static let messages = ChatFunction(
        "getmessages", "A page of a room's messages, oldest first; the latest without `before` and `after`.", .reads,
        input: [
            ChatInputs.roomMember, ChatInputs.page(ChatLimits.usualPage, ChatLimits.largestPage),
            Member("before", .integer, acceptsText: true, summary: "The messages before this `seq`."),
            Member("after", .integer, acceptsText: true, summary: "The messages after this `seq`."),
        ],
        output: [messageList], at: [.chat(.get, "/chat/v1/rooms/{room}/messages", query: ["limit", "before", "after"])]
    ) { call in
        let room = try await call.room()
        let page = try await call.records.query(MessagePage(call).query(in: room.id), in: Messages.entity.name)
        return ["messages": .array(MessagePage(call).oldestFirst(page.records).map(Messages.value))]
    }

    static let post = ChatFunction(
        "postmessage", "Posts a message; with an `id` of the client's, posting again posts once.", .writes,
        of: Messages.entity,
        isIdempotent: false,
        input: [
            ChatInputs.roomMember, Member("text", ChatLimits.text, isRequired: true),
            Member("id", ChatLimits.recordID, summary: "Chosen by the client, a UUID for example."),
            Member(Messages.attachments, .list(of: ChatLimits.digest), summary: "Digests of what was uploaded before."),
        ],
        output: [messageAnswer], at: [.chat(.post, "/chat/v1/rooms/{room}/messages")]
    ) { call in
        let room = try await call.room()
        return ["message": Messages.value(try await MessagePosting(call, in: room).run())]
    }

    static let edit = ChatFunction(
        "editmessage", "Changes the text of a message of one's own.", .writes, of: Messages.entity, isIdempotent: true,
        input: [ChatInputs.messageMember, Member("text", ChatLimits.text, isRequired: true)], output: [messageAnswer],
        at: [.chat(.patch, "/chat/v1/messages/{message}")]
    ) { call in
        let id = try call.id(ChatInputs.message)
        guard try await call.records.record(id, in: Messages.entity.name) != nil else { throw ChatCall.noMessage }
        let message = try await call.records.update(id, ["text": call[Messages.text]], in: Messages.entity.name)
        return ["message": Messages.value(message)]
    }

    static let delete = ChatFunction(
        "deletemessage", "Removes a message: one's own, or any in a room that one moderates.", .writes,
        of: Messages.entity,
        isIdempotent: true,
        input: [ChatInputs.messageMember], output: [ChatInputs.done],
        at: [.chat(.delete, "/chat/v1/messages/{message}")]
    ) { call in
        let id = try call.id(ChatInputs.message)
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
            Member(ChatInputs.room, ChatLimits.recordID, summary: "In this room only."),
            ChatInputs.page(ChatLimits.usualPage, ChatLimits.largestPage),
        ],
        output: [messageList], at: [.chat(.get, "/chat/v1/search", query: ["words", "room", "limit"])]
    ) { call in
        let words = (call.text("words") ?? "").split(whereSeparator: \.isWhitespace).map(String.init)
        let room = call.text(ChatInputs.room).map { Filter.compare(Messages.room, .equal, .string($0)) }
        let query = Query(
            .both(.search(words: words), room), order: [SortKey(Messages.sequence, descending: true)],
            limit: call.limit(ChatLimits.usualPage))
        let page = try await call.records.query(query, in: Messages.entity.name)
        return ["messages": .array(page.records.map(Messages.value))]
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

/// Which messages of a room a call asks for.
struct MessagePage {
    private let before: Int64?
    private let after: Int64?
    private let limit: Int

    init(_ call: ChatCall) {
        before = call["before"].int64Value
        after = call["after"].int64Value
        limit = call.limit(ChatLimits.usualPage)
    }

    /// Read from the end that the page hangs on: forwards after a message, backwards otherwise.
    func query(in room: RecordID) -> Query {
        var conditions = [Filter.compare(Messages.room, .equal, .string(room.text))]
        if let before { conditions.append(.compare(Messages.sequence, .less, .int64(before))) }
        if let after { conditions.append(.compare(Messages.sequence, .greater, .int64(after))) }
        return Query(
            .all(conditions), order: [SortKey(Messages.sequence, descending: isBackwards)], limit: limit)
    }

    func oldestFirst(_ records: [Record]) -> [Record] {
        isBackwards ? records.reversed() : records
    }

    private var isBackwards: Bool { after == nil }
}

/// Posts a message, once for each id.
struct MessagePosting {
    private let call: ChatCall
    private let room: Record

    init(_ call: ChatCall, in room: Record) {
        self.call = call
        self.room = room
    }

    func run() async throws -> Record {
        let attachments = call[Messages.attachments].arrayValue ?? []
        guard attachments.count <= ChatLimits.attachments else {
            throw PorticoError(
                .requestLimitExceeded, "A message has at most \(ChatLimits.attachments) attachments.",
                target: Messages.attachments.text)
        }
        let id = call.text("id") == nil ? nil : try call.id("id")
        do {
            return try await call.records.create(
                [
                    "room": .string(room.id.text), "text": call[Messages.text], "attachments": .array(attachments),
                ], id: id, in: Messages.entity.name)
        } catch let error as PorticoError where error.code == .recordExists {
            return try await postedMessage(id, error)
        }
    }

    /// The message that an earlier attempt of the same caller posted; any other under that id is a mistake.
    private func postedMessage(_ id: RecordID?, _ error: PorticoError) async throws -> Record {
        guard let id, let message = try await call.records.record(id, in: Messages.entity.name),
            message[Messages.user].stringValue == call.caller, message[Messages.room] == .string(room.id.text)
        else { throw error }
        return message
    }
}

/// Functions about the place up to which one has read.
extension ChatFunction {
    static let markRead = ChatFunction(
        "markread", "Marks a room as read up to a message; the mark only moves forward.", .writes,
        of: ReadPositions.entity, isIdempotent: true,
        input: [ChatInputs.roomMember, ChatInputs.messageMember],
        output: [Member("seq", .integer, isRequired: true, summary: "The last message that was read.")],
        at: [.chat(.post, "/chat/v1/rooms/{room}/read")]
    ) { call in
        let room = try await call.room()
        guard let message = try await call.records.record(try call.id(ChatInputs.message), in: Messages.entity.name),
            message[Messages.room] == .string(room.id.text), let sequence = message[Messages.sequence].int64Value
        else { throw ChatCall.noMessage }
        return ["seq": .int64(try await ReadMark(room: room.id, call).move(to: sequence))]
    }

    static let unread = ChatFunction(
        "getunread", "How many messages of others are unread, for each of the caller's rooms.", .reads,
        output: [Member("rooms", .list(of: .object(count)), isRequired: true)], at: [.chat(.get, "/chat/v1/unread")]
    ) { call in
        let query = Query(order: [SortKey(Rooms.name)], limit: call.settings.maximumRooms)
        var counts: [WireValue] = []
        for room in try await call.records.query(query, in: Rooms.entity.name).records {
            counts.append(try await ReadMark(room: room.id, call).unread())
        }
        return ["rooms": .array(counts)]
    }

    private static let count = ObjectShape(
        "UnreadCount",
        members: [
            Member("room", .string, isRequired: true),
            Member("seq", .integer, isRequired: true, summary: "The last message that was read; 0: none."),
            Member("unread", .integer, isRequired: true),
        ])
}

/// The caller's mark in a room.
struct ReadMark {
    private let room: RecordID
    private let call: ChatCall

    init(room: RecordID, _ call: ChatCall) {
        self.room = room
        self.call = call
    }

    /// The mark afterwards: `sequence`, or where it was, if that is later.
    func move(to sequence: Int64) async throws -> Int64 {
        for _ in 0..<ChatLimits.maximumAttempts {
            let mark = try await current()
            if let mark, let before = mark[ReadPositions.sequence].int64Value, before >= sequence { return before }
            do {
                try await write(sequence, over: mark)
                return sequence
            } catch let error as PorticoError where [.preconditionFailed, .recordExists].contains(error.code) {
                continue
            }
        }
        throw PorticoError(.recordConflict, "The mark keeps moving; try again.", retryAfter: 1)
    }

    func unread() async throws -> WireValue {
        let mark = try await current()?[ReadPositions.sequence].int64Value ?? 0
        let filter = Filter.all([
            .compare(Messages.room, .equal, .string(room.text)), .compare(Messages.sequence, .greater, .int64(mark)),
            .compare(Messages.user, .notEqual, .string(call.caller)),
        ])
        let count = try await call.records.count(filter, in: Messages.entity.name)
        return ["room": .string(room.text), "seq": .int64(mark), "unread": .int64(Int64(count))]
    }

    private func current() async throws -> Record? {
        let query = Query(ReadPositions.filter(room: room, user: call.caller), limit: 1)
        return try await call.unrestricted.query(query, in: ReadPositions.entity.name).records.first
    }

    private func write(_ sequence: Int64, over mark: Record?) async throws {
        guard let mark else {
            try await call.unrestricted.create(
                ["room": .string(room.text), "user": .string(call.caller), "seq": .int64(sequence)],
                in: ReadPositions.entity.name)
            return
        }
        try await call.unrestricted.update(
            mark.id, ["seq": .int64(sequence)], in: ReadPositions.entity.name, if: .revision(mark.revision))
    }
}
