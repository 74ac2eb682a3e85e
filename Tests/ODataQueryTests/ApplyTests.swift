import AdapterKit
import ODataEngine
import Testing

@Suite(.sharedSchool) struct ApplyTests {
    private func rows(_ request: String) async throws -> [[WireValue]] {
        let page = try await School.current.page(request)
        let visible = page.shape.columns.indices.filter { page.shape.columns[$0].isVisible }
        return page.rows.map { row in visible.map { row.values[$0] } }
    }

    @Test func `aggregates of everything`() async throws {
        let found = try await rows(
            "Students?$apply=aggregate(ID with sum as Sum,GPA with max as Best,Height with average as Mean,$count as N,SchoolID with countdistinct as Schools)"
        )
        #expect(found.count == 1)
        #expect(found[0][0] == 10)
        #expect(found[0][1] == .decimal(WireDecimal("12345678901234567890.123")!))
        #expect(abs(try #require(found[0][2].doubleValue) - 3.25 / 3) < 1e-9)
        #expect(found[0][3...] == [4, 2])
    }

    @Test func `groups, by a related property too`() async throws {
        #expect(
            try await rows("Students?$apply=groupby((School/Name),aggregate($count as N))")
                == [[.null, 1], ["North", 2], ["South", 1]])
        #expect(
            try await rows(
                "Students?$apply=filter(ID gt 1)/groupby((SchoolID),aggregate(ID with max as Last))/filter(Last lt 4)&$orderby=Last desc"
            )
                == [[2, 3], [1, 2]])
        #expect(try await rows("Students?$apply=groupby((Active))") == [[.null], [false], [true]])
    }

    @Test func `sub-totals, joined results, the best`() async throws {
        #expect(
            try await rows(
                "Students?$apply=groupby((rollup(null,SchoolID)),aggregate($count as N))&$orderby=N desc,SchoolID")
                == [[.null, 4], [1, 2], [.null, 1], [2, 1]])
        #expect(
            try await rows(
                "Students?$apply=concat(aggregate($count as N),groupby((Active),aggregate($count as N)))&$orderby=N desc,Active"
            )
                == [[4, .null], [2, true], [1, .null], [1, false]])
        let best = try await School.current.column("ID", "Students?$apply=topcount(2,ID)&$orderby=ID")
        #expect(best == [3, 4])
        #expect(
            try await rows("Students?$apply=topcount(3,ID)/aggregate(ID with min as Least)") == [[2]])
        #expect(
            try await rows("Students?$apply=compute(ID mul 2 as Twice)/aggregate(Twice with sum as Sum)") == [[20]])
    }

    // By name: what a row lacks is not null in it.
    @Test(
        arguments: [
            (
                "rollup(SchoolID,ID)", "aggregate($count as N)",
                [
                    ["ID": 1, "N": 1, "SchoolID": 1], ["ID": 2, "N": 1, "SchoolID": 1],
                    ["ID": 3, "N": 1, "SchoolID": 2], ["ID": 4, "N": 1, "SchoolID": .null],
                    ["N": 1, "SchoolID": .null], ["N": 1, "SchoolID": 2], ["N": 2, "SchoolID": 1],
                ]
            ),
            (
                "rollup(null,SchoolID)", "aggregate($count as N)",
                [["N": 1, "SchoolID": .null], ["N": 1, "SchoolID": 2], ["N": 2, "SchoolID": 1], ["N": 4]]
            ),
            (
                "SchoolID,rollup(School/Name,Active)", "aggregate($count as N)/filter(N gt 1)",
                [["N": 2, "School/Name": "North", "SchoolID": 1]]
            ),
            (
                "rollup(Places)", "aggregate($count as N)/filter(N gt 1)",
                [["Active": true, "N": 2]]
            ),
        ] as [(String, String, [[String: WireValue]])])
    func `a rollup has the levels that it names, and no row has a property of a finer one`(
        levels: String, then: String, expected: [[String: WireValue]]
    ) async throws {
        let request = "Students?$apply=groupby((\(levels)),\(then))"
        var next: String? = ""
        var found: [[String: WireValue]] = []
        let school = try await School.current
        while let token = next {
            let page = try await school.page(request + (token.isEmpty ? "" : "&$skiptoken=\(token)"), pageSize: 1)
            found += page.rows.map { row in
                var told: [String: WireValue] = [:]
                for (position, column) in page.shape.columns.enumerated()
                where column.isVisible && column.presence.map({ row.values[$0] == .bool(true) }) ?? true {
                    told[column.name] = row.values[position]
                }
                return told
            }
            next = page.next
        }
        #expect(found.map(Self.text).sorted() == expected.map(Self.text).sorted())
    }

    @Test(
        arguments: ["rollup(Active)", "rollup(null)", "rollup(Nope)", "rollup(Tree)", "rollup(SchoolID,Nope)"])
    func `a rollup of one property is none`(levels: String) async throws {
        let school = try await School.current
        #expect(throws: QueryProblem.self) { try school.plan("Students?$apply=groupby((\(levels)))") }
    }

    private static func text(_ row: [String: WireValue]) -> String {
        row.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }.joined(separator: " ")
    }

    @Test func `the largest that reach a sum or a share, and rows that come twice`() async throws {
        let school = try await School.current
        for (step, expected) in [
            ("topsum(6,ID)", [3, 4]), ("topsum(4,ID)", [4]), ("bottomsum(3,ID)", [1, 2]),
            ("toppercent(50,ID)", [3, 4]),
            ("toppercent(100,ID)", [1, 2, 3, 4]), ("bottompercent(10,ID)", [1]),
            ("concat(filter(ID gt 2),filter(ID gt 3))", [3, 4, 4]), ("skip(1)/top(2)", [2, 3]),
            ("orderby(ID desc)/skip(1)/top(2)", [2, 3]),
        ] as [(String, [Int64])] {
            #expect(
                try await school.column("ID", "Students?$apply=\(step)&$orderby=ID") == expected.map { .int64($0) },
                "\(step)")
        }
        #expect(
            try await rows("Students?$apply=groupby((rollup(null,Active)))").count == 4)
        #expect(
            try await rows("Students?$apply=groupby((Active),aggregate($count as N)/filter(N gt 1)/top(2))") == [
                [true, 2]
            ])
    }

    // Schools 1 and 2 have the students 1, 2 and 3; friends are 1→2, 1→3, 2→1.
    @Test(
        arguments: [
            ("Schools?$apply=aggregate(Students/$count as N,Students/ID with sum as Sum)", [[3, 6]]),
            (
                "Schools?$apply=groupby((ID),aggregate(Students/ID with max as Last,$count as N,Students/$count as M))&$orderby=ID",
                [[1, 2, 1, 2], [2, 3, 1, 1], [3, .null, 1, 0]]
            ),
            // Each entity once, however often it is reached.
            ("Students?$apply=aggregate(School/ID with sum as Sum,School/$count as N)", [[3, 2]]),
            ("Students?$apply=filter(ID le 2)/aggregate(Friends/ID with sum as Sum)", [[6]]),
            ("Students?$apply=aggregate(Friends/School/ID with sum as Sum)", [[3]]),
            ("Schools?$apply=aggregate(Students/S.Guest/Country with max as Country)", [["Fiji"]]),
            // Lists of values are counted for every row, and the counts are added.
            ("Students?$apply=aggregate(Marks/$count as N,$count as All)", [[4, 4]]),
            (
                "Students?$apply=filter(ID ne 4)/groupby((SchoolID),aggregate(Marks/$count as N))&$orderby=N desc",
                [[1, 3], [2, 1]]
            ),
            (
                "Schools?$apply=groupby((Above/Name),aggregate(Students with countdistinct as N))&$orderby=N",
                [["South", 0], ["North", 1], [.null, 2]]
            ),
        ] as [(String, [[WireValue]])])
    func `what a path leads to is aggregated, each entity once`(request: String, expected: [[WireValue]]) async throws {
        #expect(try await rows(request) == expected)
    }

    @Test(
        arguments: [
            ("Students?$apply=aggregate($count from SchoolID with max as Most)", [[2]]),
            ("Students?$apply=aggregate(ID with sum from SchoolID with average as Mean)", [[.double(10.0 / 3)]]),
            ("Students?$apply=aggregate(ID with max from SchoolID with min from Active with sum as X)", [[6]]),
            (
                "Students?$apply=groupby((Active),aggregate(ID with max from SchoolID with sum as X,$count as N))&$orderby=Active",
                [[.null, 3, 1], [false, 2, 1], [true, 5, 2]]
            ),
            ("Schools?$apply=aggregate(Students/ID with sum from Name with max as Most)", [[3]]),
        ] as [(String, [[WireValue]])])
    func `what was aggregated is aggregated again`(request: String, expected: [[WireValue]]) async throws {
        let found = try await rows(request)
        if let mean = expected[0][0].doubleValue, expected[0][0] != .int64(Int64(mean)) {
            #expect(abs(try #require(found[0][0].doubleValue) - mean) < 1e-9)
        } else {
            #expect(found == expected)
        }
    }

    @Test(
        arguments: [
            ("Students?$apply=join(Friends as F)&$select=ID&$orderby=ID,F/ID", [[1], [1], [2]]),
            ("Students?$apply=outerjoin(Friends as F)&$select=ID&$orderby=ID", [[1], [1], [2], [3], [4]]),
            (
                "Students?$apply=join(Friends as F)/groupby((ID,F/Name))&$orderby=ID,F/Name",
                [[1, .null], [1, "Bob"], [2, "Ann"]]
            ),
            (
                "Students?$apply=outerjoin(Friends as F,filter(ID eq 3))/groupby((ID,F/ID))&$orderby=ID",
                [[1, 3], [2, .null], [3, .null], [4, .null]]
            ),
            (
                "Students?$apply=join(Friends as F)/filter(F/ID gt ID)/groupby((F/School/Name),aggregate($count as N))&$orderby=N",
                [["North", 1], ["South", 1]]
            ),
            (
                "Schools?$apply=join(Students as S)/groupby((Name),aggregate(S/ID with sum as Sum))&$orderby=Name",
                [["North", 3], ["South", 3]]
            ),
            (
                "Schools?$apply=outerjoin(Students as S)/groupby((ID),aggregate(S/$count as N))&$orderby=ID",
                [[1, 2], [2, 1], [3, 0]]
            ),
            ("Schools?$apply=join(Students as S)/aggregate($count as N)", [[3]]),
            ("Schools?$apply=join(Students/S.Guest as G)/groupby((Name,G/Country))", [["South", "Fiji"]]),
            ("Schools?$apply=join(Students as S)/topcount(2,S/ID)/groupby((S/ID))&$orderby=S/ID", [[2], [3]]),
            ("Schools?$apply=join(Students as S)/orderby(S/ID desc)/top(1)/groupby((Name))", [["South"]]),
        ] as [(String, [[WireValue]])])
    func `related entities are joined`(request: String, expected: [[WireValue]]) async throws {
        #expect(try await rows(request) == expected)
    }

    @Test func `joined rows are written where they are expanded, with pages`() async throws {
        let school = try await School.current
        var (found, token): ([WireValue], String) = ([], "")
        while found.count < 9 {
            let page = try await school.page(
                "Students?$apply=outerjoin(Friends as F)&$expand=F&$orderby=ID desc\(token)", pageSize: 1)
            found += page.rows.map { $0.value("F/Name", page.shape) }
            #expect(page.shape.joined["F"] != nil)
            guard let next = page.next else { break }
            token = "&$skiptoken=\(next)"
        }
        #expect(found.count == 5)
        #expect(found.prefix(3) == [.null, .null, "Ann"])
        #expect(try await school.page("Students?$apply=outerjoin(Friends as F)&$count=true").count == 5)
    }

    @Test(
        arguments: [
            (
                "Students?$apply=groupby((SchoolID),topcount(1,ID))&$select=SchoolID,ID&$orderby=SchoolID",
                [[.null, 4], [1, 2], [2, 3]]
            ),
            (
                "Students?$apply=groupby((SchoolID),orderby(ID desc)/skip(1)/aggregate($count as N))&$orderby=SchoolID",
                [[.null, 0], [1, 1], [2, 0]]
            ),
            (
                "Students?$apply=groupby((School/Name),concat(aggregate($count as N),top(1)/groupby((ID))))&$orderby=School/Name,N,ID",
                [
                    [.null, .null, 4], [.null, 1, .null], ["North", .null, 1], ["North", 2, .null],
                    ["South", .null, 3], ["South", 1, .null],
                ]
            ),
            (
                "Students?$apply=groupby((rollup(null,Active)),toppercent(60,ID)/aggregate(ID with sum as S))&$orderby=S,Active",
                [[false, 2], [.null, 3], [true, 4], [.null, 7]]
            ),
            (
                "Students?$apply=groupby((SchoolID),aggregate(ID with sum as S)/concat(identity,identity))/aggregate($count as N)",
                [[6]]
            ),
            // A group of which nothing is left has aggregates too.
            (
                "Students?$apply=groupby((SchoolID),filter(ID gt 2)/aggregate($count as N,ID with max as Last))&$orderby=SchoolID",
                [[.null, 1, 4], [1, 0, .null], [2, 1, 3]]
            ),
            (
                "Students?$apply=groupby((SchoolID),search(bob)/aggregate($count as N))&$orderby=SchoolID",
                [[.null, 0], [1, 1], [2, 0]]
            ),
            (
                "Students?$apply=groupby((SchoolID),compute(ID mul 2 as D)/aggregate(D with sum as S))&$orderby=SchoolID",
                [[.null, 8], [1, 6], [2, 6]]
            ),
        ] as [(String, [[WireValue]])])
    func `any sequence is carried out for each group`(request: String, expected: [[WireValue]]) async throws {
        #expect(try await rows(request) == expected)
    }

    @Test(
        arguments: [
            ("Students?$apply=topcount(2,ID)&$expand=School($select=Name)&$orderby=ID", "School", [["South"], []]),
            ("Schools?$apply=filter(ID lt 3)&$expand=Students($select=ID;$top=1)&$orderby=ID", "Students", [[1], [3]]),
            (
                "Students?$apply=filter(ID le 2)&$expand=Friends($select=ID;$orderby=ID)&$orderby=ID", "Friends",
                [[2, 3], [1]]
            ),
            (
                "Schools?$apply=concat(filter(ID eq 1),top(1))&$expand=Students($select=ID)", "Students",
                [[1, 2], [1, 2]]
            ),
            (
                "Schools?$apply=groupby((Parent),aggregate($count as N))&$expand=Above($select=Name)&$orderby=Parent",
                "Above", [[], ["North"], ["South"]]
            ),
            (
                "Schools?$apply=filter(ID eq 2)/addnested(Students,identity as X)&$expand=X,Above($select=ID)", "Above",
                [[1]]
            ),
            ("Schools?$apply=top(1)&$expand=*", "Above", [[]]),
        ] as [(String, String, [[WireValue]])])
    func `navigation properties are expanded while the rows have their keys`(
        request: String, name: String, expected: [[WireValue]]
    ) async throws {
        let page = try await School.current.page(request)
        let found = try page.rows.map { row in
            let (found, shape) = try #require(row.expanded(name, page.shape))
            let first = shape.columns.firstIndex { $0.isVisible }
            return found.rows.map { row in first.map { row.values[$0] } ?? .null }
        }
        #expect(found == expected)
    }

    @Test func `navigation properties without key columns are not expanded`() async throws {
        let school = try await School.current
        for request in [
            "Schools?$apply=groupby((Name))&$expand=Students", "Schools?$apply=top(1)&$expand=Nothing",
            "Schools?$apply=top(1)&$expand=Students,Students", "Schools?$apply=aggregate($count as N)&$expand=Above",
        ] {
            #expect(throws: QueryProblem.self) { try school.plan(request) }
        }
    }

    @Test(
        arguments: [
            ("Schools?$filter=Students/aggregate(ID with sum) gt 2", [1, 2]),
            ("Schools?$filter=Students/aggregate($count) eq 0", [3]),
            ("Schools?$filter=Students/S.Guest/aggregate(ID with max) eq 3", [2]),
            ("Schools?$filter=Students/$filter(ID gt 1)/aggregate(ID with min) eq 2", [1]),
            ("Students?$filter=ID lt $root/Students/aggregate(ID with average)", [1, 2]),
            ("Students?$filter=ID gt $these/aggregate(ID with average)", [3, 4]),
            ("Students?$apply=filter(ID gt 1)/filter(ID gt $these/aggregate(ID with average))", [4]),
            ("Students?$apply=filter(ID gt 1)&$filter=ID gt $these/aggregate(ID with average)", [4]),
            ("Students?$apply=groupby((SchoolID),filter(ID eq $these/aggregate(ID with max)))&$orderby=ID", [2, 3, 4]),
            (
                "Students?$apply=groupby((SchoolID),filter(ID lt $these/aggregate(ID with max))/aggregate(ID with max as ID))&$orderby=ID",
                [.null, .null, 1]
            ),
        ] as [(String, [WireValue])])
    func `aggregates are values too`(request: String, expected: [WireValue]) async throws {
        #expect(try await School.current.column("ID", request) == expected)
    }

    @Test func `what cannot be aggregated is refused`() async throws {
        let school = try await School.current
        for apply in [
            "aggregate(Name with sum as X)", "aggregate(Nothing with sum as X)", "groupby((Nothing))",
            "aggregate(ID with sum as ID,GPA with sum as ID)", "join(School as X)", "join(Nothing as X)",
            "join(Friends as Name)", "join(Friends as F)/join(Friends as F)",
            "aggregate(Friends/Nothing with sum as X)",
            "aggregate(Friends/Name with sum as X)", "aggregate(ID with sum from Nothing with max as X)",
        ] {
            #expect(throws: QueryProblem.self) { try school.plan("Students?$apply=\(apply)") }
        }
    }
}
