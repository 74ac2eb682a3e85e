import AdapterKit
import AdapterTesting
import Testing

struct RowRuleTests {
    private let notes: MemoryRecords

    init() throws {
        notes = try MemoryRecords(Declared.adapter())
    }

    private func idsSeen(by name: String) async throws -> [String] {
        try await notes.seen(by: name).query(Query(), in: "notes").records.map(\.id.text)
    }

    @Test func `One sees one's own notes and those shared with one`() async throws {
        try await notes.seen(by: "alice").create(["title": "mine"], id: "a", in: "notes")
        try await notes.seen(by: "bob").create(["title": "ours", "sharedWith": ["alice"]], id: "b", in: "notes")
        try await notes.seen(by: "bob").create(["title": "his"], id: "c", in: "notes")
        #expect(try await idsSeen(by: "alice") == ["a", "b"])
        #expect(try await idsSeen(by: "bob") == ["b", "c"])
        #expect(try await idsSeen(by: "carol") == [])
    }

    @Test func `A name that merely begins like one's own is not one's own`() async throws {
        try await notes.seen(by: "alice").create(["title": "x", "sharedWith": ["bobby"]], id: "a", in: "notes")
        #expect(try await idsSeen(by: "bob") == [])
    }

    @Test func `An account that a note is shared with may read it and not write it`() async throws {
        try await notes.seen(by: "alice").create(["title": "x", "sharedWith": ["bob"]], id: "a", in: "notes")
        let failure = await #expect(throws: PorticoError.self) {
            try await notes.seen(by: "bob").update("a", ["title": "y"], in: "notes")
        }
        #expect(failure?.code == .accessDenied)
    }

    @Test func `A caller that is not logged in sees no note`() async throws {
        try await notes.seen(by: "alice").create(["title": "x", "sharedWith": ["bob"]], id: "a", in: "notes")
        #expect(try await idsSeen(by: Principal.anonymous.name) == [])
    }
}
