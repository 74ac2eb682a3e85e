import AdapterKit
import AdapterTesting
import EmployeeSearch
import Synchronization
import Testing
import XMLUsers

/// The first two sources against systems that tests make up.
@Suite struct MirrorSourceTests {
    private static func answer(
        _ request: UpstreamRequest, _ body: String, _ type: String, status: Int = 200
    ) -> UpstreamResponse {
        UpstreamResponse(
            address: request.address, status: status, fields: ["Content-Type": type], body: Array(body.utf8))
    }

    private static func employees(_ request: UpstreamRequest, of count: Int, page size: Int) -> UpstreamResponse {
        let body = String(decoding: request.body, as: UTF8.self)
        let index = body.firstMatch(of: /"pageIndex":(\d+)/).flatMap { Int($0.1) } ?? 0
        let rows = (index * size..<max(index * size, min(count, (index + 1) * size))).map {
            #"{"firstName":"F\#($0)","lastName":"L","division":"D","email":"e\#($0)@example.com","phoneNumber":""}"#
        }
        return answer(
            request,
            #"{"employees":[\#(rows.joined(separator: ","))],"totalRows":\#(count),"pageIndex":\#(index),"rowsPerPage":\#(size)}"#,
            "application/json; charset=utf-8")
    }

    private static func user(_ number: Int, _ fields: String = "") -> String {
        "<UserId>\(number)</UserId><UserName>A&amp;B \(number)</UserName>\(fields)"
    }

    private static let namespace = "xmlns=\"http://captechventures.com/schema\""
    private static let xml = "application/xml; charset=utf-8"

    private static func users(_ request: UpstreamRequest, hasVersion1: Bool) -> UpstreamResponse {
        let path = String(request.address.path)
        let numbers = [100, 101, 102]
        let shoe = "<ShoeSize>8.5M</ShoeSize>"
        switch path {
        case "/users/v1/list" where hasVersion1:
            let entries = numbers.map { "<entry>\(user($0, shoe))</entry>" }.joined()
            return answer(request, "<UserList \(namespace)>\(entries)</UserList>", xml)
        case "/users/v2/list":
            let entries = numbers.map { "<entry>\(user($0))</entry>" }.joined()
            return answer(request, "<UserList \(namespace)>\(entries)</UserList>", xml)
        case _ where path.hasPrefix("/users/v2/user/"):
            let number = Int(path.dropFirst("/users/v2/user/".count)) ?? 0
            return answer(request, "<user \(namespace)>\(user(number, shoe))</user>", xml)
        default: return answer(request, "", "text/plain", status: 404)
        }
    }

    @Test func `the source of employees conforms`() async {
        let conformance = MirrorConformance(
            EmployeeSearchModule.self, "employees", configuration: ["upstream": "upstream"]
        ) { request, _ in Self.employees(request, of: 1_203, page: 100) }
        #expect(await conformance.problems() == [])
    }

    @Test(arguments: [true, false])
    func `the source of users conforms, with and without version 1`(hasVersion1: Bool) async {
        let conformance = MirrorConformance(
            XMLUsersModule.self, "users", configuration: ["upstream": "upstream", "path": "users/"]
        ) { request, _ in Self.users(request, hasVersion1: hasVersion1) }
        #expect(await conformance.problems() == [])
    }

    /// What services of this contract do beside it.
    private static let styles: [(String, [String: (String, Int)])] = {
        let whole = "<UserName>A&amp;B</UserName><ShoeSize>8.5M</ShoeSize><UserId> 100 </UserId>"
        func list(_ entries: String, _ attributes: String = "") -> String {
            "<UserList\(attributes)>\(entries)</UserList>"
        }
        let short = "<UserId>100</UserId><UserName>A&amp;B</UserName>"
        let document = "<user>\(short)<ShoeSize>8.5M</ShoeSize></user>"
        return [
            ("no namespace, another order, white space", ["v1/list": (list("<entry>\(whole)</entry>"), 200)]),
            (
                "prefixes",
                [
                    "v1/list": (
                        "<c:UserList xmlns:c='http://captechventures.com/schema'><c:entry><c:UserId>100</c:UserId>"
                            + "<c:UserName>A&amp;B</c:UserName><c:ShoeSize>8.5M</c:ShoeSize></c:entry></c:UserList>",
                        200
                    )
                ]
            ),
            (
                "elements without a namespace below a root that has one",
                [
                    "v1/list": (
                        "<c:UserList xmlns:c='http://captechventures.com/schema'><entry>\(whole)</entry></c:UserList>",
                        200
                    )
                ]
            ),
            ("another namespace", ["v1/list": (list("<entry>\(whole)</entry>", " xmlns='urn:example:hr'"), 200)]),
            (
                "attributes, types and unknown elements",
                [
                    "v1/list": (
                        list(
                            "<total>1</total><entry id='7'><UserId xmlns:i='http://www.w3.org/2001/XMLSchema-instance' "
                                + "i:type='int'>100</UserId><UserName lang='en'>A&amp;B</UserName><ShoeSize>8.5M</ShoeSize>"
                                + "<Colour>red</Colour></entry>",
                            " version='3'"), 200
                    )
                ]
            ),
            (
                "a version 1 without shoe sizes",
                ["v1/list": (list("<entry>\(short)</entry>"), 200), "v2/user/100": (document, 200)]
            ),
            (
                "documents at the short path alone",
                ["v2/list": (list("<entry>\(short)</entry>"), 200), "v2/100": (document, 200)]
            ),
        ]
    }()

