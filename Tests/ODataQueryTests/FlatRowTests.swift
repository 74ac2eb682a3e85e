import AdapterKit
import ODataEngine
import RecordStorage
import Testing

/// Rows of which nothing is expanded can be had one by one, as the store has them.
@Suite(.sharedSchool) struct FlatRowTests {
    private enum Event: Equatable {
        case row([WireValue])
        case pause
    }

    /// What a plan gives one by one, and the token of the next page.
    private func flat(_ plan: QueryPlan) async throws -> (events: [Event], next: String?) {
        #expect(plan.isFlat)
        return try await School.current.records.withReadSnapshot { snapshot in
            var events: [Event] = []
            let next = try plan.rows(
                at: snapshot, each: { row in events.append(.row(try row.all)) }, thenSome: { events.append(.pause) })
            return (events, next)
        }
    }

    private static func rows(_ events: [Event]) -> [[WireValue]] {
        events.compactMap { if case .row(let values) = $0 { values } else { nil } }
    }

    @Test(arguments: [
        "Students", "Students?$orderby=Name desc", "Students?$top=3&$skip=1", "Students?$top=0",
        "Students?$filter=ID gt 9",
        "Students?$apply=groupby((SchoolID),aggregate($count as N))", "Schools?$top=1",
    ])
    func `they are the rows of the page, and the next page begins behind them`(request: String) async throws {
        let school = try await School.current
        for pageSize in [1, 2, 3, 4, 100] {
            var token = ""
            for _ in 0..<9 {
                let plan = try school.plan(request + token, pageSize: pageSize)
                let page = try await school.page(request + token, pageSize: pageSize)
                let found = try await flat(plan)
                #expect(Self.rows(found.events) == page.rows.map(\.values), "\(request)\(token), \(pageSize) a page")
                #expect(found.next == page.next)
                guard let next = page.next else { break }
                token = "\(request.contains("?") ? "&" : "?")$skiptoken=\(next)"
            }
        }
    }

    @Test func `there is a pause after some of them and after the last`() async throws {
        let parts = Array(repeating: "identity", count: 70).joined(separator: ",")
        let plan = try await School.current.plan("Students?$apply=concat(\(parts))&$orderby=ID", pageSize: 1_000)
        let events = try await flat(plan).events
        #expect(Self.rows(events).count == 280)
        #expect(events.last == .pause)
        let runs = events.split(separator: .pause).map(\.count)
        #expect(runs.count > 1)
        #expect(runs.allSatisfy { $0 <= 128 })
    }

    @Test func `rows that have something expanded are not flat`() async throws {
        #expect(try await !School.current.plan("Students?$expand=School").isFlat)
    }
}

extension RowValues {
    fileprivate var all: [WireValue] {
        get throws { try (0..<count).map { try self[$0] } }
    }
}
