import Foundation
import Testing
import ValueTree
import WireFormats

@testable import Client

private typealias Student = AdmissionsService.Student
private typealias School = AdmissionsService.School

/// What goes over the wire, with servers of both versions as a test says.
@Suite("An OData client")
struct ODataExchangeTests {
    private struct Wire: ODataCarrier {
        let transport: ScriptedTransport
        func response(to call: ServerCall) async throws -> TransportResponse {
            try await transport.send(TransportRequest(call, at: ServerAddress("http://sap.example/base")!, token: nil))
        }
    }

    private func service(
        _ version: ODataVersion, _ answer: @escaping @Sendable (TransportRequest) throws -> TransportResponse
    ) -> (AdmissionsService, ScriptedTransport) {
        let transport = ScriptedTransport { try answer($0) }
        let root = version == .v2 ? ["sap", "opu", "odata", "sap", "ADMISSIONS"] : ["odata", "v4", "admissions"]
        return (AdmissionsService(Wire(transport: transport), at: root, version: version), transport)
    }

    private static func json(_ text: String, status: Int = 200, _ headers: Header...) -> TransportResponse {
        TransportResponse(status: status, headers: headers, body: Array(text.utf8))
    }

    @Test("reads version 2's shapes as it reads version 4's: the same entities of either server")
    func interchangeable() async throws {
        let (old, asked) = service(.v2) { _ in
            Self.json(
                """
                {"d":{"__count":"91","results":[{"__metadata":{"uri":"x","type":"T","etag":"W/\\"7\\""},"StudentID":7,
                "LastName":"O'Neil","GPA":"3.10","BirthDate":"/Date(1204243200000)/","Registered":"/Date(1795262400000+0060)/",
                "School":{"SchoolID":3,"StateCode":"OH","Students":{"__deferred":{"uri":"y"}}},
                "Visits":{"results":[{"VisitID":1,"StudentID":7,"Interest":9}]},"Email":null}]}}
                """)
        }
        let (new, _) = service(.v4) { _ in
            Self.json(
                """
                {"@odata.count":91,"value":[{"@odata.etag":"W/\\"7\\"","@odata.type":"#T","StudentID":7,
                "LastName":"O'Neil","GPA":3.10,"BirthDate":"2008-02-29","Registered":"2026-11-21T13:00:00+01:00",
                "School":{"SchoolID":3,"StateCode":"OH"},"Visits":[{"VisitID":1,"StudentID":7,"Interest":9}],"Email":null}]}
                """)
        }
        func query(_ service: AdmissionsService) -> ODataSet<Student> {
            service.students.filter { $0.gpa > 3 }.expand { $0.school }.expand { $0.visits }.top(1)
        }
        let found = try await query(old).page(counting: true)
        #expect(found == (try await query(new).page(counting: true)))
        #expect(found.count == 91 && found.entities.first?.gpa == Decimal(written: 3.1))
        #expect(found.entities.first?.school?.stateCode == "OH" && found.entities.first?.visits?.count == 1)
        let url = try #require(asked.requests.first?.url)
        #expect(url.hasPrefix("http://sap.example/base/sap/opu/odata/sap/ADMISSIONS/Students?$filter=GPA%20gt%203M&"))
        #expect(url.hasSuffix("&$expand=School%2CVisits&$inlinecount=allpages"))
    }

