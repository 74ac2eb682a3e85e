import AdapterKit
import RecordStorage
import SQLiteStore
import Testing

@Suite struct TableStatisticsTests {
    private static let fields = [Field("a", .integer), Field("b", .integer)]
    private static let filter = Filter.both(.compare("a", .equal, 1), .compare("b", .equal, 1))

    /// Two fields with an index each: of one, `few` different values, of the other as many as there are records.
    @Test(arguments: ["a", "b"] as [FieldName])
    func `a table that has grown is read by the index that finds few`(few: FieldName) async throws {
        let directory = try TemporaryDirectory()
        let store = try directory.store()
        let records = try await install(in: store)
        try await add(0..<600, few, to: records)
        let small = try await plan(store)
        try await add(600..<4_000, few, to: records)
        let many: FieldName = few == "a" ? "b" : "a"
        #expect(try await plan(store).contains("things:\(many)"), "before it was \(small)")
        #expect(try await records.count(Self.filter, in: "things") == 1)
    }

    @Test func `what was known of a table is known after the store was closed`() async throws {
        let directory = try TemporaryDirectory()
        for isNew in [true, false] {
            let store = try directory.store()
            let records = try await install(in: store)
            if isNew { try await add(0..<2_500, "b", to: records) }
            #expect(try await plan(store).contains("things:a"))
            await store.close()
        }
    }

    @Test func `an index that is added is known at once`() async throws {
        let directory = try TemporaryDirectory()
        let store = try directory.store()
        let without = try await Things.install(
            Things.declaration(Self.fields, indexes: [Index(["b"])]), in: store)
        try await add(0..<2_000, "b", to: without)
        _ = try await install(in: store)
        #expect(try await plan(store).contains("things:a"))
    }

    private func install(in store: SQLiteStore) async throws -> AdapterRecords {
        try await Things.install(
            Things.declaration(Self.fields, indexes: [Index(["a"]), Index(["b"])]), in: store)
    }

    private func add(_ range: Range<Int64>, _ few: FieldName, to records: AdapterRecords) async throws {
        let many = few == "a" ? "b" : "a"
        for first in stride(from: range.lowerBound, to: range.upperBound, by: 200) {
            let changes = (first..<min(first + 200, range.upperBound)).map { number in
                RecordChange(
                    "things",
                    .create(
                        RecordID("r\(number)"),
                        ["id": .string("r\(number)"), few.text: .int64(number % 3), many: .int64(number)]))
            }
            _ = try await records.apply(changes)
        }
    }

    private func plan(_ store: SQLiteStore) async throws -> String {
        try await store.plan(of: Query(Self.filter), in: Things.id).joined(separator: "\n")
    }
}
