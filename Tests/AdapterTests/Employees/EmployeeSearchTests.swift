import AdapterKit
import AdapterTesting
import EmployeeSearch
import Testing
import WorkerTesting

@Suite struct `The employee search` {
    private func host() async throws -> TestHost {
        try await TestHost(EmployeeSearchModule.self, withSamples: true)
    }

    /// A handful of employees in two divisions.
    private func smallHost() async throws -> TestHost {
        let host = try await TestHost(EmployeeSearchModule.self)
        let rows: [(String, String, String)] = [
            ("Zoë", "O'Brien", "Sales"), ("Jean-Luc", "Müller", "Design"), ("Jo", "Ng", "Sales"),
            ("Zoe", "Obrist", "Design"), ("Luca", "von Berg", "Sales"),
        ]
        let changes = rows.enumerated().map { number, row in
            RecordChange(
                "employees",
                .create(
                    RecordID("e\(number)"),
                    ["firstName": .string(row.0), "lastName": .string(row.1), "division": .string(row.2)]))
        }
        _ = try await host.records.unrestricted.apply(changes)
        return host
    }

    private func names(_ page: WireValue) -> [String] {
        (page["employees"]?.arrayValue ?? []).map { employee in
            [employee["firstName"], employee["lastName"]].compactMap { $0?.stringValue }.joined(separator: " ")
        }
    }

    private func found(_ input: WireDictionary, in host: TestHost) async throws -> [String] {
        names(try await host.value("employeeSearch", input))
    }

    @Test(arguments: Mode.allCases) func `the adapter conforms`(mode: Mode) async {
        let row: WireValue = ["firstName": "Ada", "lastName": "Quist", "division": "Design"]
        let conformance = AdapterConformance(
            mode.module(EmployeeSearchModule.self),
            examples: [
                .init("employeeSearch", ["fullName": "John Doe", "order": "ASC", "rowsPerPage": 10, "pageIndex": 0]),
                .init("import", ["rows": [row]]),
            ])
        #expect(await conformance.problems() == [])
    }

    @Test func `there are two John Does among ten thousand in twelve divisions`() async throws {
        let host = try await host()
        let page = try await host.value("employeeSearch", ["fullName": "John Doe", "rowsPerPage": 10])
        #expect(names(page) == ["John Doe", "John Doe"])
        #expect(page["totalRows"] == 2)
        let all = try await host.records.unrestricted.query(Query(limit: 10_000, countsAll: true), in: "employees")
        #expect(all.total == 10_000)
        #expect(Set(all.records.compactMap { $0["division"].stringValue }).count == 12)
    }

    @Test func `the samples are the same every time`() throws {
        let make = { try EmployeeSearchModule.make(AdapterConfiguration()).sampleRecords().map(\.records) }
        #expect(try make() == make())
    }

