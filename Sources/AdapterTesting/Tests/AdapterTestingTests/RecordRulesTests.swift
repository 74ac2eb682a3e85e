import AdapterKit
import AdapterTesting
import Testing

@Suite struct `Record rules` {
    private let memory: MemoryRecords
    private let mine: any RecordStore

    init() throws {
        memory = try MemoryRecords(Library.declare(AdapterConfiguration()))
        mine = memory.seen(by: .user("ann"))
    }

    private func refusal(_ body: () async throws -> Void) async -> ErrorCode? {
        do {
            try await body()
            return nil
        } catch {
            return (error as? PorticoError)?.code
        }
    }

    @Test func `what a caller sends for a field of the rules is not heard`() async throws {
        let made = try await mine.create(["id": "Emma", "changes": 77], in: "books")
        #expect(made["changes"] == 1)
        #expect(try await mine.update("Emma", ["changes": 77], in: "books")["changes"] == 2)
        #expect(try await memory.unrestricted.update("Emma", ["changes": 77], in: "books")["changes"] == 77)
    }

    @Test func `a transaction is refused whole, and may be in any order`() async throws {
        let book = RecordChange("books", .create(nil, ["id": "Emma", "shelf": "b"]))
        let shelf = RecordChange("shelves", .create(nil, ["id": "b"]))
        #expect(await refusal { _ = try await mine.apply([book]) } == .requestInvalid)
        #expect(try await mine.count(nil, in: "books") == 0)
        let receipt = try await mine.apply([book, shelf])
        #expect(receipt.records.count == 2)
    }

    @Test func `what the rules change on the way is changed with it`() async throws {
        try await memory.unrestricted.create(["id": "a"], in: "shelves")
        try await mine.create(["id": "Emma", "shelf": "a"], in: "books")
        try await mine.delete("a", in: "shelves")
        #expect(try await mine.record("Emma", in: "books")?["shelf"] == .null)
    }

    @Test func `who may read an entity is not who may write it`() async throws {
        try await mine.create(["id": "a"], in: "shelves")
        #expect(await refusal { _ = try await mine.count(nil, in: "shelves") } == .accessDenied)
        #expect(await refusal { _ = try await mine.record("a", in: "shelves") } == .accessDenied)
        #expect(try await memory.seen(by: .user("bob", roles: ["reader"])).count(nil, in: "shelves") == 1)
    }

    @Test(
        arguments: [
            (.vary, "the rules prepare a change of books differently each time"),
            (.turn, "the rules make another change of books"),
            (.throwOddly, "the rules throw what is not in the registry"),
            (.refuseSamples, "a sample of books breaks the adapter's rules"),
            (.absent, "books.changes is given by rules, of which there are none"),
        ] as [(Library.Fault, String)])
    func `the conformance suite finds a fault in them`(fault: Library.Fault, problem: String) async {
        await Library.Fault.$current.withValue(fault) {
            let found = await AdapterConformance(Library.self, examples: []).problems()
            #expect(found.contains { $0.contains(problem) }, "\(found)")
        }
    }

    @Test func `the conformance suite finds nothing in right ones`() async {
        #expect(await AdapterConformance(Library.self, examples: []).problems() == [])
    }
}
