import AdapterKit
import ODataLanguage
import ODataQueries
import Testing

@Suite struct ExpandTests {
    private func ids(_ page: ResultPage, _ property: String) throws -> [[WireValue]] {
        try page.rows.map { row in
            let found = try #require(row.expanded(property, page.shape))
            return found.rows.rows.map { $0.value("ID", found.shape) }
        }
    }

    @Test func `one, many and linked entities come with their rows`() async throws {
        let school = try await School()
        let page = try await school.page("Students?$expand=School,Friends($orderby=ID desc)")
        #expect(try ids(page, "School") == [[1], [1], [2], []])
        #expect(try ids(page, "Friends") == [[3, 2], [1], [], []])
        #expect(try ids(try await school.page("Schools?$expand=Students"), "Students") == [[1, 2], [3], []])
    }

    @Test func `top and skip are each row's own, count is without them`() async throws {
        let school = try await School()
        let page = try await school.page(
            "Schools?$expand=Students($top=1;$skip=1;$count=true;$orderby=Name desc;$select=Name)")
        #expect(try ids(page, "Students") == [[1], [], []])
        #expect(page.rows.map { $0.expanded("Students", page.shape)?.rows.count } == [2, 1, 0])
    }

    @Test func `nested options, filters among them`() async throws {
        let school = try await School()
        let page = try await school.page("Schools?$expand=Students($filter=Active;$expand=Friends($expand=School))")
        let students = try #require(page.rows[0].expanded("Students", page.shape))
        #expect(students.rows.rows.map { $0.value("ID", students.shape) } == [1])
        let friends = try #require(students.rows.rows[0].expanded("Friends", students.shape))
        #expect(friends.rows.rows.map { $0.value("Name", friends.shape) } == ["Bob", .null])
        let school3 = try #require(friends.rows.rows[1].expanded("School", friends.shape))
        #expect(school3.rows.rows.map { $0.value("Name", school3.shape) } == ["South"])
    }

    @Test func `levels go up as far as they are asked for`() async throws {
        let school = try await School()
        for (levels, depth) in [("1", 1), ("2", 2), ("max", 2)] {
            let page = try await school.page("Schools?$filter=ID eq 3&$expand=Above($levels=\(levels))")
            var (row, shape, found) = (page.rows[0], page.shape, 0)
            while let above = row.expanded("Above", shape), let next = above.rows.rows.first {
                found += 1
                (row, shape) = (next, above.shape)
            }
            #expect(found == depth)
        }
        #expect(throws: SyntaxError.self) { try school.plan("Schools?$expand=Above($levels=1000)") }
    }

    @Test func `everything, two levels deep, and not without end`() async throws {
        let school = try await School()
        let page = try await school.page("Schools?$expand=*($levels=2)")
        let students = try #require(page.rows[0].expanded("Students", page.shape))
        #expect(students.shape.expansions.map(\.property) == ["School", "Friends"])
        #expect(throws: QueryProblem.self) { try school.plan("Schools?$expand=*($levels=max)") }
    }

    @Test func `references and counts are less than entities`() async throws {
        let school = try await School()
        let page = try await school.page("Schools?$expand=Students/$count")
        #expect(page.rows.map { $0.expanded("Students", page.shape)?.rows.count } == [2, 1, 0])
        #expect(try ids(try await school.page("Schools?$expand=Students/$ref"), "Students") == [[1, 2], [3], []])
    }

    @Test func `more than may be brought at a time is brought apart, and to one row alone it is refused`() async throws
    {
        let school = try await School()
        for (limit, given) in [(100, [4]), (2, [1, 1, 2])] {
            let plan = try school.plan("Students?$expand=Friends&$orderby=ID", limit: limit)
            #expect(try await school.parts(plan).map(\.count) == given)
        }
        let plan = try school.plan("Students?$expand=Friends&$orderby=ID", limit: 1)
        let error = await #expect(throws: PorticoError.self) { try await school.parts(plan) }
        #expect(error?.code == .requestLimitExceeded)
    }
}
