import AdapterKit

/// How far one has read.
extension ChatFunction {
    static let markRead = ChatFunction(
        "markread", "Marks a room as read up to a message; the mark only moves forward.", .writes, isIdempotent: true,
        input: [Inputs.roomMember, Inputs.messageMember],
        output: [Member("seq", .integer, isRequired: true, summary: "The last message that was read.")],
        at: [.chat(.post, "/chat/v1/rooms/{room}/read")]
    ) { call in
        let room = try await call.room()
        guard let message = try await call.records.record(try call.id(Inputs.message), in: Messages.entity.name),
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
        for _ in 0..<Limits.maximumAttempts {
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
