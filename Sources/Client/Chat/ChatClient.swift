import ValueTree

/// The chat: rooms and messages that are there without a network, messages that are sent when there is one, and what
/// happens live.
///
///     let chat = try await portico.chat()
///     try await chat.post("On my way", in: room.id)
///     for try await messages in chat.observeMessages(in: room.id) { show(messages) }
///
/// Rooms, messages and what is unread are read from the device. A message, an edit and a removal are durable when their
/// calls return; the server makes each once, however often it is told, and what it will not make is in ``problems()``.
/// Whoever is removed from a room loses its messages with the next sync. The other functions ask the server and throw
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