    @Test("follows links from page to page, and to no other server", arguments: [ODataVersion.v2, .v4])
    func pages(_ version: ODataVersion) async throws {
        let (service, asked) = service(version) { request in
            let isSecond = request.url.contains("skiptoken=a%27b%20%2B")
            let row = #"{"StudentID":\#(isSecond ? 2 : 1)}"#
            let link =
                request.url.components(separatedBy: "?")[0].replacing("sap.example", with: "evil.example")
                + "?$top=2&$skiptoken=a'b%20%2B"
            if version == .v4 {
                return Self.json(#"{"value":[\#(row)]\#(isSecond ? "" : #","@odata.nextLink":"\#(link)""#)}"#)
            }
            return Self.json(#"{"d":{"results":[\#(row)]\#(isSecond ? "" : #","__next":"\#(link)""#)}}"#)
        }
        #expect(try await service.students.top(2).all().map(\.studentID) == [1, 2])
        #expect(asked.requests.allSatisfy { $0.url.hasPrefix("http://sap.example/base/") })
        #expect(asked.requests.count == 2)
        let page = try await service.students.page()
        #expect(throws: ClientError.self) {
            try ODataLinkReading(service.connection).call("http://evil.example/other?x=1")
        }
        #expect(page.nextLink != nil)
    }

    @Test("fetches version 2's token where it is asked for one, and sends the same again once")
    func tokens() async throws {
        let (service, asked) = service(.v2) { request in
            func header(_ name: String) -> String? { request.headers.first { $0.name == name }?.value }
            if header("X-CSRF-Token") == "Fetch" { return Self.json("{}", Header("x-csrf-token", "t1")) }
            guard header("X-CSRF-Token") == "t1" else {
                return Self.json("", status: 403, Header("X-CSRF-Token", "Required"))
            }
            return Self.json(#"{"d":{"StateCode":"XX","Name":"New"}}"#, status: 201)
        }
        let made = try await service.states.create(.init(stateCode: "XX", name: "New"))
        #expect(made.name == "New")
        #expect(asked.requests.map(\.method) == ["POST", "GET", "POST"])
        _ = try await service.states.create(.init(stateCode: "XX", name: "New"))
        #expect(asked.requests.count == 4, "the token is kept")

        let (stubborn, tries) = self.service(.v2) { _ in
            Self.json("{}", status: 403, Header("X-CSRF-Token", "Required"))
        }
        await #expect(throws: ClientError.self) { try await stubborn.states.create(.init(stateCode: "XX")) }
        #expect(tries.requests.filter { $0.method == "POST" }.count <= 2)
    }

    @Test("changes what was changed and nothing else, under the ETag that was read", arguments: [ODataVersion.v2, .v4])
    func updates(_ version: ODataVersion) async throws {
        let entity = #"{"StudentID":7,"LastName":"B","GPA":\#(version == .v2 ? "\"3.1\"" : "3.1")}"#
        let (service, asked) = service(version) { request in
            if request.method == "MERGE" { return TransportResponse(status: 204) }
            return Self.json(version == .v2 ? #"{"d":\#(entity)}"# : entity)
        }
        var student = Student(studentID: 7, lastName: "A", gpa: 3, visits: [])
        student.odata.etag = "W/\"5\""
        let changed = try await service.students.update(student) {
            $0.lastName = "B"
            $0.gpa = Decimal(written: 3.1)
            $0.email = nil
        }
        #expect(changed.lastName == "B")
        let request = try #require(asked.requests.first)
        #expect(request.method == (version == .v2 ? "MERGE" : "PATCH") && request.url.hasSuffix("/Students(7)"))
        #expect(request.headers.contains(Header("If-Match", "W/\"5\"")))
        #expect(
            String(decoding: request.body ?? [], as: UTF8.self)
                == #"{"LastName":"B","GPA":"3.1"}"#)
        let before = asked.requests.count
        try await service.students.update(student) { _ in }
        #expect(asked.requests.count == before, "nothing was changed, so nothing is sent")
    }

    @Test("creates related entities with theirs, and leaves out what is not set")
    func deep() async throws {
        let (service, asked) = service(.v4) { _ in Self.json(#"{"SchoolID":1}"#, status: 201) }
        let state = AdmissionsService.State(stateCode: "XX", name: "New")
        _ = try await service.schools.create(
            School(name: "S", state: state, students: [Student(studentID: 1, gpa: Decimal(written: 3.25))]))
        #expect(
            String(decoding: asked.requests[0].body ?? [], as: UTF8.self)
                == #"{"Name":"S","State":{"StateCode":"XX","Name":"New"},"Students":[{"StudentID":1,"GPA":"3.25"}]}"#)
        await #expect(throws: ClientError.self) { try await service.students.delete(Student(lastName: "no key")) }
    }

    @Test("tells a refusal with what it is about, in either version's shape")
    func refusals() async throws {
        let (new, _) = service(.v4) { _ in
            Self.json(
                #"{"error":{"code":"c","message":"No.","target":"GPA","details":[{"code":"d","message":"e","target":"f"}]}}"#,
                status: 400)
        }
        let (old, _) = service(.v2) { _ in
            Self.json(
                #"{"error":{"code":"c","message":{"lang":"en","value":"No."},"innererror":{"errordetails":[{"code":"d","message":"e","propertyref":"f"}]}}}"#,
                status: 400)
        }
        for (service, target) in [(new, "GPA" as String?), (old, nil)] {
            let error = await #expect(throws: ClientError.self) { try await service.students.all() }
            let details = [Refusal.Detail(code: "d", message: "e", target: "f")]
            #expect(
                error == .refused(Refusal(status: 400, code: "c", message: "No.", target: target, details: details)))
        }
    }

    @Test("reads what changed since a delta link, removals among it")
    func changes() async throws {
        let (service, asked) = service(.v4) { request in
            guard request.url.contains("deltatoken") else {
                return Self.json(
                    #"{"value":[{"StudentID":1}],"@odata.deltaLink":"/base/odata/v4/admissions/Students?$deltatoken=1"}"#
                )
            }
            return Self.json(
                #"""
                {"value":[{"StudentID":2,"LastName":"B"},{"@removed":{"reason":"deleted"},"@id":"Students(1)"},
                {"@odata.context":"$metadata#Students/$deletedEntity","id":"Students(3)","reason":"changed"}],
                "@odata.deltaLink":"Students?$deltatoken=2"}
                """#)
        }
        let (students, link) = try await service.students.tracked()
        #expect(students.map(\.studentID) == [1])
        #expect(asked.requests[0].headers.contains(Header("Prefer", "odata.track-changes")))
        let changes = try await service.students.changes(since: link)
        #expect(changes.changed.map(\.studentID) == [2] && changes.deltaLink == "Students?$deltatoken=2")
        #expect(
            changes.removed == [.init(id: "Students(1)", isDeleted: true), .init(id: "Students(3)", isDeleted: false)])
        #expect(try await service.students.changes(since: try #require(changes.deltaLink)).changed.count == 1)
    }

    @Test("keeps a portal's cookies, sends them back, and says when they have ended")
    func portal() async throws {
        let transport = ScriptedTransport { request in
            let cookie = request.headers.first { $0.name == "Cookie" }?.value
            if request.url.hasSuffix("/irj/portal") {
                let form = String(decoding: request.body ?? [], as: UTF8.self)
                guard form == "j_user=a%26b&j_password=p%3D1" else { return TransportResponse(status: 401) }
                let cookies =
                    "MYSAPSSO2=v1; Expires=Wed, 21 Oct 2037 07:28:00 GMT; HttpOnly, other=2; Path=/, gone=; Max-Age=0"
                return TransportResponse(status: 302, headers: [Header("set-cookie", cookies)])
            }
            guard cookie == "MYSAPSSO2=v1; other=2" else { return TransportResponse(status: 401) }
            return Self.json(#"{"d":{"results":[]}}"#)
        }
        let portal = PortalSession(server: ServerAddress("http://sap.example")!, transport: transport)
        let service = AdmissionsService(portal, at: ["sap"], version: .v2)
        await #expect(throws: ClientError.notSignedIn) { try await service.students.all() }
        await #expect(throws: ClientError.self) { try await portal.signIn(name: "a&b", password: "wrong") }
        try await portal.signIn(name: "a&b", password: "p=1")
        #expect(try await service.students.all() == [])
        await portal.signOut()
        await #expect(throws: ClientError.notSignedIn) { try await service.students.all() }
    }
}
