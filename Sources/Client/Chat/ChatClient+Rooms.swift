import ValueTree

/// Rooms and people, asked of the server. What changes in rooms is on the device after the next sync.
extension ChatClient {
    /// Makes a room; its first member is oneself.
    ///
    /// - Parameters:
    ///   - members: account names of the others.
    ///   - isPublic: whether everybody may join.
    public func createRoom(
        named name: String, with members: [String] = [], isPublic: Bool = false
    ) async throws -> ChatRoom {
        let body: WireValue = [
            "name": .string(name), "members": .array(members.map(WireValue.string)), "isPublic": .bool(isPublic),
            "id": .string(ids.next()),
        ]
        return try ChatRoom(try await ask("POST", ["rooms"], body)["room"] ?? .null)
    }

    /// Rooms that everybody may join, by name.
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

    /// Ends somebody's membership; the owner's right.
    ///
    /// - Parameter isForGood: whether they may not come back.
    @discardableResult
    public func remove(_ member: String, from room: String, isForGood: Bool = false) async throws -> [String] {
        let path = ["rooms", room, isForGood ? "bans" : "members", member]
        return Self.names(try await ask(isForGood ? "PUT" : "DELETE", path, isForGood ? [:] : nil)["members"])
    }

    /// How long a room keeps its messages; nil: for ever. The owner's right.
    public func setRetention(_ time: Duration?, of room: String) async throws {
        let seconds = time?.components.seconds ?? 0
        _ = try await ask("PUT", ["rooms", room, "retention"], ["seconds": .int64(seconds)])
    }

    /// Everybody who can be talked to, without oneself.
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

/// What is true for a moment, and where pushes go.
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
