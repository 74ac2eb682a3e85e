import AdapterKit
import ODataEngine
import ODataLanguage
import RecordStorage
import SQLiteStore
import Testing

@Suite struct ChangesTests {
    private static let queries = [
        "Students?$filter=Active and Height gt 0.5&$orderby=School/Name", "Students?$search=ann&$select=Name",
        "Students?$filter=SchoolID eq 1 or SchoolID eq 2&$expand=School,Friends($filter=Active;$expand=School)",
        "Schools?$expand=Students($filter=Height gt 1;$expand=Friends),Above($levels=2)",
        "Students?$filter=Marks/any(m:m gt 1) or Height eq 2&$compute=Height mul 2 as Twice",
    ]

    @Test(arguments: queries)
    func `a client that follows ten thousand changes has the result of a full read`(_ request: String) async throws {
        let school = try await School()
        var random = RandomSchool(school, seed: UInt64(request.utf8.count) &* 7919)
        let tracked = try #require(try school.tracked(request))
        var (follower, mark) = try await read(request, tracked, school, &random)
        var told = 0
        for _ in 0..<25 {
            try await random.change(390)
            var isComplete = false
            while !isComplete {
                let limit = 1 + random.below(200)
                let from = mark
                let page = try await school.records.withReadSnapshot {
                    try tracked.changes(since: from, limit: limit, at: $0)
                }
                follower.apply(page)
                told += page.changes.count
                mark = page.mark
                isComplete = page.isComplete
                // Changes come in between the pages as well.
                if !isComplete, random.below(10) == 0 { try await random.change(2) }
            }
            let all = try await school.page(request, pageSize: 10_000)
            #expect(follower == Follower(all.rows, all.shape))
        }
        #expect(told > 200)
    }

    /// Reads the result page by page while it changes; the mark is the first page's.
    private func read(
        _ request: String, _ tracked: TrackedQuery, _ school: School, _ random: inout RandomSchool
    ) async throws -> (Follower, ChangeCursor) {
        try await random.change(250)
        let mark = try await school.records.withReadSnapshot { try tracked.mark(at: $0) }
        var rows: [ResultRow] = []
        var token = ""
        while true {
            let page = try await school.page(request + token, pageSize: 5)
            rows += page.rows
            guard let next = page.next else { return (Follower(rows, page.shape), mark) }
            token = "&$skiptoken=\(next)"
            try await random.change(5)
        }
    }

    @Test func `a removal has its reason, and rows that the reader never saw are not reported`() async throws {
        let school = try await School()
        let tracked = try #require(try school.tracked("Students?$filter=Active"))
        let mark = try await school.records.withReadSnapshot { try tracked.mark(at: $0) }
        let entity = school.tables["Students"]!.entity
        _ = try await school.records.apply([
            RecordChange(entity, .delete("1")), RecordChange(entity, .update("4", ["Active": false])),
            RecordChange(entity, .update("2", ["Active": true])),
        ])
        let page = try await school.records.withReadSnapshot { try tracked.changes(since: mark, limit: 100, at: $0) }
        let words = page.changes.map { change in
            switch change {
            case .whole(let row): "put \(RecordID(key: row.value("ID", page.shape))?.text ?? "")"
            case .within: "within"
            case .gone(let id, let reason): "\(reason.rawValue) \(id)"
            }
        }
        #expect(words == ["deleted 1", "changed 4", "put 2"])
        let count = try await school.records.withReadSnapshot { try tracked.count(since: mark, limit: 1, at: $0) }
        #expect(count == 3)
    }

    @Test(arguments: ["$orderby=School/Name", "$count=true&$orderby=Friends/$count"])
    func `the order, the count and the page do not matter to what is followed`(_ options: String) async throws {
        let tracked = try await School().tracked("Students?$filter=Active&\(options)")
        #expect(tracked.map(\.entities.count) == 1)
    }

    @Test func `rows whose expansions alone changed are whole where that is asked for, up to a limit`() async throws {
        let school = try await School()
        let request = "Schools?$expand=Students"
        let plan = try school.plan(request)
        for (limit, isRefused) in [(3, false), (2, true)] {
            var limits = QueryLimits.standard
            limits.writtenRows = limit
            let tracked = try #require(try school.tracked(request, limits: limits))
            let mark = try await school.records.withReadSnapshot { try tracked.mark(at: $0) }
            _ = try await school.records.apply([
                RecordChange(school.tables["Students"]!.entity, .update("1", ["Height": .double(Double(limit))]))
            ])
            do {
                let page = try await school.records.withReadSnapshot {
                    try tracked.changes(since: mark, limit: 9, isWhole: true, at: $0)
                }
                guard case .whole(let row)? = page.changes.first else {
                    Issue.record("The row is not whole.")
                    return
                }
                #expect(!isRefused && page.changes.count == 1)
                #expect(row.value("ID", plan.shape) == 1 && row.entities == 3)
            } catch let error as PorticoError {
                #expect(isRefused && error.code == .requestLimitExceeded)
            }
        }
    }

    @Test(arguments: [
        "Students?$top=3", "Students?$skip=1", "Students?$apply=groupby((Active))",
        "Students?$filter=School/Name eq 'North'", "Students?$filter=Friends/any()", "Students?$filter=Seen lt now()",
        "Schools?$expand=Students($top=1)", "Schools?$expand=Students/$ref", "Schools?$expand=Students/$count",
        "Schools?$expand=Students($filter=School/Name eq 'x')", "Students?$compute=School/Name as S",
    ])
    func `what depends on other records, on the clock or on an order is not followed`(_ request: String) async throws {
        let tracked = try await School().tracked(request)
        #expect(tracked.map(\.entities) == nil)
    }

    @Test func `a mark of another history, of other rules or below the floor requires a full read`() async throws {
        let school = try await School()
        let tracked = try #require(try school.tracked("Students"))
        let mark = try await school.records.withReadSnapshot { try tracked.mark(at: $0) }
        let wrong = [
            ChangeCursor(history: "other", position: mark.position, scopeHash: mark.scopeHash),
            ChangeCursor(history: mark.history, position: mark.position, scopeHash: mark.scopeHash &+ 1),
            ChangeCursor(
                history: mark.history, position: Revision(mark.position.number + 1), scopeHash: mark.scopeHash),
        ]
        for mark in wrong { await expectFetchAgain(since: mark, tracked, school) }
        _ = try await school.store.compact(.through(mark.position), dryRun: false)
        _ = try await school.records.apply([RecordChange(school.tables["Students"]!.entity, .delete("1"))])
        _ = try await school.records.withReadSnapshot { try tracked.changes(since: mark, limit: 9, at: $0) }
        let later = try await school.records.withReadSnapshot { try tracked.mark(at: $0) }
        _ = try await school.store.compact(.through(later.position), dryRun: false)
        await expectFetchAgain(since: mark, tracked, school)
    }

    private func expectFetchAgain(since mark: ChangeCursor, _ tracked: TrackedQuery, _ school: School) async {
        let error = await #expect(throws: PorticoError.self) {
            try await school.records.withReadSnapshot { try tracked.changes(since: mark, limit: 9, at: $0) }
        }
        #expect(error?.code == .fetchAgain)
    }
}
