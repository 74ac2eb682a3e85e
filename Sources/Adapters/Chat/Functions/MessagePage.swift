import AdapterKit

/// Which messages of a room a call asks for.
struct MessagePage {
    private let before: Int64?
    private let after: Int64?
    private let limit: Int

    init(_ call: ChatCall) {
        before = call["before"].int64Value
        after = call["after"].int64Value
        limit = call.limit(Limits.usualPage)
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
struct Posting {
    private let call: ChatCall
    private let room: Record

    init(_ call: ChatCall, in room: Record) {
        self.call = call
        self.room = room
    }

    func run() async throws -> Record {
        let attachments = call[Messages.attachments].arrayValue ?? []
        guard attachments.count <= Limits.attachments else {
            throw PorticoError(
                .requestLimitExceeded, "A message has at most \(Limits.attachments) attachments.",
                target: Messages.attachments.text)
        }
        let id = call.text("id") == nil ? nil : try call.id("id")
        do {
            return try await call.records.create(
                [
                    "room": .string(room.id.text), "text": call[Messages.text], "attachments": .array(attachments),
                ], id: id, in: Messages.entity.name)
        } catch let error as PorticoError where error.code == .recordExists {
            return try await posted(id, error)
        }
    }

    /// The message that an earlier attempt of the same caller posted; any other under that id is a mistake.
    private func posted(_ id: RecordID?, _ error: PorticoError) async throws -> Record {
        guard let id, let message = try await call.records.record(id, in: Messages.entity.name),
            message[Messages.user].stringValue == call.caller, message[Messages.room] == .string(room.id.text)
        else { throw error }
        return message
    }
}
