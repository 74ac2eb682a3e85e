import ValueTree

/// The synced collections behind the chat, and how they are asked.
enum ChatRecords {
    static let rooms = "rooms"
    static let messages = "messages"

    /// Indexes for what is asked for again and again; they cost nothing where there is no chat.
    static let indexes: [String: [FieldIndex]] = [
        rooms: ["name"], messages: [["room", "seq"]],
    ]

    /// Messages that the server has, the latest first.
    static func posted(in room: String, before sequence: Int64?, limit: Int) -> RecordQuery {
        var conditions: [RecordQuery.Condition] = [.equals("room", .string(room)), .isGreater("seq", than: 0)]
        if let sequence { conditions.append(.isLess("seq", than: .int64(sequence))) }
        return RecordQuery(messages, where: conditions, order: [.descending("seq")], limit: limit)
    }

    /// Messages that the server does not have yet, in the order of writing, which is that of the ids (``MessageIDs``).
    static func unposted(in room: String) -> RecordQuery {
        RecordQuery(messages, where: [.equals("room", .string(room)), .isNull("seq")])
    }

    static func unread(in room: String, after sequence: Int64, by user: String) -> RecordQuery {
        RecordQuery(
            messages,
            where: [
                .equals("room", .string(room)), .isGreater("seq", than: .int64(sequence)),
                .differs("user", from: .string(user)),
            ])
    }
}
