import AdapterKit
import ODataEngine
import Testing

@Suite(.sharedSchool) struct PageTests {
    @Test(
        arguments: [
            ("Name", [3, 1, 2, 4]), ("Name desc", [4, 2, 1, 3]), ("School/Name", [4, 1, 2, 3]),
            ("School/Name desc", [3, 2, 1, 4]), ("GPA desc,Name", [4, 1, 2, 3]),
            ("length(Name),ID desc", [3, 2, 1, 4]),
            ("Active,Height desc", [3, 2, 1, 4]), ("Seen", [2, 3, 4, 1]), ("Home/Zip", [3, 4, 2, 1]),
        ] as [(String, [Int64])])
    func `pages of one row go through every order, nulls and all`(order: String, expected: [Int64]) async throws {
        let school = try await School.current
        var found: [WireValue] = []
        var token = ""
        while found.count < 9 {
            let page = try await school.page("Students?$orderby=\(order)\(token)", pageSize: 1)
            found += page.rows.map { $0.value("ID", page.shape) }
            guard let next = page.next else { break }
            token = "&$skiptoken=\(next)"
        }
        #expect(found == expected.map { .int64($0) })
    }

    @Test func `top is kept over pages, skip is taken once, count knows neither`() async throws {
        let school = try await School.current
        let first = try await school.page("Students?$top=3&$skip=1&$count=true", pageSize: 2)
        #expect(first.rows.map { $0.value("ID", first.shape) } == [2, 3])
        #expect(first.count == 4)
        let next = try #require(first.next)
        let second = try await school.page("Students?$top=3&$skip=1&$count=true&$skiptoken=\(next)", pageSize: 2)
        #expect(second.rows.map { $0.value("ID", second.shape) } == [4])
        #expect(second.next == nil)
        #expect(try await school.page("Students?$top=0&$count=true").rows.isEmpty)
    }

    @Test func `select writes the selected properties and the keys`() async throws {
        let school = try await School.current
        let page = try await school.page("Students?$select=Name,Home/City&$top=1")
        #expect(page.shape.columns.filter(\.isVisible).map(\.name) == ["Name", "Home"])
        #expect(page.shape.columns.first { $0.name == "Home" }?.members == [["City"]])
        #expect(page.shape.columns.contains { $0.name == "ID" && !$0.isVisible })
        #expect(throws: QueryProblem.self) { try school.plan("Students?$select=Nothing") }
    }

    @Test(
        arguments: [
            ("Home/City,Home/Zip", [["City"], ["Zip"]]), ("Home($select=City,Zip)", [["City"], ["Zip"]]),
            ("Home/City,Name,Home/City", [["City"], ["City"]]), ("Home,Home/City", nil), ("Home/City,Home", nil),
            ("*,Home/City", [["City"]]), ("Home/Zip,Home,Home/City", nil),
        ] as [(String, [[String]]?)])
    func `what is selected of one value comes together, and the whole value is all of it`(
        selection: String, members: [[String]]?
    ) async throws {
        let page = try await School.current.page("Students?$select=\(selection)&$top=1")
        let home = try #require(page.shape.columns.first { $0.name == "Home" })
        #expect(home.isVisible && home.members == members)
        #expect(page.shape.columns.first { $0.name == "Active" }?.isVisible ?? false == selection.hasPrefix("*"))
    }

    @Test func `computed values are written, ordered and filtered by`() async throws {
        let school = try await School.current
        let page = try await school.page(
            "Students?$compute=ID mul 2 as Twice&$filter=Twice gt 2&$orderby=Twice desc&$select=Twice")
        #expect(page.rows.map { $0.value("Twice", page.shape) } == [8, 6, 4])
    }

    @Test func `whole words are searched`() async throws {
        let school = try await School.current
        #expect(try await school.column("ID", "Students?$search=ann OR bob") == [1, 2])
        #expect(try await school.column("ID", "Students?$search=NOT ann") == [2, 3, 4])
        #expect(try await school.column("ID", "Students?$search=an") == [])
    }

    @Test func `a token of another order is refused`() async throws {
        let school = try await School.current
        let next = try #require(try await school.page("Students?$orderby=Name", pageSize: 1).next)
        #expect(throws: QueryProblem.self) { try school.plan("Students?$orderby=Name,Height&$skiptoken=\(next)") }
        #expect(throws: QueryProblem.self) { try school.plan("Students?$skiptoken=abc") }
    }

    @Test(arguments: [
        "$top=1&$top=2", "$skip=99999999999", "$expand=Name", "$orderby=Home", "$filter=ID eq 1&$filter=true",
    ])
    func `options that make no sense are refused`(options: String) async throws {
        let school = try await School.current
        #expect(throws: QueryProblem.self) { try school.plan("Students?\(options)") }
    }
}
