import AdapterKit
import Testing
import WireFormats

@testable import StandInService

/// The SAP gateway and the OData 4.0 service over one set of rows.
@Suite struct AdmissionsTests {
    private let system = SystemOfRecord(
        SystemOfRecord.Settings(employees: 0, users: 0, verses: 0, run: "r", students: 25, odataPageSize: 10))
    private static let sap = AdmissionsService.version2Root
    private static let supplier = AdmissionsService.version4Root

    private func answer(
        _ method: String, _ path: String, _ body: String = "", _ fields: [(name: String, value: String)] = []
    ) -> ServiceResponse {
        var system = system
        let standard = [(name: "Accept", value: "application/json"), (name: "Host", value: "sap.example")]
        let all = fields + standard.filter { field in !fields.contains { $0.name == field.name } }
        let request = ServiceRequest(method: method, target: path, fields: all, body: Array(body.utf8))
        return request.map { system.respond(to: $0) } ?? ServiceResponse(0)
    }

    private func json(_ path: String) throws -> WireValue { try JSONFormat().read(answer("GET", path).body) }

    /// The fields that a session of SAP's gateway needs to write.
    private func session() -> [(name: String, value: String)] {
        let fetched = answer("GET", Self.sap, "", [(name: "X-CSRF-Token", value: "Fetch")])
        let cookie = fetched.fields["Set-Cookie"]?.prefix { $0 != ";" } ?? ""
        return [
            (name: "X-CSRF-Token", value: fetched.fields["X-CSRF-Token"] ?? ""),
            (name: "Cookie", value: String(cookie)),
        ]
    }

    /// The keys of all pages, and the delta link of the last.
    private func keys(_ first: String) throws -> (keys: [Int64], delta: String?) {
        var keys: [Int64] = []
        var next: String? = first
        while let path = next {
            let page = try json(path)
            let content = page["d"] ?? page
            let entities = (content["results"] ?? content["value"])?.arrayValue ?? []
            keys += entities.compactMap { $0["StudentID"]?.int64Value }
            let link = (content["__next"] ?? content["@odata.nextLink"])?.stringValue
            next = link.map {
                path.hasPrefix(Self.sap) ? String($0.dropFirst("http://sap.example".count)) : Self.supplier + $0
            }
            if next == nil { return (keys, (content["__delta"] ?? content["@odata.deltaLink"])?.stringValue) }
        }
        return (keys, nil)
    }

    @Test func `both services have the same students, page by page`() throws {
        let sap = try keys(Self.sap + "StudentCollection?$select=StudentID")
        #expect(sap.keys == Array(1...25) && sap.delta?.contains("!deltatoken=") == true)
        #expect(try keys(Self.supplier + "Students").keys == Array(1...25))
        #expect(answer("GET", Self.sap + "StudentCollection/$count").body == Array("25".utf8))
    }

    @Test func `numbers beyond all rows are refused`() {
        for option in [
            "$skiptoken=9223372036854775807-0-1", "$skiptoken=9223372036854775806-0-1&$skip=2147483647",
            "$skip=9223372036854775807", "$top=9223372036854775807",
        ] {
            #expect(answer("GET", Self.supplier + "Students?" + option).status == 400, "\(option)")
        }
    }

    @Test func `filters mean in both versions what SQL does`() throws {
        for (sap, supplier) in [
            ("StudentID gt 20", "StudentID gt 20"), ("substringof('a',LastName)", "contains(LastName,'a')"),
            ("GPA ge 2.5M", "GPA ge 2.5"), ("GPA eq null", "GPA eq null"),
            ("Active eq true and not (StudentID lt 5)", "Active eq true and not (StudentID lt 5)"),
            ("BirthDate lt datetime'2005-01-01T00:00:00'", "BirthDate lt 2005-01-01"),
            (
                "startswith(FirstName,'J') eq true or endswith(FirstName,'a')",
                "startswith(FirstName,'J') or endswith(FirstName,'a')"
            ),
            ("StudentID eq 3 or StudentID eq 4", "StudentID in (3,4)"),
            ("LastName eq 'O''Brien'", "LastName eq 'O''Brien'"),
        ] {
            let escaped = { (text: String) in text.replacing(" ", with: "%20") }
            let left = try keys(Self.sap + "StudentCollection?$filter=" + escaped(sap)).keys
            let right = try keys(Self.supplier + "Students?$filter=" + escaped(supplier)).keys
            #expect(left == right, "\(sap)")
        }
        for wrong in [
            "StudentID", "Nothing eq 1", "StudentID eq 'x", "StudentID eq 1 and", String(repeating: "(", count: 90),
        ] {
            let path = Self.supplier + "Students?$filter=" + wrong.replacing(" ", with: "%20")
            #expect(answer("GET", path).status == 400, "\(wrong)")
        }
    }