    private static func scripted(_ answers: [String: (String, Int)], type: String = xml) throws -> ScriptedUpstream {
        let url = try #require(UpstreamAddress("https://upstream.example/"))
        return ScriptedUpstream(url: url) { request, _ in
            guard let (body, status) = answers[String(request.address.path.dropFirst())] else {
                return answer(request, "", "text/plain", status: 404)
            }
            return answer(request, body, type, status: status)
        }
    }

    @Test(arguments: styles.indices)
    func `users are read from services that keep the contract in their own way`(style: Int) async throws {
        let (words, answers) = Self.styles[style]
        let host = try await TestHost(
            XMLUsersModule.self, AdapterConfiguration(["upstream": "upstream"]), upstream: try Self.scripted(answers))
        let rows = try await host.adapter.readMirror(MirrorRequest("users")).rows
        #expect(rows.count == 1, "\(words)")
        #expect(rows.first?["UserId"] == 100, "\(words)")
        #expect(rows.first?["UserName"] == "A&B", "\(words)")
        #expect(rows.first?["ShoeSize"] == "8.5M", "\(words)")
    }

    @Test func `a document of another user is not taken for the one that was asked for`() async throws {
        func document(_ number: Int) -> String {
            "<user><UserId>\(number)</UserId><UserName>A</UserName><ShoeSize>9</ShoeSize></user>"
        }
        func entry(_ number: Int) -> String { "<entry><UserId>\(number)</UserId><UserName>A</UserName></entry>" }
        let answers = [
            "v2/list": ("<UserList>\(entry(100))\(entry(101))</UserList>", 200),
            "v2/user/100": (document(100), 200), "v2/user/101": (document(100), 200),
        ]
        let host = try await TestHost(
            XMLUsersModule.self, AdapterConfiguration(["upstream": "upstream"]), upstream: try Self.scripted(answers))
        let refusal = await #expect(throws: MirrorRefusal.self) {
            try await host.adapter.readMirror(MirrorRequest("users"))
        }
        #expect(refusal?.detail == "a user's document is of another user")
    }

    @Test func `documents of users that take longer than one call may are given up`() async throws {
        let entries = (1...200).map { "<entry><UserId>\($0)</UserId><UserName>A</UserName></entry>" }.joined()
        let url = try #require(UpstreamAddress("https://upstream.example/"))
        let upstream = ScriptedUpstream(url: url) { request, _ in
            switch request.address.path {
            case "/v1/list": return Self.answer(request, "", "text/plain", status: 404)
            case "/v2/list": return Self.answer(request, "<UserList>\(entries)</UserList>", Self.xml)
            default:
                let number = request.address.path.split(separator: "/").last ?? ""
                return Self.answer(
                    request, "<user><UserId>\(number)</UserId><UserName>A</UserName><ShoeSize>9</ShoeSize></user>",
                    Self.xml)
            }
        }
        let host = try await TestHost(
            XMLUsersModule.self, AdapterConfiguration(["upstream": "upstream"]), upstream: upstream)
        let refusal = await #expect(throws: MirrorRefusal.self) {
            try await host.adapter.readMirror(MirrorRequest("users", deadline: .zero))
        }
        #expect(refusal?.detail == "the documents of the users take too long")
        #expect(upstream.asked.count == 2)
        #expect(try await host.adapter.readMirror(MirrorRequest("users", deadline: .seconds(600))).rows.count == 200)
    }

    @Test func `users are written in the namespace that their service has`() async throws {
        for (namespace, attribute) in [("", "<user>"), ("urn:example:hr", "<user xmlns=\"urn:example:hr\">")] {
            let declared = namespace.isEmpty ? "" : " xmlns='\(namespace)'"
            let upstream = try Self.scripted(
                [
                    "v1/list": (
                        "<UserList\(declared)><entry>\(Self.user(100, "<ShoeSize>1</ShoeSize>"))</entry></UserList>",
                        200
                    ),
                    "v2/user/100": ("<user\(declared)>\(Self.user(100, "<ShoeSize>9N</ShoeSize>"))</user>", 200),
                ])
            let host = try await TestHost(
                XMLUsersModule.self, AdapterConfiguration(["upstream": "upstream", "write": "through"]),
                upstream: upstream)
            _ = try await host.adapter.readMirror(MirrorRequest("users"))
            let change = MirrorChange(
                "users", "100", .replace, fields: ["UserId": 100, "UserName": "X", "ShoeSize": "9N"],
                idempotencyKey: "k", mayRepeat: false)
            #expect(
                try await host.adapter.writeMirror(change)
                    == .stored(["UserId": 100, "UserName": "A&B 100", "ShoeSize": "9N"]))
            let body = String(decoding: upstream.asked.last?.request.body ?? [], as: UTF8.self)
            #expect(body.contains(attribute), "\(body)")
        }
    }

    @Test func `a list that is not found is empty where the configuration says so, and no user contradicts it`()
        async throws
    {
        func read(
            _ emptyList: String?, _ answers: [String: (String, Int)] = [:], type: String = "text/plain",
            withSample: Bool = false
        ) async throws -> String {
            let configuration: WireDictionary =
                emptyList.map { ["upstream": "upstream", "emptyList": .string($0)] } ?? [
                    "upstream": "upstream"
                ]
            let host = try await TestHost(
                XMLUsersModule.self, AdapterConfiguration(configuration),
                upstream: try Self.scripted(answers, type: type))
            if withSample {
                try await host.records.unrestricted.create(
                    ["UserId": 100, "UserName": "A", "ShoeSize": "1"], in: "users")
            }
            do { return "\(try await host.adapter.readMirror(MirrorRequest("users")).rows.count)" } catch let refusal
                as MirrorRefusal
            { return refusal.kind.rawValue } catch let error as PorticoError { return error.code.rawValue }
        }
        let page = ["v1/list": ("<html>", 404), "v2/list": ("<html>", 404)]
        let user = "<user>\(Self.user(100, "<ShoeSize>1</ShoeSize>"))</user>"
        #expect(try await read(nil) == "upstream.failed")
        #expect(try await read("notFound") == "0")
        #expect(try await read("notFound", withSample: true) == "0")
        #expect(try await read("notFound", page, type: "text/html; charset=utf-8") == "unexpected")
        #expect(
            try await read("notFound", ["v2/user/100": (user, 200)], type: Self.xml, withSample: true) == "unexpected")
        #expect(try await read("notFound", ["v2/list": ("", 503)]) == "upstream.failed")
        // Entries without a document of any are no empty list.
        let entries = "<UserList><entry>\(Self.user(100))</entry></UserList>"
        #expect(try await read("notFound", ["v2/list": (entries, 200)], type: Self.xml) == "unexpected")
    }

    @Test func `under faults by seed a source gives every row as it is, or none`() async throws {
        let sources: [(any AdapterModule.Type, EntityName, WireDictionary, ScriptedUpstream.Answer)] = [
            (
                EmployeeSearchModule.self, "employees", [:],
                { request, _ in Self.employees(request, of: 250, page: 100) }
            ),
            (
                XMLUsersModule.self, "users", ["path": "users/"],
                { request, _ in Self.users(request, hasVersion1: true) }
            ),
            (
                XMLUsersModule.self, "users", ["path": "users/"],
                { request, _ in Self.users(request, hasVersion1: false) }
            ),
        ]
        var shares = Chaos.Shares()
        (shares.truncate, shares.reset, shares.lie, shares.fail) = (8, 8, 8, 8)
        for (module, entity, options, answer) in sources {
            var configuration = options
            configuration["upstream"] = "upstream"
            let url = try #require(UpstreamAddress("https://upstream.example/"))
            let system = ScriptedUpstream(url: url, answer: answer)
            func rows(_ upstream: any Upstream) async throws -> [WireDictionary] {
                let host = try await TestHost(module, AdapterConfiguration(configuration), upstream: upstream)
                var rows: [WireDictionary] = []
                var request = MirrorRequest(entity)
                while true {
                    let page = try await host.adapter.readMirror(request)
                    rows += page.rows
                    guard let next = page.next else { return rows }
                    request = MirrorRequest(entity, page: next)
                }
            }
            let genuine = try await rows(system)
            var (whole, failed) = (0, 0)
            for seed in UInt64(1)...200 {
                do {
                    #expect(
                        try await rows(RecordReplayUpstream(system, .upstream, Chaos(seed: seed, shares))) == genuine)
                    whole += 1
                } catch {
                    #expect(error is MirrorRefusal || error is UpstreamFailure || error is PorticoError, "\(error)")
                    failed += 1
                }
            }
            #expect(whole > 20 && failed > 20, "\(entity): \(whole), \(failed)")
        }
    }

    @Test func `a source that takes whatever comes does not conform`() async {
        let conformance = MirrorConformance(CredulousModule.self, "things", configuration: ["upstream": "upstream"]) {
            request, _ in Self.answer(request, "a b c", "text/plain")
        }
        let problems = await conformance.problems()
        #expect(problems.contains { $0.hasPrefix("a login page with the status 200 is taken for") })
        #expect(problems.contains { $0.hasPrefix("a document that is cut off is taken for") })
        #expect(problems.contains("the status 500 is taken for rows"))
    }

    @Test func `an employee of the contract has a key that stays, with and without an address`() async throws {
        let rows = #"""
            [{"firstName":"A","lastName":"B","division":"D","email":"A@Example.com","phoneNumber":"1"},
             {"firstName":"A","lastName":"B","division":"D","email":"","phoneNumber":"2"},
             {"firstName":"A","lastName":"B","division":"D","email":"","phoneNumber":"3"}]
            """#
        let page = try await Self.page(#"{"employees":\#(rows)}"#)
        let keys = page.rows.map { $0["id"]?.stringValue ?? "" }
        #expect(keys[0] == "a@example.com")
        #expect(Set(keys).count == 3)
        #expect(keys.allSatisfy { (1...40).contains($0.utf8.count) })
        let again = try await Self.page(#"{"employees":\#(rows)}"#)
        #expect(again == page)
        #expect(page.next == nil)
    }

    @Test func `an error of the employees' contract is a failure, whatever its status`() async throws {
        await #expect(throws: PorticoError.self) {
            try await Self.page(#"{"errorCode":"E1","errorMessage":"out of order","employees":[]}"#)
        }
    }

    @Test func `fewer employees than the answer says are refused`() async throws {
        await #expect(throws: MirrorRefusal.self) {
            try await Self.page(#"{"employees":[],"totalRows":40,"rowsPerPage":20,"pageIndex":0}"#)
        }
    }

    @Test(arguments: [#""totalRows":1"#, #""totalRows":-5"#, #""totalRows":"50""#, #""totalRows":50.5"#])
    func `a number of employees that the page itself contradicts is refused`(total: String) async throws {
        let row = #"{"firstName":"A","lastName":"B","division":"D","email":"a@example.com","phoneNumber":"1"}"#
        await #expect(throws: MirrorRefusal.self) {
            try await Self.page(#"{"employees":[\#(row),\#(row)],\#(total),"rowsPerPage":2,"pageIndex":0}"#)
        }
    }

    @Test func `a page that comes twice is not taken for the next one`() async throws {
        let rows = ["A", "B"].map {
            #"{"firstName":"\#($0)","lastName":"B","division":"D","email":"\#($0)@example.com"}"#
        }
        let body = #"{"employees":[\#(rows.joined(separator: ","))],"totalRows":4,"rowsPerPage":2}"#
        let next = try #require(try await Self.page(body).next)
        let refusal = await #expect(throws: MirrorRefusal.self) { try await Self.page(body, next) }
        #expect(refusal?.detail == "a page is the same as the one before")
    }

    @Test func `an answer says how old it was`() async throws {
        let url = UpstreamAddress("https://hr.example/services/")!
        let upstream = ScriptedUpstream(url: url) { request, _ in
            UpstreamResponse(
                address: request.address, status: 200, fields: ["Content-Type": "application/json", "Age": "77"],
                body: Array(#"{"employees":[],"totalRows":0}"#.utf8))
        }
        let host = try await TestHost(
            EmployeeSearchModule.self, AdapterConfiguration(["upstream": "hr"]), upstream: upstream)
        #expect(try await host.adapter.readMirror(MirrorRequest("employees")).age == .seconds(77))
        let calling = try await TestHost(
            EmployeeSearchModule.self, AdapterConfiguration(["upstream": "hr", "mode": "call"]), upstream: upstream)
        #expect(try await calling.call("employeeSearch").age == .seconds(77))
    }

    @Test func `employees whose number changes between two pages are not taken for a whole`() async throws {
        let row = #"{"firstName":"A","lastName":"B","division":"D","email":"a@example.com","phoneNumber":"1"}"#
        let first = try await Self.page(#"{"employees":[\#(row)],"totalRows":3,"rowsPerPage":1,"pageIndex":0}"#)
        let next = try #require(first.next)
        let error = await #expect(throws: PorticoError.self) {
            try await Self.page(#"{"employees":[\#(row)],"totalRows":2,"rowsPerPage":1,"pageIndex":1}"#, next)
        }
        #expect(error?.code == .upstreamFailed)
    }

    private static func page(_ body: String, _ page: String? = nil) async throws -> MirrorPage {
        let upstream = ScriptedUpstream(url: UpstreamAddress("https://hr.example/services/")!) { request, _ in
            #expect(request.address.target == "/services/OrganizationInterfaceImplMobile/employeeSearch")
            #expect(request.isIdempotent)
            return answer(request, body, "application/json")
        }
        let host = try await TestHost(
            EmployeeSearchModule.self, AdapterConfiguration(["upstream": "hr"]), upstream: upstream)
        return try await host.adapter.readMirror(MirrorRequest("employees", page: page))
    }

    @Test func `a mirror is written by no caller and has no samples and no import`() async throws {
        for module in [EmployeeSearchModule.self, XMLUsersModule.self] as [any AdapterModule.Type] {
            let configuration = AdapterConfiguration(["upstream": "hr", "freshFor": 60.0, "guard": ["share": 0.2]])
            let declaration = try module.declare(configuration)
            #expect(declaration.mirrors.map(\.upstream) == ["hr"])
            #expect(declaration.mirrors.first?.settings.freshFor == .seconds(60))
            #expect(declaration.mirrors.first?.settings.guard == MirrorSettings.Guard(share: 0.2, from: 20))
            #expect(declaration.entities.map(\.writers) == [.nobody])
            #expect(declaration.operations.allSatisfy { $0.effect == .reads })
            #expect(try module.make(configuration).sampleRecords().isEmpty)
            let local = try module.declare(AdapterConfiguration())
            #expect(local.mirrors.isEmpty && local.entities.map(\.writers) == [nil])
        }
    }

    @Test(
        arguments: [
            ["upstream": "No Name"], ["upstream": "hr", "freshFor": 0.0], ["upstream": "hr", "guard": ["share": 1.5]],
            ["upstream": "hr", "freshFor": 10.0, "staleFor": 5.0],
        ] as [WireDictionary])
    func `a mirror that makes no sense is refused`(values: WireDictionary) {
        #expect(throws: ConfigurationProblem.self) {
            try EmployeeSearchModule.declare(AdapterConfiguration(values))
        }
    }
}

/// A source that believes everything.
private enum CredulousModule: AdapterModule {
    static let name: AdapterName = "credulous"

    static func declare(_ configuration: AdapterConfiguration) throws -> AdapterDeclaration {
        let entity = Entity(
            "things", summary: "A thing.", key: EntityKey("id"), fields: [Field("id", .string, isRequired: true)])
        return AdapterDeclaration(
            name: name, title: "Credulous", summary: "Believes everything.", version: "1", entities: [entity],
            mirrors: [MirrorSource("things", of: "upstream")])
    }

    static func make(_ configuration: AdapterConfiguration) -> any Adapter { CredulousAdapter() }
}

private final class CredulousAdapter: Adapter {
    private let upstream = Mutex<(any Upstream)?>(nil)

    func start(_ context: AdapterContext) { upstream.withLock { $0 = context.upstream } }

    func handle(_ call: Call) async throws -> OperationResult { .nothing }

    func readMirror(_ request: MirrorRequest) async throws -> MirrorPage {
        guard let upstream = upstream.withLock({ $0 }) else { return MirrorPage([]) }
        let response = try await upstream.send(UpstreamRequest(.get, upstream.url))
        let words = Set(String(decoding: response.body, as: UTF8.self).split { !$0.isLetter }.map(String.init))
        return MirrorPage(words.sorted().map { ["id": .string($0)] })
    }
}
