import AdapterKit
import RecordStorage
import Testing

@testable import SQLiteStore

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
        #expect(plan == ["SEARCH t0 USING INDEX tests/things:name (name>? AND name<?)"])
    }

    @Test(arguments: [false, true])
    func `a page by an indexed field and the key is one range, wherever it begins`(isDescending: Bool) async throws {
        let cursor = Cursor(values: ["d", "x"])
        let query = Query(order: [SortKey("division", descending: isDescending)], start: .after(cursor))
        let plan = try await plan(query)
        #expect(plan.count == 1 && plan[0].hasPrefix("SEARCH t0 USING INDEX tests/things:division"))
    }

    @Test func `the rows of one division need no sorting`() async throws {
        let filter = Filter.compare("division", .equal, "d")
        let plan = try await plan(Query(filter, order: [SortKey("division", descending: true)]))
        #expect(plan == ["SEARCH t0 USING INDEX tests/things:division (division=?)"])
    }

    @Test func `an element of a list is found by its index`() async throws {
        let plan = try await plan(Query(.listContains("tags", "t")))
        #expect(plan.contains { $0.contains("SEARCH tests/things~tags USING PRIMARY KEY (value=?)") })
        #expect(!plan.contains { $0.hasPrefix("SCAN") && !$0.contains("INDEX") })
    }

    @Test func `a search that all rows meet begins with what it finds`()
        async throws
    {
        try await installSearch()
        let division = Filter.compare("division", .equal, "d")
        let plan = try await plan(Query(.all([division, .search(words: ["ab"])]), countsAll: true))
        #expect(plan.first?.hasPrefix("SCAN tests/things~search VIRTUAL TABLE") == true)
        #expect(plan.dropFirst().first == "SEARCH t0 USING INTEGER PRIMARY KEY (rowid=?)")
    }

    /// By few and many rows, pages within and beyond them, and filters in which the search stands in every place.
    @Test func `a page has the total that a count finds, wherever it begins and ends`() async throws {
        let records = try await installSearch()
        let count = 3 * PageCompiler.readAhead
        _ = try await records.apply(
            (0..<count).map { number in
                RecordChange(
                    "things",
                    .create(
                        RecordID("\(1_000 + number)"),
                        [
                            "division": .string(number % 3 == 0 ? "c" : "d"),
                            "name": .string(number % 7 == 0 ? "few many" : "many"),
                        ]))
            })
        let (few, many) = (Filter.search(words: ["few"]), Filter.search(words: ["man"]))
        let division = Filter.compare("division", .equal, "c")
        let filters: [Filter?] = [
            nil, few, many, division, .all([few, division]), .all([.all([division]), .all([many])]),
            .any([few, division]), .not(many), .all([many, few]), .search(words: ["none"]),
        ]
        for filter in filters {
            let all = try await records.query(Query(filter, limit: count), in: "things").records
            let total = try await records.count(filter, in: "things")
            #expect(all.count == total)
            for offset in [0, 1, 9, 43, 100, 101, 199, 200, 250, count - 1, count, count + 1] {
                for limit in [0, 1, 10, 100, count] {
                    let query = Query(filter, limit: limit, start: .offset(offset), countsAll: true)
                    let page = try await records.query(query, in: "things")
                    #expect(page.records == Array(all.dropFirst(offset).prefix(limit)))
                    #expect(page.total == total)
                    #expect((page.next == nil) == (limit == 0 || offset + limit >= total))
                }
            }
        }
    }

    @discardableResult
    private func installSearch() async throws -> AdapterRecords {
        try await Things.install(
            Things.declaration(
                [
                    Field("division", .string, isRequired: true), Field("name", .string),
                    Field("tags", .list(of: .string)),
                ],
                indexes: [Index(["division"]), Index(["name"])], search: ["name"]), in: store)
    }

    private func plan(_ query: Query) async throws -> [String] {
        try await store.plan(of: query, in: Things.id)
    }
}
