import ValueTree

/// The chat: rooms and messages that are there without a network, messages that are sent when there is one, and what
/// happens live.
///
///     let chat = try await portico.chat()
///     try await chat.post("On my way", in: room.id)
///     for try await messages in chat.observeMessages(in: room.id) { show(messages) }
///
/// Rooms, messages and what is unread are read from the device. A message, an edit and a removal are durable when their
/// calls return; the server makes each once, however often it is sent, and what it will not make is in ``problems()``.
/// Anyone who is removed from a room loses its messages with the next sync. The other functions ask the server and throw
/// ``ClientError`` where it cannot be reached.
public struct ChatClient: Sendable {
    let replica: Replica
    let session: Session
    /// The account name of this device.
    public let user: String
    let ids: MessageIDs
    let marks: ReadMarks

    /// - Parameters:
    ///   - replica: of the same account; ``Portico/chat()`` puts both together.
    ///   - user: the account's name.
    public init(replica: Replica, session: Session, user: String) {
        self.init(replica: replica, session: session, user: user, ids: MessageIDs())
    }

    init(replica: Replica, session: Session, user: String, ids: MessageIDs) {
        (self.replica, self.session, self.user, self.ids) = (replica, session, user, ids)
        marks = ReadMarks(replica)
    }
}

extension Portico {
    /// The chat of ``account``.
    ///
    /// - Throws: ``ClientError/notSignedIn``.
    public func chat() throws -> ChatClient {
        guard let account else { throw ClientError.notSignedIn }
        return ChatClient(replica: try replica(), session: session, user: account.name)
    }
}

// MARK: - Reading, without a network

extension ChatClient {
    /// The rooms that one is in, by name.
    public func rooms() async throws -> [ChatRoom] {
        try await replica.records(RecordQuery(ChatRecords.rooms, order: [.ascending("name")])).map { try ChatRoom($0) }
    }

    /// Nil: one is not in it, or it was not synced yet.
    public func room(_ id: String) async throws -> ChatRoom? {
        try await replica.record(id, in: ChatRecords.rooms).map { try ChatRoom($0) }
    }

    /// The account's rooms, now and after every change.
    public func observeRooms() -> Observation<[ChatRoom]> {
        replica.observing(ChatRecords.rooms) { try await rooms() }
    }

    /// A page of a room's messages, oldest first: the latest with those that wait to be sent at its end, or those before
    /// one of them.
    public func messages(in room: String, before: ChatMessage? = nil, limit: Int = 50) async throws -> [ChatMessage] {
        let posted = ChatRecords.posted(in: room, before: before?.sequence, limit: limit)
        var found = try await Array(replica.records(posted).reversed())
        if before == nil { found += try await replica.records(ChatRecords.unposted(in: room)) }
        return try found.map { try ChatMessage($0, author: user) }
    }

    /// The message of that id; nil where the device does not have it.
    public func message(_ id: String) async throws -> ChatMessage? {
        try await replica.record(id, in: ChatRecords.messages).map { try ChatMessage($0, author: user) }
    }

    /// The latest messages of a room, and again whenever they are others.
    public func observeMessages(in room: String, limit: Int = 50) -> Observation<[ChatMessage]> {
        replica.observing(ChatRecords.messages) { try await messages(in: room, limit: limit) }
    }

    /// The bytes of an attachment: from the device, else from the server.
    public func attachment(_ digest: String) async throws -> [UInt8] {
        try await replica.attachment(digest)
    }
}

// MARK: - Writing, with or without a network

extension ChatClient {
    /// Posts a message: it is durable and shown when this returns, and is sent when that is possible.
    ///
    /// - Parameter attachments: the bytes of up to 20, uploaded before the message.
    /// - Returns: the message's id.
    /// - Throws: ``ClientError``: `outboxFull`, `storage`, `closed`, and where an attachment is too large.
    @discardableResult
    public func post(_ text: String, in room: String, attachments: [[UInt8]] = []) async throws -> String {
        var fields: WireDictionary = ["room": .string(room), "text": .string(text)]
        if !attachments.isEmpty {
            var digests: [WireValue] = []
            for bytes in attachments { digests.append(.string(try await replica.attach(bytes))) }
            fields["attachments"] = .array(digests)
        }
        return try await replica.create(in: ChatRecords.messages, fields, id: ids.next())
    }