    @Test func `a delta has what changed since, and what is gone`() throws {
        let sap = try #require(try keys(Self.sap + "StudentCollection").delta?.dropFirst("http://sap.example".count))
        let tracked = [(name: "Prefer", value: "odata.track-changes,odata.maxpagesize=100")]
        let first = try JSONFormat().read(answer("GET", Self.supplier + "Students?$top=100", "", tracked).body)
        #expect(first["@odata.deltaLink"] == nil)
        let whole = try JSONFormat().read(
            answer("GET", Self.supplier + "Students?$skiptoken=20-0-1", "", tracked).body)
        let link = try #require(whole["@odata.deltaLink"]?.stringValue)
        _ = try system.admissions.rows().change(2, .update)
        _ = try system.admissions.rows().change(1, .delete)
        let changes = try json(Self.supplier + link)["value"]?.arrayValue
        #expect(changes?.count == 3 && changes?.last?["reason"] == "deleted")
        let atom = answer("GET", String(sap), "", [(name: "Accept", value: "application/atom+xml")])
        let text = String(decoding: atom.body, as: UTF8.self)
        #expect(atom.contentType.hasPrefix("application/atom+xml") && text.contains("deleted-entry"))
        // JSON has no place for what is gone.
        #expect(try json(String(sap))["d"]?["results"]?.arrayValue?.count == 2)
        #expect(answer("GET", Self.supplier + "Students?$deltatoken=q_1").status == 410)
    }

    @Test func `a write needs the token that belongs to its session`() throws {
        let body = #"{"FirstName":"A","LastName":"B","GPA":"3.5","BirthDate":"/Date(951782400000)/"}"#
        let refused = answer("POST", Self.sap + "StudentCollection", body)
        #expect(refused.status == 403 && refused.fields["X-CSRF-Token"] == "Required")
        let session = session()
        let made = answer("POST", Self.sap + "StudentCollection", body, session)
        #expect(made.status == 201 && made.fields["Location"]?.hasSuffix("StudentCollection(26)") == true)
        #expect(try json(Self.supplier + "Students(26)")["BirthDate"] == "2000-02-29")
        let other = [session[0], self.session()[1]]
        #expect(answer("POST", Self.sap + "StudentCollection", body, other).status == 403)
        system.admissions.endSessions()
        #expect(answer("POST", Self.sap + "StudentCollection", body, session).status == 403)
    }

    @Test func `students are changed by those who know their state`() throws {
        let (session, place) = (session(), Self.sap + "StudentCollection(1)")
        let merge = #"{"LastName":"C"}"#
        #expect(answer("MERGE", place, merge, session).status == 428)
        let tag = try #require(answer("GET", place).fields["ETag"])
        let known = session + [(name: "If-Match", value: tag)]
        let tunnel = known + [(name: "X-HTTP-Method", value: "MERGE")]
        #expect(answer("POST", place, merge, tunnel).status == 204)
        #expect(answer("MERGE", place, merge, known).status == 412)
        let entity = try json(Self.supplier + "Students(1)")
        #expect(entity["LastName"] == "C" && entity["Phones"]?.arrayValue != nil)
        let any = session + [(name: "If-Match", value: "*")]
        let empty = answer("PUT", place, #"{"FirstName":"","LastName":"D"}"#, any)
        #expect(empty.status == 400 && String(decoding: empty.body, as: UTF8.self).contains("must not be initial"))
        #expect(answer("PATCH", Self.supplier + "Students(1)", #"{"GPA":1.25}"#, any).status == 204)
        #expect(answer("DELETE", place, "", any).status == 204)
        #expect(answer("GET", place).status == 404)
    }

    @Test func `behind the portal a caller without its cookie gets the form`() {
        let portal = AdmissionsService(
            AdmissionsService.Settings(students: 3, pageSize: 10, requiresSignIn: true, seed: 1, run: "r"))
        func ask(_ method: String, _ path: String, _ body: String = "", _ cookie: String = "") -> ServiceResponse {
            let request = ServiceRequest(
                method: method, target: path, fields: [(name: "Cookie", value: cookie)], body: Array(body.utf8))
            return request.map(portal.respond) ?? ServiceResponse(0)
        }
        #expect(ask("GET", Self.sap + "StudentCollection").contentType.hasPrefix("text/html"))
        #expect(ask("POST", "/irj/portal", "j_user=ann&j_password=wrong").fields["Set-Cookie"] == nil)
        let signedIn = ask("POST", "/irj/portal", "j_user=ann&j_password=portico-demo")
        let cookie = String(signedIn.fields["Set-Cookie"]?.prefix { $0 != ";" } ?? "")
        #expect(signedIn.status == 302 && cookie.hasPrefix("MYSAPSSO2="))
        #expect(ask("GET", Self.sap + "StudentCollection", "", cookie).contentType == "application/json")
        portal.endSessions()
        #expect(ask("GET", Self.sap + "StudentCollection", "", cookie).contentType.hasPrefix("text/html"))
    }

    @Test func `an ordered failure has the shape of the service`() throws {
        for root in [Self.sap, Self.supplier] {
            let request = ServiceRequest(
                method: "GET", target: root + "x", fields: [(name: "Accept", value: "application/json")])
            let response = request.flatMap { AdmissionsService.response(.invalid("no"), to: $0) }
            let document = try JSONFormat().read(response?.body ?? [])
            #expect(document["error"]?["message"] != nil)
        }
    }
}
