import AdapterKit

/// The configuration of rooms that another Twaddle server has too.
struct BridgeSettings: Sendable, Equatable {
    static let mostRooms = 100

    let rooms: [RecordID]
    let path: String
    /// The time between a look at the other server and the next one.
    let interval: Duration
    /// Messages of a room that wait for the other server at most.
    let pending: Int

    /// Nil without `upstream`. Throws ``ConfigurationProblem``.
    init?(_ configuration: AdapterConfiguration) throws {
        let names = (configuration["rooms"]?.arrayValue ?? []).compactMap(\.stringValue)
        guard configuration["upstream"] != nil else {
            guard names.isEmpty else {
                throw ConfigurationProblem("rooms", "These rooms are of another server, and no `upstream` says which.")
            }
            return nil
        }
        if let text = configuration["upstream"]?.stringValue, let name = UpstreamName(text),
            configuration.upstreamsOfCallers.contains(name)
        {
            throw ConfigurationProblem(
                "upstream",
                "The upstream \(name) is called in its callers' names, and messages are exchanged without a caller.")
        }
        guard !names.isEmpty, names.count <= Self.mostRooms, Set(names).count == names.count else {
            throw ConfigurationProblem(
                "rooms", "This names from 1 to \(Self.mostRooms) rooms of the upstream, each once.")
        }
        rooms = try names.map { name in
            guard let id = RecordID(name) else {
                throw ConfigurationProblem("rooms", "\(name) cannot be the id of a room.")
            }
            return id
        }
        path = configuration["path"]?.stringValue ?? "chat"
        interval = .seconds(configuration["refresh"]?.doubleValue ?? 1)
        pending = configuration["limits", "pending"]?.int64Value.map(Int.init(clamping:)) ?? 10_000
    }
}

/// The place up to which the messages of a room were exchanged with the same room of another server.
enum BridgedRooms {
    static let entity = Entity(
        "bridgedRooms", summary: "How far messages were exchanged with the other server.",
        key: EntityKey(room, chosenBy: .caller),
        fields: [
            Field(room, .string(maximumLength: 255), source: .callerOnCreate),
            Field(sent, .integer, isRequired: true, summary: "Up to which `seq` of ours the other server has it all."),
            Field(
                received, .integer, summary: "Up to which `seq` of the other server we have it all; none: nothing yet."),
            Field(
                last, .string(maximumLength: 255),
                summary: "The id there of the last message that was read; none: nothing yet."),
        ], exposure: .adapterOnly)

    static let room: FieldName = "room"
    static let sent: FieldName = "sent"
    static let received: FieldName = "received"
    static let last: FieldName = "last"
}

/// Messages that the other server has from us and that were not read back yet, by their ids there: they are not taken for
/// new ones, even where the message is gone here by then.
enum BridgedEchoes {
    static let entity = Entity(
        "bridgedEchoes", summary: "Messages that were sent to the other server, until they are read back.",
        key: EntityKey(id, chosenBy: .caller),
        fields: [
            Field(id, .string(maximumLength: 255), source: .callerOnCreate),
            Field(room, .string(maximumLength: 255), isRequired: true),
            Field(sequence, .integer, isRequired: true, summary: "Its place in the room there."),
        ],
        indexes: [Index([room, sequence])], exposure: .adapterOnly)

    static let id: FieldName = "id"
    static let room: FieldName = "room"
    static let sequence: FieldName = "seq"
}

/// Exchanges the messages of one room with the same room of another Twaddle server.
///
/// A message has one id in both. What is read under an id that is there already is the same message: one that was sent, that
/// came before, or that went around through further servers. So nothing loops. Where the other server gives ids of its own,
/// those of its answers are remembered until they are read back. Messages of the other server are the system's here, which
/// is how they differ from those that are to be sent.
///
/// Messages wait in the room itself: what is sent next is what comes after the last one that was.
struct ChatBridge: Sendable {
    private static let messagesAtOnce = 50
    /// Pages that are read backwards to find what was missed.
    private static let mostPages = 500
    private static let longestPause = Duration.seconds(60)
    /// Doublings of the pause after failures in a row, at most.
    private static let mostDoublings = 10
    /// A place before the first message of a room.
    private static let beforeAll: Int64 = -1
    /// Bytes of the longest id of the other server that is kept; none is longer here.
    private static let longestID = 255
    /// Bytes of the longest text, as ``ChatLimits/text`` says.
    private static let longestText = 16_384

    let room: RecordID
    let settings: BridgeSettings
    let client: TwaddleClient
    let context: AdapterContext

    private var records: any RecordStore { context.records }

