import ValueTree

/// What is new. Counted on the device; how far one read on other devices is known once the server was asked.
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
        let told = try await session.value(of: ServerCall(path: ["chat", "v1", "unread"]))
        for room in told["rooms"]?.arrayValue ?? [] {
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
            try await marks.sent(room, message)
        }
    }
}
