import AdapterKit
import RecordStorage
import SQLiteStore
import Testing

@Suite struct CapacityTests {
    private let directory: TemporaryDirectory

    init() throws {
        directory = try TemporaryDirectory()
    }

    @Test func `a full store refuses writes, goes on reading, and writes again when there is room`() async throws {
        let store = try directory.store(maximumPages: 100)
        let records = try await Things.install(Things.declaration([Field("text", .string)]), in: store)
        let text = WireValue.string(String(repeating: "x", count: 4000))
        var written = 0
        let error = await #expect(throws: PorticoError.self) {
            for _ in 0..<1000 {
                try await records.create(["text": text], in: "things")
                written += 1
            }
        }
        #expect(error?.code == .storeFull)
        let page = try await records.query(Query(), in: "things")
        #expect(page.records.count == written && written > 10)
        #expect(store.position == page.records.map(\.revision).max())
        for record in page.records.prefix(10) { try await records.delete(record.id, in: "things") }
        try await records.create(["text": text], in: "things")
        await store.close()
    }

    @Test func `a full store is a problem until a write that looks for room succeeds`() async throws {
        let store = try directory.store(maximumPages: 300)
        let records = try await Things.install(Things.declaration([Field("text", .string)]), in: store)
        let text = WireValue.string(String(repeating: "x", count: 200_000))
        var written: [RecordID] = []
        let error = await #expect(throws: PorticoError.self) {
            while written.count < 1000 { written.append(try await records.create(["text": text], in: "things").id) }
        }
        #expect(error?.code == .storeFull && store.problem == .full)
        #expect(await store.probe() == .full)
        // A small write finds room; one as large as the probe's would not.
        try await records.create(["id": "small"], in: "things")
        #expect(await store.probe() == .full)
        for id in written { #expect(try await records.record(id, in: "things") != nil) }
        for id in written { try await records.delete(id, in: "things") }
        #expect(await store.probe() == nil)
        try await records.create(["text": text], in: "things")
        await store.close()
    }

    @Test func `of transactions that wait together only those without room are refused`() async throws {
        let store = try directory.store(maximumPages: 200)
        let records = try await Things.install(Things.declaration([Field("text", .string)]), in: store)
        let outcomes = await withTaskGroup { group in
            for number in 0..<60 {
                // Every third one is larger than the store.
                let length = number % 3 == 0 ? 1_000_000 : 100
                group.addTask {
                    do {
                        try await records.create(
                            ["text": .string(String(repeating: "x", count: length))], in: "things")
                        return length < 1000
                    } catch {
                        return length > 1000 && (error as? PorticoError)?.code == .storeFull
                    }
                }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(outcomes.allSatisfy { $0 })
        #expect(try await records.count(nil, in: "things") == 40)
        #expect(try await store.changes(after: Revision(0), limit: 100).count == 40)
        await store.close()
    }
}