    /// Until it is cancelled.
    func run() async {
        var failures = 0
        var state = Exchange()
        while !Task.isCancelled {
            do {
                try await exchange(&state)
                if failures > 0 { context.log.info("chat room is bridged again", ["room": .text(room.text)]) }
                failures = 0
            } catch {
                guard !Task.isCancelled else { return }
                failures += 1
                if failures == 1 { report("chat room is not bridged", "\(error)") }
                do { try await dropTooMany() } catch { report("waiting messages cannot be counted", "\(error)") }
            }
            let pause = settings.interval * (1 << min(failures, Self.mostDoublings))
            try? await Task.sleep(for: min(pause, max(Self.longestPause, settings.interval)))
        }
    }

    /// The state of an exchange, which is known while the process lives.
    private struct Exchange {
        var isPrepared = false
        /// The message that was posted last without an answer, where the other server may have it under an id of its own.
        var unanswered: (id: RecordID, sequence: Int64, text: String)?
    }

    private func exchange(_ state: inout Exchange) async throws {
        if !state.isPrepared {
            try await prepare()
            state.isPrepared = true
        }
        do {
            try await receive(&state)
        } catch let error as PorticoError where error.code == .recordNotFound {
            try await client.join(room)
            try await receive(&state)
        }
        try await send(&state)
    }

    /// The room, where it is not there; and the place from which on messages are sent. History is not.
    private func prepare() async throws {
        if try await records.record(room, in: Rooms.entity.name) == nil {
            try await records.create(["name": .string(room.text), "isPublic": true], id: room, in: Rooms.entity.name)
        }
        guard try await records.record(room, in: BridgedRooms.entity.name) == nil else { return }
        let latest = try await records.query(
            Query(inRoom, order: [SortKey(Messages.sequence, descending: true)], limit: 1), in: Messages.entity.name)
        let sent = latest.records.first?[Messages.sequence].int64Value ?? 0
        try await records.create(
            [BridgedRooms.room.text: .string(room.text), BridgedRooms.sent.text: .int64(sent)],
            in: BridgedRooms.entity.name)
    }

    private var inRoom: Filter { .compare(Messages.room, .equal, .string(room.text)) }

    private func position(_ field: FieldName) async throws -> Int64? {
        try await records.record(room, in: BridgedRooms.entity.name)?[field].int64Value
    }

    /// The id there of the last message that was read; nil: none.
    private func lastID() async throws -> String? {
        let id = try await records.record(room, in: BridgedRooms.entity.name)?[BridgedRooms.last].stringValue
        return id.flatMap { $0.isEmpty ? nil : $0 }
    }

    private func move(_ field: FieldName, to sequence: Int64) -> RecordChange {
        RecordChange(BridgedRooms.entity.name, .update(room, [field.text: .int64(sequence)]))
    }

    /// All messages of the other server up to this one have been read.
    private func moveReceived(to message: TwaddleClient.Message) -> RecordChange {
        let id = message.id.unicodeScalars.count <= Self.longestID ? message.id : ""
        return RecordChange(
            BridgedRooms.entity.name,
            .update(
                room, [BridgedRooms.received.text: .int64(message.sequence), BridgedRooms.last.text: .string(id)]))
    }

    private func report(_ message: StaticString, _ detail: String) {
        context.log.warning(
            message,
            ["room": .text(room.text), "upstream": .text(client.upstream.name.text), "detail": .text(detail)])
    }
}

// MARK: From the other server

extension ChatBridge {
    private func receive(_ state: inout Exchange) async throws {
        let known = try await position(BridgedRooms.received)
        let latest = try await client.messages(in: room)
        guard let newestMessage = latest.last else {
            // Whatever comes now is new, however much it is by the next look.
            if known == nil { _ = try await records.apply([move(BridgedRooms.received, to: Self.beforeAll)]) }
            return
        }
        guard let known else { return try await take(latest, &state) }
        let newest = newestMessage.sequence
        if newest < known {
            // The last message has another number now; what follows it is new.
            if let last = try await lastID(), let index = latest.firstIndex(where: { $0.id == last }) {
                return try await take(Array(latest[index...]), &state)
            }
            // Its numbers begin anew, or the newest message was removed.
            _ = try await records.apply([moveReceived(to: newestMessage)])
            return
        }
        guard newest > known else { return }
        // The pages that were missed, by where they end, the newest first; the oldest is at hand.
        var ends = [newest]
        var page = latest
        while let oldest = page.first?.sequence, oldest > known, ends.count < Self.mostPages {
            let before = try await client.messages(in: room, before: oldest)
            // No further history, or a server that knows no `before`.
            guard let end = before.last?.sequence, end < oldest else { break }
            ends.append(end)
            page = before
        }
        if ends.count == Self.mostPages { report("messages of the other server were missed", "there are too many") }
        var last = known
        for (index, end) in ends.enumerated().reversed() {
            if index < ends.count - 1 {
                page = index == 0 ? latest : try await client.messages(in: room, before: end.adding(1))
            }
            try await take(page.filter { $0.sequence > last }, &state)
            last = end
        }
    }

