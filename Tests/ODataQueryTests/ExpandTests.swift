import AdapterKit
import ODataEngine
import ODataLanguage
import Testing

@Suite(.sharedSchool) struct ExpandTests {
    private func ids(_ page: ResultPage, _ property: String) throws -> [[WireValue]] {
        try page.rows.map { row in
            let found = try #require(row.expanded(property, page.shape))
            return found.rows.rows.map { $0.value("ID", found.shape) }
        }
    }

    @Test func `one, many and linked entities come with their rows`() async throws {
        let school = try await School.current
        let page = try await school.page("Students?$expand=School,Friends($orderby=ID desc)")
        #expect(try ids(page, "School") == [[1], [1], [2], []])
        #expect(try ids(page, "Friends") == [[3, 2], [1], [], []])
        #expect(try ids(try await school.page("Schools?$expand=Students"), "Students") == [[1, 2], [3], []])
    }

    @Test func `top and skip are each row's own, count is without them`() async throws {
        let school = try await School.current
        let page = try await school.page(
            "Schools?$expand=Students($top=1;$skip=1;$count=true;$orderby=Name desc;$select=Name)")
        #expect(try ids(page, "Students") == [[1], [], []])
        #expect(page.rows.map { $0.expanded("Students", page.shape)?.rows.count } == [2, 1, 0])
    }

    @Test func `skip alone leaves out each row's first`() async throws {
        let school = try await School.current
        #expect(try ids(try await school.page("Schools?$expand=Students($skip=1)"), "Students") == [[2], [], []])
        #expect(try ids(try await school.page("Students?$expand=Friends($skip=1)"), "Friends") == [[3], [], [], []])
    }

    @Test func `rows that have the same owner's value have what belongs to it once each`() async throws {
        let school = try await School.current
        let page = try await school.page("Students?$expand=Mates($orderby=ID)")
        #expect(try ids(page, "Mates") == [[1, 2], [1, 2], [3], []])
        let counted = try await school.page("Students?$expand=Mates($apply=aggregate($count as N,ID with max as ID))")
        #expect(try ids(counted, "Mates") == [[2], [2], [3], []])
    }

    @Test(arguments: [
        "Schools?$filter=ID eq 2&$expand=Students", "Schools?$filter=ID eq 2&$expand=Students($apply=groupby((ID)))",
        "Schools?$filter=ID eq 2&$expand=Students($apply=topcount(1,ID))",
        "Schools?$filter=ID eq 2&$expand=Students($apply=concat(filter(ID eq 3),filter(ID lt 3)))",
        "Schools?$apply=filter(ID eq 2)/addnested(Students,groupby((ID)) as X)",
        "Students?$filter=ID eq 2&$expand=Friends($apply=groupby((ID)))",
    ])
    func `what belongs to rows of other pages is not read`(request: String) async throws {
        let school = try await School.current
        let parts = try await school.parts(try school.plan(request, limit: 1))
        #expect(parts.flatMap { $0 }.map { $0.expanded.map(\.rows.count) } == [[1]])
    }

    @Test func `nested options, filters among them`() async throws {
        let school = try await School.current
        let page = try await school.page("Schools?$expand=Students($filter=Active;$expand=Friends($expand=School))")
        let students = try #require(page.rows[0].expanded("Students", page.shape))
        #expect(students.rows.rows.map { $0.value("ID", students.shape) } == [1])
        let friends = try #require(students.rows.rows[0].expanded("Friends", students.shape))
        #expect(friends.rows.rows.map { $0.value("Name", friends.shape) } == ["Bob", .null])
        let school3 = try #require(friends.rows.rows[1].expanded("School", friends.shape))
        #expect(school3.rows.rows.map { $0.value("Name", school3.shape) } == ["South"])
    }

    @Test func `levels go up as far as they are asked for`() async throws {
        let school = try await School.current
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
        let school = try await School.current
        let page = try await school.page("Schools?$expand=*($levels=2)")
        let students = try #require(page.rows[0].expanded("Students", page.shape))
        #expect(students.shape.expansions.map(\.property) == ["School", "Friends", "Mates"])
        #expect(throws: QueryProblem.self) { try school.plan("Schools?$expand=*($levels=max)") }
    }

