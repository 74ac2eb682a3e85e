import AdapterKit
import Foundation
import HTTPTypes
import Testing

@testable import Gateway

/// What people see in browsers, and what browsers may do.
@Suite struct PageTests {
    private static let html: HTTPFields = [.accept: "text/html,application/xhtml+xml", .secFetchMode: "navigate"]

    private func form(_ fields: [(String, String)]) -> [UInt8] {
        Array(
            fields.map { "\($0)=\($1.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? "")" }
                .joined(separator: "&").utf8)
    }

    private func part(of text: String, after start: String, before end: String) -> String? {
        text.components(separatedBy: start).dropFirst().first?.components(separatedBy: end).first
    }

    @Test(arguments: [
        "/\t/evil.example", "/\n/evil.example", "//evil.example", "/\\evil.example", "https://evil.example", "",
    ])
    func `a path that a browser takes for another origin is no link`(path: String) {
        #expect(HTML.link(path, "Title").text == "Title")
    }

    @Test func `a person who is not signed in is sent to the sign-in page and back`() async throws {
        let host = try await NotesGateway()
        let sent = try await host.get(NotesGateway.notes, Self.html, as: nil)
        #expect(
            sent.status == 303 && sent.fields[.location] == "/auth/login?next=%2Fapi%2Fv1%2Fnotes%2Fnotes", "\(sent)")
        let program = try await host.get(NotesGateway.notes, [.accept: "text/html;q=0, application/json"], as: nil)
        #expect(program.status == 401 && program.fields[.wwwAuthenticate] != nil, "\(program)")
        let page = try await host.get(try #require(sent.fields[.location]), Self.html, as: nil)
        #expect(page.status == 200 && page.fields[.contentType]?.hasPrefix("text/html") == true)
        #expect(page.text.contains("Then you go on to /api/v1/notes/notes."))
        #expect(!page.text.contains("role=\"alert\""))
        let username = try #require(part(of: page.text, after: "id=\"username\"", before: ">"))
        let password = try #require(part(of: page.text, after: "id=\"password\"", before: ">"))
        #expect(username.contains("autofocus") && !password.contains("autofocus"))
        let token = try #require(part(of: page.text, after: "name=\"csrf\" value=\"", before: "\""))
        let cookie = String(try #require(page.fields[.setCookie]).prefix { $0 != ";" })

        var fields = Self.html
        fields[.contentType] = "application/x-www-form-urlencoded"
        fields[.cookie] = cookie
        func send(_ password: String, _ more: [(String, String)] = [], _ fields: HTTPFields) async throws
            -> GatewayAnswerRead
        {
            try await host.send(
                .post, "/auth/login",
                body: form([("username", "alice"), ("password", password), ("csrf", token)] + more), fields, as: nil)
        }
        let wrong = try await send("wrong", [("next", "/files")], fields)
        #expect(wrong.status == 401 && wrong.text.contains("role=\"alert\""), "\(wrong)")
        #expect(part(of: wrong.text, after: "id=\"password\"", before: ">")?.contains("autofocus") == true)
        #expect(wrong.text.contains("value=\"alice\"") && !wrong.text.contains("value=\"wrong\""))
        let right = try await send(NotesGateway.password, [("next", "/files")], fields)
        #expect(right.status == 303 && right.fields[.location] == "/files", "\(right)")
        let session = String(try #require(right.fields[.setCookie]).prefix { $0 != ";" })
        let away = try await send(NotesGateway.password, [("next", "//evil.example")], fields)
        #expect(away.status == 303 && away.fields[.location] == "/", "\(away)")
        fields[.cookie] = nil
        #expect(try await send(NotesGateway.password, [], fields).status == 403)

        var signedIn = Self.html
        signedIn[.cookie] = session
        let front = try await host.get("/auth/login", signedIn, as: nil)
        #expect(front.text.contains("alice") && !front.text.contains("id=\"password\""), "\(front)")
    }

    @Test func `a value is a page for people, and nothing in it becomes markup`() async throws {
        let host = try await NotesGateway()
        let path = try await host.note(["title": "<b>bold</b>", "text": "a & \"b\""])
        for target in [path, NotesGateway.notes] {
            let page = try await host.get(target, Self.html)
            #expect(page.status == 200 && page.fields[.contentType]?.hasPrefix("text/html") == true, "\(page)")
            #expect(page.text.contains("&lt;b&gt;bold&lt;/b&gt;") && !page.text.contains("<b>bold"))
        }
        let missing = try await host.get("\(NotesGateway.notes)/nothing", Self.html)
        #expect(missing.status == 404 && missing.text.contains("<html"), "\(missing)")
        let front = try await host.get("/", Self.html, as: nil)
        #expect(front.status == 200 && front.text.contains("Notes"), "\(front)")
    }

    @Test(arguments: [
        ("/", true), ("/a?b=c", true), ("//evil.example", false), ("https://evil.example", false), ("", false),
        ("a", false), ("/\\evil.example", false), ("/a b", false), ("/a\u{9}b", false), ("/é", false),
    ])
    func `a browser is sent on within this server alone`(text: String, isLocal: Bool) {
        #expect((LocalPath(text) != nil) == isLocal)
    }

    @Test func `the longest address that is remembered is remembered`() {
        let longest = "/" + String(repeating: "a", count: LocalPath.maximumBytes - 1)
        #expect(LocalPath(longest) != nil && LocalPath(longest + "a") == nil)
    }

    private static let listed = Entity(
        "records", summary: "Records.", key: EntityKey("id"),
        fields: [
            Field("id", .string), Field("title", .string), Field("count", .integer), Field("tags", .list(of: .string)),
            Field("sent", .date), Field("isDone", .bool),
        ])

    @Test(arguments: [
        ("field=title&comparison=contains&value=it%27s", "contains(title, 'it''s')"),
        ("field=title&comparison=startsWith&value=a", "startsWith(title, 'a')"),
        ("field=count&comparison=contains&value=3", "count eq '3'"),
        ("field=count&comparison=le&value=-3", "count le '-3'"),
        ("field=tags&comparison=contains&value=a", "has(tags, 'a')"),
        ("field=sent&comparison=ge&value=2026-01-01", "sent ge '2026-01-01T00:00:00Z'"),
        ("field=isDone&comparison=eq&value=true", "isDone eq 'true'"),
        ("field=title&comparison=ne&value=b&filter=count%20gt%201&search=&order=", "(count gt 1) and title ne 'b'"),
    ])
    func `the form of a list becomes a filter that the list takes`(query: String, filter: String) throws {
        let target = try #require(RequestTarget("/list?\(query)&cursor=x&limit=5"))
        let address = try #require(RecordFilterForm.address(target, Self.listed))
        let sent = try #require(RequestTarget(address))
        #expect(sent["filter"] == filter && Set(sent.query.map(\.name)) == ["filter", "limit"], "\(address)")
        _ = try FilterParser.parse(filter, for: Self.listed)
    }

    @Test func `a form without a value, or with a field that is none, narrows nothing`() throws {
        for query in ["field=title&comparison=eq&value=", "field=nothing&comparison=eq&value=a", "comparison=eq"] {
            let target = try #require(RequestTarget("/list?\(query)"))
            #expect(RecordFilterForm.address(target, Self.listed) == "/list", "\(query)")
        }
        #expect(RecordFilterForm.address(try #require(RequestTarget("/list?filter=a")), Self.listed) == nil)
    }

    @Test func `no session begins where its answer could not be written`() async throws {
        let host = try await NotesGateway()
        let login: WireValue = ["username": "bob", "password": .string(NotesGateway.password)]
        let refused = try await host.send(.post, "/auth/login", login, [.accept: "image/png"], as: nil)
        #expect(refused.status == 406, "\(refused)")
        #expect(try await host.get("/auth/sessions", as: "bob").json["sessions"] == [])
    }

    @Test func `pages of known origins may read answers, and ask what they may send`() async throws {
        let host = try await NotesGateway()
        let origin = try #require(HTTPField.Name("Origin"))
        let wanted = try #require(HTTPField.Name("Access-Control-Request-Method"))
        let allowed = try #require(HTTPField.Name("Access-Control-Allow-Origin"))
        let methods = try #require(HTTPField.Name("Access-Control-Allow-Methods"))
        let known = try await host.get(NotesGateway.notes, [origin: "https://app.example"])
        #expect(known.fields[allowed] == "https://app.example" && known.fields[methods] == nil)
        let asked = try await host.send(
            .options, NotesGateway.notes, [origin: "https://app.example", wanted: "PUT"], as: nil)
        #expect(asked.fields[methods]?.contains("PUT") == true, "\(asked.fields)")
        let plain = try await host.send(.options, NotesGateway.notes, [origin: "https://app.example"], as: nil)
        #expect(plain.fields[methods] == nil && plain.fields[.allow] != nil)
        let foreign = try await host.get(NotesGateway.notes, [origin: "https://evil.example"])
        #expect(foreign.fields[allowed] == nil && foreign.status == 200)
    }

    @Test func `secrets are stored by no cache, and only a login is asked for by a challenge`() async throws {
        let host = try await NotesGateway()
        #expect(try await host.get("/auth/me").fields[.cacheControl] == "no-store")
        #expect(try await host.get("/auth/keys").fields[.cacheControl] == "no-store")
        #expect(try await host.get("/auth/me", as: nil).fields[.wwwAuthenticate] != nil)
        #expect(try await host.get("\(NotesGateway.notes)/nothing").fields[.wwwAuthenticate] == nil)
    }

    @Test func `the description has the limits that differ from the usual ones`() async throws {
        let host = try await NotesGateway()
        let text = try await host.get("/openapi.json").text
        #expect(text.contains("\"maxLength\":40") && text.contains("\"minLength\":1"))
        #expect(!text.contains("\"maxLength\":\(TextLimits.defaultMaximum)"))
    }

    @Test func `empty fields of a form are none`() async throws {
        let host = try await NotesGateway()
        let body = "j_user=bob" + String(repeating: "&", count: 3_000) + "j_password=portico-demo"
        let answer = try await host.send(
            .post, "/irj/portal", body: Array(body.utf8), [.contentType: "application/x-www-form-urlencoded"], as: nil)
        #expect(answer.status == 200, "\(answer)")
    }
}

/// Parts of the pipeline that need no gateway.
@Suite struct PipelinePartsTests {
    @Test func `requests are let in up to the limit, urgent ones beyond it, and health always`() throws {
        let permits = RequestPermits(limit: 2, reserve: 1)
        #expect(permits.refusal(for: "/a") == nil)
        try permits.take(for: "/a")
        try permits.take(for: "/a")
        #expect(permits.refusal(for: "/a") != nil && permits.refusal(for: "/auth/me") == nil)
        #expect(throws: PorticoError.self) { try permits.take(for: "/a") }
        try permits.take(for: "/auth/me")
        #expect(throws: PorticoError.self) { try permits.take(for: "/auth/refresh") }
        try permits.take(for: "/health/live")
        for _ in 1...3 { permits.leave() }
        try permits.take(for: "/a")
        #expect(throws: PorticoError.self) { try permits.take(for: "/a") }
    }

    @Test func `a body may have as many bytes as the limit`() async throws {
        #expect(try await RequestBodySource.bytes([1, 2, 3]).collect(upTo: 3) == [1, 2, 3])
        await #expect(throws: PorticoError.self) { try await RequestBodySource.bytes([1, 2, 3]).collect(upTo: 2) }
    }

    @Test func `every response says how long it is and that it is no page`() {
        let framed = GatewayResponse(.ok, body: [1, 2]).framed()
        #expect(framed.headers[.contentLength] == "2" && framed.headers[.xContentTypeOptions] == "nosniff")
        #expect(framed.headers.contains { $0.name.canonicalName == "content-security-policy" })
        var head = GatewayResponse(.ok)
        head.frame(isForHead: true)
        #expect(head.headers[.contentLength] == nil && head.headers[.xContentTypeOptions] == "nosniff")
        for status in [HTTPResponse.Status.noContent, .notModified] {
            #expect(GatewayResponse(status).framed().headers[.contentLength] == nil)
        }
    }

    @Test func `what is long enough is compressed`() async throws {
        let encoder = try await NotesGateway().gateway.services.encoder
        for (count, isCompressed) in [(ContentCoding.minimumSize, true), (ContentCoding.minimumSize - 1, false)] {
            var response = GatewayResponse(.ok)
            encoder.compress([UInt8](repeating: 0x61, count: count), .gzip, into: &response)
            #expect((response.headers[.contentEncoding] == "gzip") == isCompressed)
            #expect((response.body.count < count) == isCompressed)
        }
    }
}