    /// Changes the text of a message of one's own, also of one that was not sent yet.
    public func edit(_ message: String, text: String) async throws {
        try await replica.update(message, in: ChatRecords.messages, ["text": .string(text)])
    }

    /// Removes a message of one's own; one that was not sent yet is never sent.
    public func delete(_ message: String) async throws {
        try await replica.delete(message, in: ChatRecords.messages)
    }
}

/// Rooms and people, asked of the server. What changes in rooms is on the device after the next sync.
extension ChatClient {
    /// Makes a room; its first member is oneself.
    ///
    /// - Parameters:
    ///   - members: account names of the others.
    ///   - isPublic: whether everyone may join.
    public func createRoom(
        named name: String, with members: [String] = [], isPublic: Bool = false
    ) async throws -> ChatRoom {
        let body: WireValue = [
            "name": .string(name), "members": .array(members.map(WireValue.string)), "isPublic": .bool(isPublic),
            "id": .string(ids.next()),
        ]
        return try ChatRoom(try await ask("POST", ["rooms"], body)["room"] ?? .null)
    }

    /// Rooms that everyone may join, by name.
    ///
    /// - Parameters:
    ///   - name: those whose names come after this one.
    ///   - room: the id of the room of that name with which the page before ended; others of its name come too.
    public func publicRooms(
        after name: String? = nil, _ room: String? = nil, limit: Int = 50
    ) async throws -> [ChatRoom] {
        var query = [(name: "limit", value: String(limit))]
        if let name { query.append((name: "after", value: name)) }
        if let room { query.append((name: "afterRoom", value: room)) }
        let answer = try await session.value(of: ServerCall(path: ["chat", "v1", "public-rooms"], query: query))
        return try (answer["rooms"]?.arrayValue ?? []).map { try ChatRoom($0) }
    }

    /// - Throws: ``ClientError``: `refused` with `record.notFound` where there is no such public room.
    public func join(_ room: String) async throws -> ChatRoom {
        try ChatRoom(try await ask("POST", ["rooms", room, "join"], [:])["room"] ?? .null)
    }

    /// Ends the account's membership in the room.
    public func leave(_ room: String) async throws {
        _ = try await ask("POST", ["rooms", room, "leave"], [:])
    }

    /// Account names.
    public func members(of room: String) async throws -> [String] {
        Self.names(try await ask("GET", ["rooms", room, "members"])["members"])
    }

    /// - Returns: all members now.
    @discardableResult
    public func invite(_ member: String, to room: String) async throws -> [String] {
        Self.names(try await ask("PUT", ["rooms", room, "members", member], [:])["members"])
    }

    /// Ends an account's membership; the owner's right.
    ///
    /// - Parameter isForGood: whether they may not come back.
    @discardableResult
    public func remove(_ member: String, from room: String, isForGood: Bool = false) async throws -> [String] {
        let path = ["rooms", room, isForGood ? "bans" : "members", member]
        return Self.names(try await ask(isForGood ? "PUT" : "DELETE", path, isForGood ? [:] : nil)["members"])
    }

    /// Sets the time for which a room keeps its messages; nil: for ever. The owner's right.
    public func setRetention(_ time: Duration?, of room: String) async throws {
        let seconds = time?.components.seconds ?? 0
        _ = try await ask("PUT", ["rooms", room, "retention"], ["seconds": .int64(seconds)])
    }

    /// Everyone who can be talked to, without oneself.
    public func people(after name: String? = nil, limit: Int = 1000) async throws -> [ChatPerson] {
        var query = [(name: "limit", value: String(limit))]
        if let name { query.append((name: "after", value: name)) }
        let answer = try await session.value(of: ServerCall(path: ["chat", "v1", "users"], query: query))
        return (answer["users"]?.arrayValue ?? []).compactMap { person in
            guard let id = person["id"]?.stringValue else { return nil }
            return ChatPerson(id: id, name: person["name"]?.stringValue ?? id)
        }
    }