    @Test(
        arguments: [
            ("aggregate($count as N)", [[["N": 2]], [["N": 1]], [["N": 0]]]),
            (
                "groupby((Active),aggregate($count as N))",
                [[["Active": false, "N": 1], ["Active": true, "N": 1]], [["Active": .null, "N": 1]], []]
            ),
            ("filter(ID gt 1)/aggregate(ID with sum as S);$filter=S gt 2", [[], [["S": 3]], []]),
            ("groupby((ID));$orderby=ID desc;$top=1;$count=true", [[["ID": 2]], [["ID": 3]], []]),
            ("groupby((ID));$skip=1", [[["ID": 2]], [], []]),
            ("groupby((ID));$compute=ID mul 2 as D;$select=D", [[["D": 2], ["D": 4]], [["D": 6]], []]),
            ("topcount(1,ID)/groupby((Name))", [[["Name": "Bob"]], [["Name": .null]], []]),
        ] as [(String, [[[String: WireValue]]])])
    func `what is applied to what is expanded is applied for each row by itself`(
        options: String, expected: [[[String: WireValue]]]
    ) async throws {
        let page = try await School.current.page("Schools?$expand=Students($apply=\(options))")
        let found = try page.rows.map { row in
            let found = try #require(row.expanded("Students", page.shape))
            return found.rows.rows.map { row in
                var told: [String: WireValue] = [:]
                for column in found.shape.columns where column.isVisible {
                    told[column.name] = row.value(column.name, found.shape)
                }
                return told
            }
        }
        #expect(found == expected)
        if options.contains("$count=true") {
            #expect(page.rows.map { $0.expanded("Students", page.shape)?.rows.count } == [2, 1, 0])
        }
    }

    @Test func `it is applied to linked entities and below other levels, and expanded further`() async throws {
        let school = try await School.current
        let page = try await school.page(
            "Students?$expand=Friends($apply=filter(ID gt 1);$expand=School($expand=Students($apply=aggregate(ID with max as Last))))"
        )
        #expect(try ids(page, "Friends") == [[2, 3], [], [], []])
        let friends = try #require(page.rows[0].expanded("Friends", page.shape))
        let above = try #require(friends.rows.rows[1].expanded("School", friends.shape))
        let students = try #require(above.rows.rows[0].expanded("Students", above.shape))
        #expect(students.rows.rows.map { $0.value("Last", students.shape) } == [3])
    }

    @Test(arguments: [
        "Schools?$expand=Students($apply=aggregate(Nope with sum as X))",
        "Schools?$expand=Students($apply=groupby((Nope)))",
        "Schools?$expand=Students($apply=aggregate($count as N);$select=Nope)",
        "Schools?$expand=Students($apply=identity;$levels=2)", "Students?$expand=School($apply=identity)",
        "Students?$expand=School($top=0)", "Students?$expand=School($skip=1)", "Students?$expand=School($count=true)",
        "Students?$expand=School($orderby=ID)", "Students?$select=Marks($top=1)",
        "Students?$select=Home($filter=Zip eq 1)",
        "Students?$select=Home($select=City($top=1))", "Students?$select=Home($select=City;$count=true)",
        "Students?$select=School($select=Name)", "Students?$select=School/Name", "Students?$select=Nope.Nope",
        "Students?$apply=identity&$select=Home($select=City)", "Students?$apply=identity&$compute=1 as Name",
        "Students?$apply=aggregate($count as N)&$search=x",
    ])
    func `no option is passed over`(request: String) async throws {
        let school = try await School.current
        #expect(throws: QueryProblem.self) { try school.plan(request) }
    }

    @Test func `what follows an expansion's own transformations is not tracked, and a search behind them searches`()
        async throws
    {
        let school = try await School.current
        #expect(try school.tracked("Schools?$expand=Students($apply=aggregate($count as N))") == nil)
        #expect(try await school.column("ID", "Students?$apply=filter(ID lt 3)&$search=Bob") == [2])
    }

    @Test func `references and counts are less than entities`() async throws {
        let school = try await School.current
        let page = try await school.page("Schools?$expand=Students/$count")
        #expect(page.rows.map { $0.expanded("Students", page.shape)?.rows.count } == [2, 1, 0])
        #expect(try ids(try await school.page("Schools?$expand=Students/$ref"), "Students") == [[1, 2], [3], []])
    }

    @Test func `more than may be brought at a time is brought apart, and to one row alone it is refused`() async throws
    {
        let school = try await School.current
        for (limit, given) in [(100, [4]), (2, [1, 1, 2])] {
            let plan = try school.plan("Students?$expand=Friends&$orderby=ID", limit: limit)
            #expect(try await school.parts(plan).map(\.count) == given)
        }
        let plan = try school.plan("Students?$expand=Friends&$orderby=ID", limit: 1)
        let error = await #expect(throws: PorticoError.self) { try await school.parts(plan) }
        #expect(error?.code == .requestLimitExceeded)
    }
}
