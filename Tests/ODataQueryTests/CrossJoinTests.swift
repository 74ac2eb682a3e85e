import AdapterKit
import ODataEngine
import ODataLanguage
import RecordStorage
import Testing

/// Every combination of the entities of several sets. Schools 1 and 2 have the students 1, 2 and 3; student 4 has none.
@Suite(.sharedSchool) struct CrossJoinTests {
    private func query(_ sources: [String], _ options: String, pageSize: Int = 100) throws -> CrossJoinQuery {
        let target = try RequestTarget(School.encoded("Students?\(options)"))
        return CrossJoinQuery(sources, options: target.options, pageSize: pageSize, now: FixedClock().now())
    }

    /// The ids of the entities of each row, page by page; and how many rows there are in all.
    private func ids(
        _ options: String, _ sources: [String] = ["Schools", "Students"], pageSize: Int = 100
    ) async throws -> (rows: [[WireValue]], count: Int?) {
        let school = try await School.current
        var (rows, count, token): ([[WireValue]], Int?, String) = ([], nil, "")
        while rows.count < 20 {
            let plan = try query(sources, options + token, pageSize: pageSize).plan(in: school.tables)
            let (part, total, next) = try await school.records.withReadSnapshot { snapshot in
                var part: [[WireValue]] = []
                let next = try plan.rows(at: snapshot) { joined in
                    part += joined.map { row in
                        plan.parts.map { $0.row(of: row).value("ID", $0.shape) }
                    }
                }
                return (part, try plan.total(at: snapshot), next)
            }
            rows += part
            count = total
            guard let next else { break }
            token = "&$skiptoken=\(next)"
        }
        return (rows, count)
    }

    @Test func `each entity is with each, in the order of their keys`() async throws {
        let all = try await ids("")
        #expect(all.rows.count == 12 && all.count == nil)
        #expect(all.rows.prefix(5) == [[1, 1], [1, 2], [1, 3], [1, 4], [2, 1]])
    }

    @Test func `filters and orders name the set`() async throws {
        let joined = try await ids("$filter=Students/SchoolID eq Schools/ID&$orderby=Students/ID desc&$count=true")
        #expect(joined.rows == [[2, 3], [1, 2], [1, 1]])
        #expect(joined.count == 3)
    }

    @Test func `pages follow each other, with what top and skip leave`() async throws {
        for pageSize in [1, 2, 5] {
            #expect(try await ids("$count=false", pageSize: pageSize).rows == ids("").rows)
            let some = try await ids("$top=3&$skip=3&$orderby=Schools/ID&$count=true", pageSize: pageSize)
            #expect(some.rows == [[1, 4], [2, 1], [2, 2]])
            #expect(some.count == 12)
        }
        #expect(try await ids("$top=0").rows.isEmpty)
    }

    @Test func `what is expanded is written, and its own expansions with it`() async throws {
        let school = try await School.current
        let plan = try query(
            ["Schools", "Students"],
            "$expand=Students($select=Name;$expand=Friends($orderby=ID))&$filter=Students/ID eq 1&$top=1"
        ).plan(in: school.tables)
        #expect(plan.parts.map(\.isExpanded) == [false, true])
        let row = try #require(
            try await school.records.withReadSnapshot { snapshot in
                var rows: [ResultRow] = []
                _ = try plan.rows(at: snapshot) { rows += $0 }
                return rows.first
            })
        let student = plan.parts[1].row(of: row)
        #expect(student.value("Name", plan.parts[1].shape) == "Ann")
        let friends = try #require(student.expanded("Friends", plan.parts[1].shape))
        #expect(friends.rows.rows.map { $0.value("ID", friends.shape) } == [2, 3])
        #expect(plan.parts[0].row(of: row).expanded.isEmpty)
        let all = try query(["Schools", "Students"], "$expand=*").plan(in: school.tables)
        #expect(all.parts.map(\.isExpanded) == [true, true])
    }

    @Test(
        arguments: [
            ("$apply=aggregate($count as N)", [[12]]),
            (
                "$apply=filter(Students/SchoolID eq Schools/ID)/groupby((Schools/Name),aggregate(Students/ID with sum as S))&$orderby=S desc,Schools/Name",
                [["North", 3], ["South", 3]]
            ),
            ("$apply=groupby((Schools/ID))&$orderby=Schools/ID desc&$top=2", [[3], [2]]),
        ] as [(String, [[WireValue]])])
    func `transformations see each set under its name`(options: String, expected: [[WireValue]]) async throws {
        let school = try await School.current
        let query = try query(["Schools", "Students"], options)
        #expect(query.isApplied)
        let plan = try query.applied(in: school.tables)
        let page = try await school.records.withReadSnapshot { try plan.page(at: $0) }
        let visible = page.shape.columns.indices.filter { page.shape.columns[$0].isVisible }
        #expect(page.rows.map { row in visible.map { row.values[$0] } } == expected)
    }

    @Test(arguments: [
        "$select=ID", "$compute=1 as X", "$search=x", "$expand=Nothing", "$expand=Students/School",
        "$expand=Students($top=1)", "$filter=ID eq 1", "$skiptoken=abc",
    ])
    func `what a cross join does not have is refused`(options: String) async throws {
        let school = try await School.current
        #expect(throws: QueryProblem.self) {
            try query(["Schools", "Students"], options).plan(in: school.tables)
        }
    }

    @Test func `only sets are joined, and each once`() async throws {
        let school = try await School.current
        for sources in [["Students", "Students"], ["Students", "Nothing"], []] {
            #expect(throws: QueryProblem.self) { try query(sources, "$count=true").plan(in: school.tables) }
            #expect(throws: QueryProblem.self) {
                try query(sources, "$apply=aggregate($count as N)").applied(in: school.tables)
            }
        }
        #expect(throws: QueryProblem.self) {
            try query(["Schools"], "$apply=identity&$search=x").applied(in: school.tables)
        }
    }
}
