import AdapterKit
import RecordStorage
import Testing

@testable import SQLiteStore

/// Functions that look at much within one call, which is one instruction to SQLite.
@Suite(.timeLimit(.minutes(5))) struct FunctionWorkTests {
    private let directory: TemporaryDirectory

    init() throws {
        directory = try TemporaryDirectory()
    }

    private func asking(_ expression: RowExpression, _ records: AdapterRecords) async throws -> WireValue? {
        try await records.withReadSnapshot { try $0.rows(Relation(.one, columns: [expression]))[0][0] }
    }

    private func opened() async throws -> (SQLiteStore, AdapterRecords) {
        let store = try directory.store()
        return (store, try await Things.install(Things.declaration([Field("name", .string)]), in: store))
    }

    @Test func `a search through a long text leaves its caller's thread`() async throws {
        let (store, records) = try await opened()
        let before = store.figures.longReads
        func contains(_ bytes: Int) -> RowExpression {
            .call(.contains, [.value(.string(String(repeating: "a", count: bytes))), .value("ab")])
        }
        #expect(try await asking(contains(1_000), records) == false)
        #expect(store.figures.longReads == before)
        #expect(try await asking(contains(FunctionWork.quickBytes + 1), records) == false)
        #expect(store.figures.longReads == before + 1)
        // What one read has done is not the next one's.
        for _ in 0..<3 { #expect(try await asking(contains(FunctionWork.quickBytes / 2), records) == false) }
        #expect(store.figures.longReads == before + 1)
        await store.close()
    }

    @Test func `many searches through texts of some length leave it too`() async throws {
        let (store, records) = try await opened()
        let text = String(repeating: "a", count: 10_000)
        _ = try await records.apply(
            (0..<10).map { RecordChange("things", .create(nil, ["name": .string("\(text)\($0)")])) })
        let before = store.figures.longReads
        let filter = Filter.any((0..<100).map { .containsText("name", "b\($0)") } + [.containsText("name", "a7")])
        #expect(try await records.count(filter, in: "things") == 1)
        #expect(store.figures.longReads == before + 1)
        await store.close()
    }

    @Test(.timeLimit(.minutes(5))) func `a pattern is given up with its read`() async throws {
        let (store, records) = try await opened()
        let text = String(repeating: "a", count: 1 << 18)
        let read = Task {
            try await asking(
                .call(.matches, [.value(.string(text)), .value("(a{1000}){3}x")]), records)
        }
        try await Task.sleep(for: .milliseconds(500))
        read.cancel()
        await #expect(throws: CancellationError.self) { try await read.value }
        await store.close()
    }

    @Test func `a transaction that writes is not broken off`() async throws {
        let (store, records) = try await opened()
        let text = String(repeating: "a", count: 1 << 20)
        for _ in 0...(FunctionWork.quickBytes / text.utf8.count) {
            _ = try await records.apply([RecordChange("things", .create(nil, ["name": .string(text)]))])
        }
        let count = try await store.transact(weight: 1) { transaction in
            try transaction.count(.containsText("name", "ab"), in: Things.id)
        }
        #expect(count == 0)
        await store.close()
    }

    @Test func `lists and polygons are counted`() async throws {
        let (store, records) = try await opened()
        let before = store.figures.longReads
        let list = WireValue.array((0..<1_500).map { .int64($0) })
        let reversed = WireValue.array((0..<1_500).reversed().map { .int64($0) })
        #expect(try await asking(.call(.hasSubset, [.value(list), .value(reversed)]), records) == true)
        func ring(_ offset: Double) -> RowExpression {
            let corners = (0...400).map {
                WireValue.array([.double(offset + Double($0 % 400) / 400), .double(Double($0 % 400))])
            }
            return .value(["type": "Polygon", "coordinates": .array([.array(corners)])])
        }
        #expect(try await asking(.call(.intersects, [ring(0), ring(5)]), records) == false)
        #expect(store.figures.longReads == before + 2)
        await store.close()
    }
}
