import AdapterKit
import RecordStorage
import SQLiteStore
import Testing

@Suite struct QueryPlanTests {
    private let store: SQLiteStore
    private let directory: TemporaryDirectory

    init() async throws {
        directory = try TemporaryDirectory()
        store = try directory.store()
        let required = Field("division", .string, isRequired: true)
        _ = try await Things.install(
            Things.declaration(
                [required, Field("name", .string), Field("tags", .list(of: .string))],
                indexes: [Index(["division"]), Index(["name"])]), in: store)
    }

    @Test func `a prefix is a range of its index`() async throws {
        let plan = try await plan(Query(.hasPrefix("name", "ab"), order: [SortKey("name")]))
        #expect(plan == ["SEARCH tests/things USING INDEX tests/things:name (name>? AND name<?)"])
    }

    @Test(arguments: [false, true])
    func `a page by an indexed field and the key is one range, wherever it begins`(isDescending: Bool) async throws {
        let cursor = Cursor(values: ["d", "x"])
        let query = Query(order: [SortKey("division", descending: isDescending)], start: .after(cursor))
        let plan = try await plan(query)
        #expect(plan.count == 1 && plan[0].hasPrefix("SEARCH tests/things USING INDEX tests/things:division"))
    }

    @Test func `the rows of one division need no sorting`() async throws {
        let filter = Filter.compare("division", .equal, "d")
        let plan = try await plan(Query(filter, order: [SortKey("division", descending: true)]))
        #expect(plan == ["SEARCH tests/things USING INDEX tests/things:division (division=?)"])
    }

    @Test func `an element of a list is found by its index`() async throws {
        let plan = try await plan(Query(.listContains("tags", "t")))
        #expect(plan.contains { $0.contains("SEARCH tests/things~tags USING PRIMARY KEY (value=?)") })
        #expect(!plan.contains { $0.hasPrefix("SCAN") && !$0.contains("INDEX") })
    }

    private func plan(_ query: Query) async throws -> [String] {
        try await store.plan(of: query, in: Things.id)
    }
}