    /// Stores what is new of a page, and that it has been read, in one transaction.
    private func take(_ messages: [TwaddleClient.Message], _ state: inout Exchange) async throws {
        guard let last = messages.last else { return }
        var changes: [RecordChange] = []
        var seen: Set<RecordID> = []
        for message in messages {
            guard let id = RecordID(message.id), !message.text.isEmpty else {
                report("a message of the other server was left out", "its id or its text cannot be taken")
                continue
            }
            if try await records.record(id, in: BridgedEchoes.entity.name) != nil { continue }
            if let ours = state.unanswered, ours.text == message.text, ours.id != id {
                state.unanswered = nil
                changes.append(move(BridgedRooms.sent, to: ours.sequence))
                continue
            }
            guard seen.insert(id).inserted, try await records.record(id, in: Messages.entity.name) == nil else {
                continue
            }
            let text = Self.signed(message.text, by: message.user)
            changes.append(
                RecordChange(
                    Messages.entity.name,
                    .create(
                        id, [Messages.room.text: .string(room.text), Messages.text.text: .string(text)])))
        }
        // What was sent before this place has been read back.
        let query = Query(
            .all([
                .compare(BridgedEchoes.room, .equal, .string(room.text)),
                .compare(BridgedEchoes.sequence, .lessOrEqual, .int64(last.sequence)),
            ]), limit: Query.maximumLimit)
        changes += try await records.query(query, in: BridgedEchoes.entity.name).records.map {
            RecordChange(BridgedEchoes.entity.name, .delete($0.id))
        }
        _ = try await records.apply(changes + [moveReceived(to: last)])
    }

    /// The author's name stands before the text: an account of one server is none of the other.
    static func signed(_ text: String, by author: String) -> String {
        let signed = author.isEmpty ? text : "\(author): \(text)"
        guard signed.unicodeScalars.count > longestText else { return signed }
        return String(String.UnicodeScalarView(signed.unicodeScalars.prefix(longestText)))
    }
}

// MARK: To the other server

extension ChatBridge {
    /// The messages that wait: after the place up to which all was sent, without what came from the other server.
    private func waiting(after sequence: Int64) -> Filter {
        .all([inRoom, .compare(Messages.sequence, .greater, .int64(sequence))])
    }

    private func send(_ state: inout Exchange) async throws {
        while !Task.isCancelled, let sent = try await position(BridgedRooms.sent) {
            let page = try await records.query(
                Query(waiting(after: sent), order: [SortKey(Messages.sequence)], limit: Self.messagesAtOnce),
                in: Messages.entity.name
            ).records
            for message in page { try await send(message, &state) }
            guard page.count == Self.messagesAtOnce else { return }
        }
    }

    private func send(_ message: Record, _ state: inout Exchange) async throws {
        guard let sequence = message[Messages.sequence].int64Value else { return }
        let author = message[Messages.user].stringValue ?? ""
        var changes = [move(BridgedRooms.sent, to: sequence)]
        if author != Principal.system.name {
            let text = Self.signed(message[Messages.text].stringValue ?? "", by: author)
            state.unanswered = (message.id, sequence, text)
            let posting = try await client.post(text, as: message.id, in: room)
            state.unanswered = nil
            switch posting {
            case .stored(let stored):
                if let stored, let id = RecordID(stored.id) {
                    let echo: WireDictionary = [
                        BridgedEchoes.id.text: .string(id.text), BridgedEchoes.room.text: .string(room.text),
                        BridgedEchoes.sequence.text: .int64(stored.sequence),
                    ]
                    changes.append(RecordChange(BridgedEchoes.entity.name, .replace(id, echo, orCreate: true)))
                }
            case .refused(let status):
                report("a message was refused by the other server", "it answered \(status)")
            }
        }
        _ = try await records.apply(changes)
    }

    /// Drops the oldest of more than ``BridgeSettings/pending`` messages: they are not sent any more.
    private func dropTooMany() async throws {
        guard let sent = try await position(BridgedRooms.sent) else { return }
        let count = try await records.count(waiting(after: sent), in: Messages.entity.name)
        guard count > settings.pending else { return }
        let query = Query(
            waiting(after: sent), order: [SortKey(Messages.sequence)],
            limit: min(count - settings.pending, Query.maximumLimit))
        guard let last = try await records.query(query, in: Messages.entity.name).records.last,
            let sequence = last[Messages.sequence].int64Value
        else { return }
        _ = try await records.apply([move(BridgedRooms.sent, to: sequence)])
        report("messages wait for too long and are not sent", "there are more than \(settings.pending)")
    }
}

extension Int64 {
    /// The next number, or the largest one.
    fileprivate func adding(_ other: Int64) -> Int64 {
        let (sum, overflow) = addingReportingOverflow(other)
        return overflow ? .max : sum
    }
}