    /// Messages in one's rooms that hold every word, the latest first.
    public func search(_ words: String, in room: String? = nil, limit: Int = 50) async throws -> [ChatMessage] {
        var query = [(name: "words", value: words), (name: "limit", value: String(limit))]
        if let room { query.append((name: "room", value: room)) }
        let answer = try await session.value(of: ServerCall(path: ["chat", "v1", "search"], query: query))
        return try (answer["messages"]?.arrayValue ?? []).map { try ChatMessage($0) }
    }
}

/// Calls about what is true for a moment, and about where pushes go.
extension ChatClient {
    /// Tells the others in a room that one is typing; say it again every few seconds.
    public func typing(in room: String) async throws {
        _ = try await ask("POST", ["rooms", room, "typing"], [:])
    }

    /// Members who are listening now.
    public func online(in room: String) async throws -> [String] {
        Self.names(try await ask("GET", ["rooms", room, "presence"])["online"])
    }

    /// Registers this device for pushes.
    ///
    /// - Parameter platform: `apns`, `webhook` or `log`.
    public func registerDevice(token: String, platform: String = "apns") async throws {
        _ = try await ask("POST", ["devices"], ["token": .string(token), "platform": .string(platform)])
    }

    /// Ends push notifications to that device.
    public func unregisterDevice(token: String) async throws {
        _ = try await ask("POST", ["devices", "unregister"], ["token": .string(token)])
    }

    private func ask(_ method: String, _ path: [String], _ body: WireValue? = nil) async throws -> WireValue {
        let call = ServerCall(method, path: ["chat", "v1"] + path, body: body.map { .value($0) })
        return try await session.value(of: call)
    }

    private static func names(_ value: WireValue?) -> [String] {
        (value?.arrayValue ?? []).compactMap(\.stringValue)
    }
}

/// Counts of what is new. Counted on the device; how far one read on other devices is known once the server was asked.
extension ChatClient {
    /// For each room that one is in, by name.
    public func unread() async throws -> [ChatUnread] {
        let known = try await marks.all()
        var found: [ChatUnread] = []
        for room in try await rooms() {
            let mark = known[room.id]?.sequence ?? 0
            let count = try await replica.count(ChatRecords.unread(in: room.id, after: mark, by: user))
            found.append(ChatUnread(room: room.id, readUpTo: mark, count: count))
        }
        return found
    }

    /// The unread messages of every room, now and after every change.
    public func observeUnread() -> Observation<[ChatUnread]> {
        replica.observing(ChatRecords.messages) { try await unread() }
    }

    /// Marks a room as read up to a message: here at once, at the server when it can be reached. A mark that would move
    /// back is passed over, and so is a message that was not sent yet.
    ///
    /// - Throws: ``ClientError/storage(_:)``.
    public func markRead(upTo message: ChatMessage) async throws {
        guard let sequence = message.sequence else { return }
        guard try await marks.move(message.room, to: sequence, unsent: message.id) else { return }
        _ = try? await sendReadMarks()
    }

    /// Tells the server of marks that it does not know, and takes over those of other devices.
    public func refreshReadMarks() async throws {
        try await sendReadMarks()
        let sent = try await session.value(of: ServerCall(path: ["chat", "v1", "unread"]))
        for room in sent["rooms"]?.arrayValue ?? [] {
            guard let id = room["room"]?.stringValue, let sequence = room["seq"]?.int64Value else { continue }
            try await marks.move(id, to: sequence)
        }
    }

    private func sendReadMarks() async throws {
        for (room, mark) in try await marks.all() {
            guard let message = mark.unsent else { continue }
            let call = ServerCall(
                "POST", path: ["chat", "v1", "rooms", room, "read"], body: .value(["message": .string(message)]))
            do {
                _ = try await session.answer(to: call)
            } catch ClientError.refused(let refusal) where [400, 403, 404].contains(refusal.status) {
                // The message or the room is gone, and with it the mark's meaning.
            }
            try await marks.noteSent(room, message)
        }
    }
}
