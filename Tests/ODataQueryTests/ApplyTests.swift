import AdapterKit
import ODataQueries
import Testing

@Suite struct ApplyTests {
    private func rows(_ request: String) async throws -> [[WireValue]] {
        let page = try await School().page(request)
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
                "Students?$apply=groupby((rollup(SchoolID)),aggregate($count as N))&$orderby=N desc,SchoolID")
                == [[.null, 4], [1, 2], [.null, 1], [2, 1]])
        #expect(
            try await rows(
                "Students?$apply=concat(aggregate($count as N),groupby((Active),aggregate($count as N)))&$orderby=N desc,Active"
            )
                == [[4, .null], [2, true], [1, .null], [1, false]])
        let best = try await School().column("ID", "Students?$apply=topcount(2,ID)&$orderby=ID")
        #expect(best == [3, 4])
        #expect(
            try await rows("Students?$apply=topcount(3,ID)/aggregate(ID with min as Least)") == [[2]])
        #expect(
            try await rows("Students?$apply=compute(ID mul 2 as Twice)/aggregate(Twice with sum as Sum)") == [[20]])
    }

    @Test func `the largest that reach a sum or a share, and rows that come twice`() async throws {
        let school = try await School()
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
            try await rows("Students?$apply=groupby((Active),aggregate($count as N)/filter(N gt 1)/top(2))") == [
                [true, 2]
            ])
    }

    @Test func `what cannot be aggregated is refused`() async throws {
        let school = try await School()
        for apply in [
            "aggregate(Name with sum as X)", "aggregate(Nothing with sum as X)", "groupby((Nothing))",
            "aggregate(ID with sum as ID,GPA with sum as ID)",
        ] {
            #expect(throws: QueryProblem.self) { try school.plan("Students?$apply=\(apply)") }
        }
    }
}
