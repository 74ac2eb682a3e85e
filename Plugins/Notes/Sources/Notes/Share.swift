import AdapterKit

/// Lets more accounts read a note.
///
/// An operation of its own, because with `PATCH` a client has to send the whole list: two devices that share at the
/// same time would undo each other. Here each adds its names to what is there.
struct Share {
    /// How many accounts may read one note beside its owner.
    static let maximumReaders = 100
    /// How often the note is read again when another request changed it in between.
    static let maximumAttempts = 5

    static let operation = Operation(
        "share", summary: "Lets more accounts read a note.", effect: .writes, isIdempotent: true,
        input: ObjectShape(
            "Share",
            members: [
                Member("id", .string(maximumLength: 255), isRequired: true, summary: "The note; the caller's own."),
                Member("with", .list(of: Note.accountName), isRequired: true, summary: "Names of accounts."),
            ]),
        output: .object(
            ObjectShape(
                "Shared",
                members: [
                    Member("id", .string, isRequired: true),
                    Member(
                        "sharedWith", .list(of: Note.accountName), isRequired: true,
                        summary: "All that may read it now."),
                ])))

    let id: RecordID
    let names: [String]

    init(_ call: Call) throws {
        guard let id = call["id"].stringValue.flatMap({ RecordID($0) }) else {
            throw PorticoError(.requestInvalid, "That is no id of a note.", target: "id")
        }
        self.id = id
        names = (call["with"].arrayValue ?? []).compactMap(\.stringValue)
    }

    /// The store sees to it that the caller can see the note and owns it: `records` has the caller's eyes and hands.
    func run(on records: any RecordStore) async throws -> WireValue {
        for _ in 0..<Self.maximumAttempts {
            guard let note = try await records.record(id, in: Note.entityName) else {
                throw PorticoError(.recordNotFound, "There is no such note.", target: "id")
            }
            let readers = try readers(of: note)
            if let shared = try await write(readers, to: note, on: records) { return answer(shared) }
        }
        throw PorticoError(.recordConflict, "The note keeps changing; try again.", retryAfter: 1)
    }

    /// Those who may read it already, in their order, then the new ones.
    private func readers(of note: Record) throws -> [WireValue] {
        var readers = note[Note.Fields.sharedWith].arrayValue ?? []
        for name in names.map(WireValue.string) where name != note[Note.Fields.owner] && !readers.contains(name) {
            readers.append(name)
        }
        guard readers.count <= Self.maximumReaders else {
            throw PorticoError(
                .requestLimitExceeded, "A note is shared with at most \(Self.maximumReaders) accounts.",
                target: "with")
        }
        return readers
    }

    /// Nil where the note changed since it was read. Writes even where no name is new: only so the store tells whether
    /// the caller may.
    private func write(_ readers: [WireValue], to note: Record, on records: any RecordStore) async throws -> Record? {
        do {
            return try await records.update(
                note.id, [Note.Fields.sharedWith.text: .array(readers)], in: Note.entityName,
                if: .revision(note.revision))
        } catch let error as PorticoError where error.code == .preconditionFailed {
            return nil
        }
    }

    private func answer(_ note: Record) -> WireValue {
        ["id": .string(note.id.text), "sharedWith": note[Note.Fields.sharedWith]]
    }
}
