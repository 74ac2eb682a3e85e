import AdapterKit
import ODataEngine
import ODataLanguage
import Testing

// Schools 1 and 2 have the students 1, 2 and 3; friends are 1→2, 1→3, 2→1.
@Suite(.sharedSchool) struct NestTests {
    /// By the rows in their order: the nested rows' visible values.
    private func nested(_ name: String, _ request: String, pageSize: Int = 100) async throws -> [[[WireValue]]] {
        let page = try await School.current.page(request, pageSize: pageSize)
        return try page.rows.map { row in
            let (found, shape) = try #require(row.expanded(name, page.shape))
            let visible = shape.columns.indices.filter { shape.columns[$0].isVisible }
            return found.rows.map { row in visible.map { row.values[$0] } }
        }
    }

    @Test(
        arguments: [
            ("aggregate(ID with sum as S,$count as N)", [[[3, 2]], [[3, 1]], [[.null, 0]]]),
            ("groupby((Active),aggregate($count as N))", [[[false, 1], [true, 1]], [[.null, 1]], []]),
            ("filter(ID gt 1)/aggregate($count as N)/filter(N gt 0)", [[[1]], [[1]], []]),
            ("topcount(1,ID)/aggregate(ID with max as Last)", [[[2]], [[3]], [[.null]]]),
            ("orderby(ID desc)/skip(1)/aggregate($count as N)", [[[1]], [[0]], [[0]]]),
            ("topsum(2,ID)/groupby((ID))", [[[2]], [[3]], []]),
            ("topsum(3,ID)/groupby((ID))", [[[1], [2]], [[3]], []]),
            ("bottomsum(1,ID)/groupby((ID))", [[[1]], [[3]], []]),
            ("toppercent(50,ID)/groupby((ID))", [[[2]], [[3]], []]),
            ("toppercent(100,ID)/aggregate($count as N)", [[[2]], [[1]], [[0]]]),
            ("groupby((ID))/bottompercent(20,ID)", [[[1]], [[3]], []]),
            ("join(Friends as F)/topsum(3,F/ID)/groupby((ID,F/ID))", [[[1, 3]], [], []]),
            ("join(Friends as F)/groupby((ID,F/ID))", [[[1, 2], [1, 3], [2, 1]], [], []]),
            ("aggregate(Friends/$count as N,Friends/ID with max as M)", [[[3, 3]], [[0, .null]], [[0, .null]]]),
            ("aggregate($count from Active with max as Most)", [[[1]], [[1]], [[.null]]]),
            (
                "concat(aggregate($count as N),groupby((ID)))",
                [[[2, .null], [.null, 1], [.null, 2]], [[1, .null], [.null, 3]], [[0, .null]]]
            ),
        ] as [(String, [[[WireValue]]])])
    func `sequences are carried out for each owner by itself`(steps: String, expected: [[[WireValue]]]) async throws {
        for pageSize in [100, 3] {
            let found = try await nested(
                "X", "Schools?$apply=addnested(Students,\(steps) as X)&$orderby=ID", pageSize: pageSize)
            #expect(found.map(sorted) == expected.map(sorted), "\(steps)")
        }
    }

    private func sorted(_ rows: [[WireValue]]) -> [String] { rows.map { "\($0)" }.sorted() }

    @Test func `an entity that belongs to several is with each of them`() async throws {
        let found = try await nested("F", "Students?$apply=addnested(Friends,top(2)/groupby((ID)) as F)&$orderby=ID")
        #expect(found == [[[2], [3]], [[1]], [], []])
    }

    @Test func `rows that are taken keep what was nested in them`() async throws {
        let steps =
            "addnested(Students,aggregate($count as N) as X)/topcount(2,ID)/filter(ID lt 3)/orderby(ID desc)/top(1)"
        #expect(try await nested("X", "Schools?$apply=\(steps)") == [[[1]]])
    }