    @Test func `an employee has the contract's five members`() async throws {
        let page = try await host().value("employeeSearch", ["fullName": "John Doe"])
        let employees = try #require(page["employees"]?.arrayValue)
        #expect(
            employees.allSatisfy {
                $0.dictionaryValue?.keys == ["firstName", "lastName", "division", "email", "phoneNumber"]
            })
        #expect(page.dictionaryValue?.keys == ["employees", "totalRows", "pageIndex", "rowsPerPage"])
    }

    @Test func `descending is ascending reversed, ties included`() async throws {
        let host = try await smallHost()
        let ascending = try await found(["order": "ASC"], in: host)
        #expect(ascending == ["Jean-Luc Müller", "Zoe Obrist", "Zoë O'Brien", "Jo Ng", "Luca von Berg"])
        #expect(try await found(["order": "DESC"], in: host) == ascending.reversed())
    }

    @Test(arguments: ["ASC", "DESC"])
    func `pages are distinct and make up the whole`(order: String) async throws {
        let host = try await smallHost()
        var all: [String] = []
        for index in 0..<3 {
            let input: WireDictionary = ["order": .string(order), "rowsPerPage": 2, "pageIndex": .int64(Int64(index))]
            let page = try await host.value("employeeSearch", input)
            #expect(page["totalRows"] == 5)
            #expect(page["pageIndex"] == .int64(Int64(index)))
            #expect(page["rowsPerPage"] == 2)
            all += names(page)
        }
        #expect(all == (try await found(["order": .string(order)], in: host)))
    }

    @Test(arguments: [3, 1_000, Int64(Int32.max)])
    func `a page past the end is empty`(index: Int64) async throws {
        let page = try await smallHost().value("employeeSearch", ["rowsPerPage": 500, "pageIndex": .int64(index)])
        #expect(page["employees"] == [])
        #expect(page["totalRows"] == 5)
    }

    @Test(arguments: [
        ("zoe", ["Zoe Obrist", "Zoë O'Brien"]),
        ("OBRI", ["Zoe Obrist"]),
        ("o'bri", ["Zoë O'Brien"]),
        ("brien zoe", ["Zoë O'Brien"]),
        ("mull", ["Jean-Luc Müller"]),
        ("luc", ["Jean-Luc Müller", "Luca von Berg"]),
        ("luc b", ["Luca von Berg"]),
        ("rien", []),
        ("  ", ["Jean-Luc Müller", "Zoe Obrist", "Zoë O'Brien", "Jo Ng", "Luca von Berg"]),
        ("-'", []),
    ])
    func `a name is found by the beginnings of its words, case and accents aside`(
        fullName: String, expected: [String]
    ) async throws {
        #expect(try await found(["fullName": .string(fullName)], in: smallHost()) == expected)
    }

    @Test func `a division filters, an empty or absent one does not`() async throws {
        let host = try await smallHost()
        #expect(try await found(["division": "Design"], in: host).count == 2)
        #expect(try await found(["division": "Design", "fullName": "zoe"], in: host) == ["Zoe Obrist"])
        #expect(try await found(["division": "Nowhere"], in: host) == [])
        #expect(try await found(["division": ""], in: host).count == 5)
        #expect(try await found(["division": .null, "fullName": .null], in: host).count == 5)
    }

    @Test(
        arguments: [
            (["rowsPerPage": "ten"], "rowsPerPage"), (["rowsPerPage": true], "rowsPerPage"),
            (["rowsPerPage": 0], "rowsPerPage"), (["rowsPerPage": 501], "rowsPerPage"),
            (["rowsPerPage": 1.5], "rowsPerPage"),
            (["pageIndex": -1], "pageIndex"), (["pageIndex": false], "pageIndex"), (["order": "UP"], "order"),
            (["fullName": 7], "fullName"), (["name": "x"], "name"),
            (["fullName": "a b c d e f g h i j k l m n o p q"], "fullName"),
        ] as [(WireDictionary, String)])
    func `criteria that make no sense are refused by name`(input: WireDictionary, member: String) async throws {
        let host = try await smallHost()
        let error = try await refusal { try await host.call("employeeSearch", input) }
        #expect(error?.code == .requestInvalid)
        #expect(error?.target == member)
    }

    @Test func `both paths take texts for numbers and answer flat errors`() throws {
        let search = try #require(
            try EmployeeSearchModule.declare(AdapterConfiguration()).operation("employeeSearch"))
        #expect(search.effect == .reads)
        #expect(
            search.bindings.map(\.path.description) == [
                "/OrganizationInterfaceImplMobile/employeeSearch",
                "/iPhoneServicesModuleWeb/OrganizationInterfaceImplMobile/employeeSearch",
            ])
        for binding in search.bindings {
            #expect(binding.method == .post)
            #expect(binding.presentation.errors == .flat(code: "errorCode", message: "errorMessage"))
        }
        #expect(search.input.members.filter(\.acceptsText).map(\.name) == ["rowsPerPage", "pageIndex"])
    }
}
