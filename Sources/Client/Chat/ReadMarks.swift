import ValueTree

/// The place up to which one has read each room, as far as this device knows: from the server, or marked here and perhaps not sent
/// yet. A mark only moves forward. Durable beside the replica's records.
struct ReadMarks: Sendable {
    struct Mark: Equatable {
        var sequence: Int64
        /// The message that was marked here and that the server does not have yet; nil: it has.
        var unsent: String?
    }

    private static let name = "chat.marks"
    private let replica: Replica

    init(_ replica: Replica) {
        self.replica = replica
    }

    func all() async throws -> [String: Mark] {
        Self.read(try await replica.keptValue(Self.name))
    }

    /// Returns whether it moved.
    @discardableResult
    func move(_ room: String, to sequence: Int64, unsent message: String? = nil) async throws -> Bool {
        let moved = try await change { marks in
            guard sequence > marks[room]?.sequence ?? 0 else { return false }
            marks[room] = Mark(sequence: sequence, unsent: message)
            return true
        }
        // What is unread is shown beside messages.
        if moved { replica.noteChange(ChatRecords.messages) }
        return moved
    }

    func noteSent(_ room: String, _ message: String) async throws {
        _ = try await change { marks in
            guard marks[room]?.unsent == message else { return false }
            marks[room]?.unsent = nil
            return true
        }
    }

    private func change(_ body: @escaping @Sendable (inout [String: Mark]) -> Bool) async throws -> Bool {
        try await replica.keep(Self.name) { value in
            var marks = Self.read(value)
            guard body(&marks) else { return nil }
            return Self.value(marks)
        }
    }

    private static func read(_ value: WireValue?) -> [String: Mark] {
        let entries = value?.dictionaryValue?.entries ?? []
        let pairs = entries.map { entry in
            (entry.key, Mark(sequence: entry.value["seq"]?.int64Value ?? 0, unsent: entry.value["unsent"]?.stringValue))
        }
        return Dictionary(pairs, uniquingKeysWith: { first, _ in first })
    }

    private static func value(_ marks: [String: Mark]) -> WireValue {
        var value = WireDictionary()
        for (room, mark) in marks.sorted(by: { $0.key < $1.key }) {
            let unsent = mark.unsent.map(WireValue.string) ?? .null
            value[room] = ["seq": .int64(mark.sequence), "unsent": unsent]
        }
        return .dictionary(value)
    }
}