    @Test func `rows of several origins keep what was nested in them`() async throws {
        let one = "filter(ID eq 1)/addnested(Students,aggregate($count as N) as X)"
        #expect(
            try await nested("X", "Schools?$apply=concat(\(one),filter(ID gt 1))&$orderby=ID") == [[[2]], [], []])
        #expect(
            try await nested(
                "X",
                "Schools?$apply=addnested(Students,aggregate($count as N) as X)/concat(top(1),identity)&$orderby=ID")
                == [[[2]], [[2]], [[1]], [[0]]])
        #expect(
            try await nested(
                "X", "Schools?$apply=concat(aggregate($count as N),nest(top(1)/groupby((ID)) as X))&$orderby=N")
                == [[[1]], []])
        await #expect(throws: QueryProblem.self) {
            try await School.current.plan(
                "Schools?$apply=concat(\(one),filter(ID gt 1)/addnested(Students,top(1) as X))")
        }
    }

    @Test func `aggregated rows have nested rows while they have the owner's key`() async throws {
        let count = "addnested(Students,aggregate($count as N) as X)"
        #expect(
            try await nested("X", "Schools?$apply=concat(filter(ID eq 1),filter(ID ne 3))/\(count)&$orderby=ID")
                == [[[2]], [[2]], [[1]]])
        #expect(
            try await nested("X", "Schools?$apply=groupby((ID,Name))/\(count)/topcount(2,ID)&$orderby=ID")
                == [[[1]], [[0]]])
        #expect(
            try await nested("X", "Schools?$apply=join(Students as S)/top(2)/\(count)&$orderby=ID") == [[[2]], [[2]]])
        await #expect(throws: QueryProblem.self) {
            try await School.current.plan("Schools?$apply=groupby((Name))/\(count)")
        }
    }

    @Test func `one row of everything`() async throws {
        #expect(
            try await nested("X", "Students?$apply=filter(ID gt 1)/nest(aggregate(ID with sum as S) as X)") == [[[9]]])
        #expect(try await nested("X", "Students?$apply=filter(ID gt 9)/nest(identity as X)") == [[]])
        let page = try await School.current.page("Students?$apply=nest(identity as X)&$count=true")
        #expect(page.count == 1 && page.next == nil)
    }

    @Test func `what is nested is limited`() async throws {
        let school = try await School.current
        let plan = try school.plan("Schools?$apply=addnested(Students,identity as X)", limit: 2)
        // Rows that together bring more are asked for apart; one that alone does is refused.
        #expect(try await school.parts(plan).count > 1)
        let whole = try school.plan("Students?$apply=nest(identity as X)", limit: 3)
        await #expect(throws: PorticoError.self) { try await school.parts(whole) }
        let deep = (0..<9).reduce("identity") { steps, _ in "addnested(Friends,\(steps) as X)" }
        #expect { try school.plan("Students?$apply=\(deep)") } throws: { ($0 as? QueryProblem)?.kind == .limitExceeded }
    }

    @Test(
        arguments: [
            (
                "Schools?$apply=join(Students as S,aggregate(ID with sum as T))/groupby((ID,S/T))&$orderby=ID",
                [[1, 3], [2, 3], [3, .null]]
            ),
            ("Schools?$apply=join(Students as S,topcount(1,ID))/groupby((ID,S/ID))&$orderby=ID", [[1, 2], [2, 3]]),
            (
                "Schools?$apply=outerjoin(Students as S,topcount(1,ID))/groupby((ID,S/Name))&$orderby=ID",
                [[1, "Bob"], [2, .null], [3, .null]]
            ),
            ("Schools?$apply=filter(ID eq 2)/join(Students as S,groupby((Active)))/aggregate($count as N)", [[1]]),
            (
                "Students?$apply=join(Friends as F,groupby((SchoolID),aggregate($count as N)))/groupby((ID,F/SchoolID,F/N))&$orderby=ID,F/SchoolID",
                [[1, 1, 1], [1, 2, 1], [2, 1, 1]]
            ),
            ("Schools?$apply=join(Students as S,compute(ID mul 2 as D))/aggregate(S/D with sum as T)", [[12]]),
        ] as [(String, [[WireValue]])])
    func `sequences within joins`(request: String, expected: [[WireValue]]) async throws {
        let page = try await School.current.page(request)
        let visible = page.shape.columns.indices.filter { page.shape.columns[$0].isVisible }
        #expect(page.rows.map { row in visible.map { row.values[$0] } } == expected)
    }

    @Test func `problems say where they are`() async throws {
        let school = try await School.current
        for (steps, part) in [
            ("addnested(Students,identity as Name)", "Name"), ("addnested(Nothing,identity as X)", "Nothing"),
            ("nest(identity as X,identity as X)", "X"), ("addnested(Above,top(1) as X)", "Above"),
        ] {
            let request = "Schools?$apply=\(steps)"
            #expect { try school.plan(request) } throws: { error in
                guard let range = (error as? QueryProblem)?.range else { return false }
                let bytes = Array(School.encoded(request).utf8)[range.start..<range.end]
                return String(decoding: bytes, as: UTF8.self) == part
            }
        }
    }
}
