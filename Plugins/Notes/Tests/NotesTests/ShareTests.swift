import AdapterKit
import AdapterTesting
import Notes
import Testing

struct ShareTests {
    private let notes: MemoryRecords

    init() throws {
        notes = try MemoryRecords(Declared.adapter())
    }

    private func share(
        _ id: String, with names: [WireValue], as caller: String, on records: (any RecordStore)? = nil
    ) async throws -> WireValue? {
        let call = Call(
            operation: "share", input: ["id": .string(id), "with": .array(names)],
            caller: Principal(kind: .user, id: caller, name: caller), requestID: "test",
            deadline: .now + .seconds(60), records: records ?? notes.seen(by: caller), log: .discarding)
        let answer = try await NotesModule.make(AdapterConfiguration()).handle(call)
        guard case .value(let value) = answer.content else { return nil }
        return value
    }

    private func codeOfSharing(
        _ id: String, with names: [WireValue], as caller: String, on records: (any RecordStore)? = nil
    ) async throws -> ErrorCode? {
        await #expect(throws: PorticoError.self) {
            _ = try await share(id, with: names, as: caller, on: records)
        }?.code
    }

    private func readers(_ id: RecordID) async throws -> WireValue? {
        try await notes.seen(by: "alice").record(id, in: "notes")?["sharedWith"]
    }

    private func writeNote(sharedWith names: [WireValue] = []) async throws {
        try await notes.seen(by: "alice").create(["title": "x", "sharedWith": .array(names)], id: "a", in: "notes")
    }

    @Test func `Sharing adds to those who may read the note already`() async throws {
        try await writeNote(sharedWith: ["bob"])
        #expect(try await share("a", with: ["carol"], as: "alice") == ["id": "a", "sharedWith": ["bob", "carol"]])
        #expect(try await notes.seen(by: "carol").record("a", in: "notes") != nil)
    }

    @Test func `Sharing twice is the same as once, and never with the owner`() async throws {
        try await writeNote()
        _ = try await share("a", with: ["bob", "alice", "bob"], as: "alice")
        _ = try await share("a", with: ["bob"], as: "alice")
        #expect(try await readers("a") == ["bob"])
    }

    @Test func `Only the owner shares`() async throws {
        try await writeNote(sharedWith: ["bob"])
        #expect(try await codeOfSharing("a", with: ["carol"], as: "bob") == .accessDenied)
        #expect(try await codeOfSharing("a", with: ["bob"], as: "bob") == .accessDenied)
        #expect(try await readers("a") == ["bob"])
    }

    @Test(arguments: ["a", "b"])
    func `A note that one may not see is as good as none`(id: String) async throws {
        try await writeNote()
        #expect(try await codeOfSharing(id, with: ["carol"], as: "carol") == .recordNotFound)
    }

    @Test func `Two who share at once both get their way`() async throws {
        try await writeNote()
        let other = notes.seen(by: "alice")
        let records = ChangedMeanwhile(other, times: 2) {
            let before = try await other.record("a", in: "notes")?["sharedWith"].arrayValue ?? []
            try await other.update("a", ["sharedWith": .array(before + [.string("other\(before.count)")])], in: "notes")
        }
        _ = try await share("a", with: ["bob"], as: "alice", on: records)
        #expect(try await readers("a") == ["other0", "other1", "bob"])
    }

    @Test func `A note that keeps changing ends in a conflict, not in a loop`() async throws {
        try await writeNote()
        let other = notes.seen(by: "alice")
        let records = ChangedMeanwhile(other, times: .max) {
            try await other.update("a", ["title": "y"], in: "notes")
        }
        #expect(try await codeOfSharing("a", with: ["bob"], as: "alice", on: records) == .recordConflict)
    }

    @Test func `A note is shared with at most a hundred`() async throws {
        try await writeNote()
        let names = (1...100).map { WireValue.string("user\($0)") }
        _ = try await share("a", with: names, as: "alice")
        #expect(try await codeOfSharing("a", with: ["bob"], as: "alice") == .requestLimitExceeded)
        #expect(try await readers("a")?.arrayValue?.count == 100)
    }

    @Test func `An operation that is not declared is refused`() async throws {
        let call = Call(
            operation: "burn", input: [:], caller: .anonymous, requestID: "test", deadline: .now + .seconds(60),
            records: notes.seen(by: "alice"), log: .discarding)
        let failure = await #expect(throws: PorticoError.self) {
            try await NotesModule.make(AdapterConfiguration()).handle(call)
        }
        #expect(failure?.code == .routeNotFound)
    }
}
