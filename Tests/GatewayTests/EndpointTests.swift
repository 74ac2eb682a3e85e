import AdapterKit
import Foundation
import HTTPTypes
import Testing
import WireFormats

@testable import Gateway

/// The endpoints of the public listener, each through all steps of the pipeline.
@Suite struct EndpointTests {
    private let notes = NotesGateway.notes

    @Test func `a record is created, read, changed, replaced and deleted`() async throws {
        let host = try await NotesGateway()
        let made = try await host.send(.post, notes, ["title": "first", "text": "body", "owner": "bob"])
        #expect(made.status == 201 && made.json["owner"] == "alice" && made.json["title"] == "first", "\(made)")
        let path = try #require(made.fields[.location])
        #expect(try await host.get(path).json == made.json)
        let changed = try await host.send(.patch, path, ["text": "new"])
        #expect(changed.status == 200 && changed.json["title"] == "first" && changed.json["text"] == "new")
        let replaced = try await host.send(.put, path, ["title": "only"])
        #expect(replaced.status == 200 && replaced.json["text"] == "")
        #expect(try await host.send(.delete, path).status == 204)
        let gone = try await host.get(path)
        #expect(gone.status == 404 && gone.code == "record.notFound")
        #expect(gone.json["error"]?["requestId"] == "r1")
        let chosen = try await host.send(.put, "\(notes)/chosen", ["title": "x"])
        #expect(chosen.status == 201 && chosen.json["id"] == "chosen")
        let twice = try await host.send(.post, notes, ["id": "chosen", "title": "x"])
        #expect(twice.status == 409 && twice.code == "record.exists")
    }

    @Test func `a record is its owner's and theirs it is shared with`() async throws {
        let host = try await NotesGateway()
        let path = try await host.note(["title": "private"])
        #expect(try await host.get(path, as: "bob").status == 404)
        #expect(try await host.send(.patch, path, ["title": "stolen"], as: "bob").status == 404)
        let id = path.components(separatedBy: "/").last ?? ""
        let shared = try await host.send(
            .post, "/api/v1/notes/operations/share", ["id": .string(id), "with": "bob"])
        #expect(shared.status == 200 && shared.json["sharedWith"] == ["bob"], "\(shared)")
        #expect(try await host.get(path, as: "bob").status == 200)
        let refused = try await host.send(.patch, path, ["title": "stolen"], as: "bob")
        #expect(refused.status == 403 && refused.code == "access.denied")
        #expect(try await host.get(notes, as: nil).status == 401)
    }

    @Test func `what an operation keeps of rows that are a caller's is that caller's`() async throws {
        let host = try await NotesGateway()
        _ = try await host.note(["title": "private"])
        // Alice and bob have the same roles.
        for _ in 0..<2 {
            #expect(try await host.get("/titles").json == ["private"])
            #expect(try await host.get("/titles", as: "bob").json == [])
        }
        _ = try await host.note(["title": "own"], as: "bob")
        #expect(try await host.get("/titles", as: "bob").json == ["own"])
        #expect(try await host.get("/titles").json == ["private"])
    }

    @Test func `entity tags guard reads and writes, in every format`() async throws {
        let host = try await NotesGateway()
        let path = try await host.note()
        let tag = try #require(try await host.get(path).fields[.eTag])
        let unchanged = try await host.get(path, [.ifNoneMatch: tag])
        #expect(unchanged.status == 304 && unchanged.body.isEmpty)
        #expect(try await host.send(.patch, path, ["text": "1"], [.ifMatch: tag]).status == 200)
        let stale = try await host.send(.patch, path, ["text": "2"], [.ifMatch: tag])
        #expect(stale.status == 412 && stale.code == "record.preconditionFailed")
        let other = try #require(try await host.get(path, [.accept: "application/cbor"]).fields[.eTag])
        #expect(try await host.send(.delete, path, [.ifMatch: other]).status == 204)
        #expect(try await host.send(.put, path, ["title": "x"], [.ifMatch: "*"]).status == 412)
        #expect(try await host.send(.put, path, ["title": "x"], [.ifNoneMatch: "*"]).status >= 201)
        #expect(try await host.send(.put, path, ["title": "x"], [.ifNoneMatch: "*"]).status == 412)
    }

    @Test func `lists are filtered, searched, ordered, selected, counted and paged`() async throws {
        let host = try await NotesGateway()
        for number in 0..<7 {
            _ = try await host.note(["title": .string("mark \(number)"), "stars": .int64(Int64(number % 3))])
        }
        let query = "order=-title&select=title&limit=3&count=true&filter=startsWith(title,'mark')"
        var (titles, cursor): ([String], String?) = ([], nil)
        repeat {
            let page = try await host.get("\(notes)?\(query)" + (cursor.map { "&cursor=\($0)" } ?? ""))
            #expect(page.json["total"] == 7, "\(page)")
            titles += page.json["items"]?.arrayValue?.compactMap { $0["title"]?.stringValue } ?? []
            #expect(page.json["items"]?.arrayValue?.first?.dictionaryValue?.keys == ["title"])
            cursor = page.json["next"]?.stringValue
        } while cursor != nil
        #expect(titles == (0..<7).reversed().map { "mark \($0)" })
        func count(_ query: String) async throws -> Int? {
            try await host.get("\(notes)?\(query)").json["items"]?.arrayValue?.count
        }
        #expect(try await count("filter=stars%20eq%200") == 3)
        #expect(try await count("filter=stars%20in%20(1,2)%20and%20not%20(title%20eq%20'mark%201')") == 3)
        #expect(try await count("search=mark%203") == 1)
        #expect(try await count("filter=stars%20eq%20null") == 0)
        for (name, value) in [
            ("filter", "title%20eq"), ("filter", "nothing%20eq%201"), ("order", "nothing"), ("limit", "0"),
            ("limit", "1001"),
            ("cursor", "x"), ("colour", "red"), ("select", "nothing"), ("count", "maybe"),
            ("filter", String(repeating: "a", count: 5000)),
        ] {
            let answer = try await host.get("\(notes)?\(name)=\(value)")
            #expect(answer.status == 400 && answer.target == name, "\(name)=\(value): \(answer)")
        }
        #expect(try await host.get("\(notes)?limit=1&limit=2").target == "limit")
    }

    @Test func `wrong fields are named, and unreadable bodies refused`() async throws {
        let host = try await NotesGateway()
        let wrong: [(WireValue, String)] = [
            (["title": 5], "title"), (["title": ""], "title"), (["text": "x"], "title"),
            (["title": "x", "stars": 6], "stars"),
            (["title": "x", "due": "tomorrow"], "due"), (["title": "x", "sharedWith": "bob"], "sharedWith"),
            (["title": "x", "nothing": 1], "nothing"), (["title": .string(String(repeating: "a", count: 41))], "title"),
            (["title": "x", "attachments": .array(Array(repeating: "a", count: 6))], "attachments"),
        ]
        for (value, target) in wrong {
            let answer = try await host.send(.post, notes, value)
            #expect(answer.status == 400 && answer.target?.hasPrefix(target) == true, "\(value): \(answer)")
        }
        let json: HTTPFields = [.contentType: "application/json"]
        #expect(try await host.send(.post, notes, body: Array("{".utf8), json).code == "request.malformed")
        #expect(
            try await host.send(.post, notes, body: Array("{\"title\":\"a\",\"title\":\"b\"}".utf8), json).code
                == "request.duplicateKey")
        #expect(try await host.send(.post, notes, body: Array("[]".utf8), json).status == 400)
        #expect(try await host.send(.post, notes, body: Array("x".utf8), [.contentType: "image/png"]).status == 415)
        #expect(
            try await host.send(
                .post, notes, body: Array("{}".utf8), [.contentType: "application/json", .contentEncoding: "rot13"]
            ).status == 415)
        let small = try await NotesGateway { $0.limits.body = 10 }
        #expect(try await small.send(.post, notes, ["title": "far too long"]).status == 413)
    }

    @Test(arguments: [FormatName.json, .plist, .bplist, .xml, .cbor])
    func `a record is written and read in every format`(name: FormatName) async throws {
        let host = try await NotesGateway()
        let format = try #require(FormatCatalogue.standard[name])
        let type = format.mediaTypeWritten.description
        let fields: WireDictionary = ["title": "é ‹&>", "text": "line\nline", "sharedWith": ["bob"]]
        let made = try await host.send(
            .post, notes, body: format.write(.dictionary(fields), options: WritingOptions()),
            [.contentType: type, .accept: type])
        #expect(made.status == 201, "\(made)")
        #expect(made.fields[.contentType]?.hasPrefix(type) == true)
        let read = try await host.get(try #require(made.fields[.location]))
        #expect(
            read.json["title"] == "é ‹&>" && read.json["text"] == "line\nline" && read.json["sharedWith"] == ["bob"])
    }

    @Test func `what cannot be answered in the wanted format is refused before it is done`() async throws {
        let host = try await NotesGateway()
        let refused = try await host.send(.post, notes, ["title": "x"], [.accept: "image/png"])
        #expect(refused.status == 406)
        #expect(try await host.get(notes).json["items"] == [])
        #expect(try await host.get("\(notes)?format=cbor").fields[.contentType]?.hasPrefix("application/cbor") == true)
        #expect(try await host.get("\(notes)?format=nothing").status == 406)
    }

    @Test func `operations take members of the path, of the query and of the body`() async throws {
        let host = try await NotesGateway()
        #expect(try await host.get("/double/21").json["doubled"] == 42)
        #expect(try await host.get("/double?number=-4").json["doubled"] == -8)
        #expect(try await host.get("/double?number=x").target == "number")
        #expect(try await host.get("/double").status == 400)
        let unknown = try await host.get("/double?number=1&more=2")
        #expect(unknown.status == 400 || unknown.json["doubled"] == 2)
        let code = try await host.send(.post, "/api/v1/notes/operations/fail", ["kind": "code"])
        #expect(code.status == 409 && code.target == "kind")
        let upstream = try await host.send(.post, "/api/v1/notes/operations/fail", ["kind": "upstream"])
        #expect(upstream.status == 502 && upstream.fields[.retryAfter] == "7")
        let refused = try await host.send(.post, "/api/v1/notes/operations/fail", ["kind": "refusal"])
        #expect(refused.status == 502 && refused.code == "upstream.failed" && !refused.text.contains("page"))
        let defect = try await host.send(.post, "/api/v1/notes/operations/fail", ["kind": "defect"])
        #expect(defect.status == 500 && defect.code == "server.internal" && !defect.text.contains("Cocoa"))
        let hidden = try await host.send(.post, "/api/v1/notes/operations/fail", ["kind": "internal"])
        #expect(hidden.status == 500 && hidden.target == nil && !hidden.text.contains("installed"), "\(hidden.text)")
        #expect(hidden.text.contains("Something went wrong on the server."))
        #expect(try await host.send(.post, "/api/v1/notes/operations/clear").status == 404)
        #expect(try await host.get("/api/v1/notes/operations/fail").status == 405)
    }

    @Test func `a mount gets what is at its root and below`() async throws {
        let host = try await NotesGateway()
        #expect(try await host.get("/files/a%20b?c=d").text == "/files/a%20b?c=d alice")
        #expect(try await host.get("/files").status == 200)
        let refused = try await host.get("/files/refusal")
        #expect(refused.status == 502 && refused.code == "upstream.failed")
        let posted = try await host.send(.post, "/files/x", body: [1, 2, 3], [.xRequestedWith: "X"])
        #expect(posted.status == 201 && posted.body == [1, 2, 3], "\(posted)")
        let head = try await host.send(.head, "/files/x")
        #expect(head.status == 200 && head.body.isEmpty)
        #expect(try await host.send(.delete, "/files/x").status == 405)
    }

    @Test func `a mount is reached by whom the adapter's access and its own let in, unless it decides itself`()
        async throws
    {
        let host = try await NotesGateway()
        let anonymous = try await host.send(.get, "/files/x", as: nil)
        #expect(anonymous.status == 401 && anonymous.code == "auth.required", "\(anonymous)")
        let other = try await host.get("/drafts/x")
        #expect(other.status == 403 && other.code == "access.denied", "\(other)")
        #expect(try await host.send(.get, "/leaflets/x", as: nil).status == 200)
    }

    @Test func `accounts sign in, refresh, change their passwords and sign out`() async throws {
        let host = try await NotesGateway()
        let wrong = try await host.send(.post, "/auth/login", ["username": "alice", "password": "wrong"], as: nil)
        #expect(wrong.status == 401 && wrong.code == "auth.invalid", "\(wrong)")
        let signedIn = try await host.send(
            .post, "/auth/login", ["username": "alice", "password": .string(NotesGateway.password)], as: nil)
        #expect(
            signedIn.status == 200 && signedIn.json["user"]?["name"] == "alice"
                && signedIn.json["tokenType"] == "Bearer")
        #expect(signedIn.fields[.cacheControl] == "no-store")
        let cookie = try #require(signedIn.fields[.setCookie])
        #expect(cookie.hasPrefix("portico_session=") && cookie.contains("HttpOnly"))
        let bearer: HTTPFields = [.authorization: "Bearer \(signedIn.json["accessToken"]?.stringValue ?? "")"]
        #expect(try await host.get("/auth/me", bearer, as: nil).json["name"] == "alice")
        #expect(try await host.get("/auth/me", as: nil).status == 401)
        #expect(try await host.get("/auth/me", [.authorization: "Bearer nonsense"], as: nil).status == 401)
        let pair = try await host.send(
            .post, "/auth/refresh", ["refreshToken": signedIn.json["refreshToken"] ?? .null], as: nil)
        #expect(pair.status == 200 && pair.json["accessToken"] != nil)
        #expect(try await host.send(.post, "/auth/refresh", ["refreshToken": "nonsense"], as: nil).status == 401)
        let value = cookie.prefix { $0 != ";" }
        let session: HTTPFields = [.cookie: String(value)]
        #expect(try await host.get("/auth/me", session, as: nil).status == 200)
        let sessions = try await host.get("/auth/sessions", session, as: nil)
        #expect(sessions.json["sessions"]?.arrayValue?.contains { $0["current"] == true } == true, "\(sessions)")
        let unguarded = try await host.send(.post, notes, ["title": "x"], session, as: nil)
        #expect(unguarded.status == 403 && unguarded.code == "access.csrfRequired", "\(unguarded)")
        var fetching = session
        fetching[.xCSRFToken] = "Fetch"
        var guarded = session
        guarded[.xCSRFToken] = try #require(try await host.get("/auth/me", fetching, as: nil).fields[.xCSRFToken])
        #expect(try await host.send(.post, notes, ["title": "x"], guarded, as: nil).status == 201)
        let same = try await host.send(
            .post, "/auth/password", ["old": "wrong", "new": "another long password"], guarded, as: nil)
        #expect(same.status == 401 || same.status == 403, "\(same)")
        let changed = try await host.send(
            .post, "/auth/password", ["old": .string(NotesGateway.password), "new": "another long password"], guarded,
            as: nil)
        #expect(changed.status < 300, "\(changed)")
        #expect(try await host.get("/auth/me").status == 401)
        let portal = try await host.send(
            .post, "/irj/portal", body: Array("j_user=bob&j_password=portico-demo".utf8),
            [.contentType: "application/x-www-form-urlencoded"], as: nil)
        #expect(portal.status < 400 && portal.fields[.setCookie]?.hasPrefix("portico_session=") == true, "\(portal)")
        let bobs: HTTPFields = [
            .cookie: String(portal.fields[.setCookie]?.prefix { $0 != ";" } ?? ""), .xRequestedWith: "X",
        ]
        #expect(try await host.send(.post, "/auth/logout", bobs, as: nil).status == 204)
        #expect(try await host.get("/auth/me", bobs, as: nil).status == 401)
        #expect(try await host.get("/auth/jwks.json", as: nil).json["keys"]?.arrayValue?.isEmpty == false)
        #expect(try await host.get("/auth/login", as: nil).text.contains("<form"))
    }

    @Test func `keys reach what they are for and nothing else`() async throws {
        let host = try await NotesGateway()
        let made = try await host.send(
            .post, "/auth/keys", ["title": "script", "readOnly": true, "adapters": ["notes"]])
        #expect(made.status == 201, "\(made)")
        let key: HTTPFields = [.authorization: "Bearer \(made.json["key"]?.stringValue ?? "")"]
        #expect(try await host.get(notes, key, as: nil).status == 200)
        #expect(try await host.send(.post, notes, ["title": "x"], key, as: nil).status == 403)
        let listed = try await host.get("/auth/keys")
        #expect(listed.json["keys"]?.arrayValue?.first?["title"] == "script" && !listed.text.contains("\"key\":"))
        let id = try #require(made.json["id"]?.stringValue)
        #expect(try await host.send(.delete, "/auth/keys/\(id)").status == 204)
        #expect(try await host.get(notes, key, as: nil).status == 401)
        #expect(try await host.send(.delete, "/auth/keys/\(id)").status == 404)
        #expect(listed.json["adapters"] == ["notes"])
        let mistyped = try await host.send(.post, "/auth/keys", ["title": "script", "adapters": ["note"]])
        #expect(mistyped.status == 400 && mistyped.text.contains("There is no adapter note. Did you mean notes?"))
    }

    @Test func `conditional requests are described where they are honoured, once each`() async throws {
        let host = try await NotesGateway()
        let document = try await host.get("/openapi.json", as: nil).json
        let record = document["paths"]?["/api/v1/notes/notes/{id}"]
        func conditions(_ method: String) -> [String] {
            (record?[method]?["parameters"]?.arrayValue ?? []).compactMap { $0["$ref"]?.stringValue }
                .map { String($0.split(separator: "/").last ?? "") }
        }
        #expect(conditions("get") == ["IfChanged"] && conditions("patch") == ["IfMatch"])
        #expect(conditions("put") == ["IfMatch", "IfAbsent"] && conditions("delete") == ["IfMatch"])
        #expect(document["components"]?["parameters"]?["IfMatch"]?["name"] == "If-Match")
        for method in ["get", "patch", "put"] {
            #expect(record?[method]?["responses"]?["200"]?["headers"]?["ETag"] != nil, "\(method)")
        }
        #expect(document["paths"]?["/api/v1/notes/notes"]?["get"]?["responses"]?["200"]?["headers"] == nil)
        let made = try await host.send(.post, notes, ["title": "t", "text": ""])
        let id = try #require(made.json["id"]?.stringValue)
        let stale = try await host.send(.patch, "\(notes)/\(id)", ["title": "u"], [.ifMatch: "\"x\""])
        #expect(stale.status == 412 && stale.text.contains("send that in If-Match"))
    }

    @Test func `calls of a batch are answered under their ids, each as if it had come alone`() async throws {
        let host = try await NotesGateway()
        let answer = try await host.send(
            .post, "/batch",
            [
                "calls": [
                    ["id": "a", "method": "POST", "path": .string(notes), "body": ["title": "x"]],
                    ["id": "b", "method": "GET", "path": "/double/4"],
                    ["id": "c", "method": "GET", "path": "/nothing"],
                    ["id": "d", "method": "GET", "path": "/auth/me", "headers": ["Accept": "application/cbor"]],
                    ["id": "e", "method": "POST", "path": "/batch", "body": ["calls": []]],
                ]
            ])
        #expect(answer.status == 200, "\(answer)")
        let answers = try #require(answer.json["answers"]?.arrayValue)
        #expect(answers.map { $0["id"] } == ["a", "b", "c", "d", "e"])
        #expect(answers.prefix(4).map { $0["status"]?.int64Value } == [201, 200, 404, 200])
        #expect(answers[4]["status"]?.int64Value ?? 0 >= 400)
        #expect(answers[1]["body"]?["doubled"] == 8)
        for wrong in [
            ["calls": 1], ["calls": [["id": "a"]]], ["calls": [["id": "a", "method": "GET", "path": "x"]]], [:],
        ] as [WireValue] {
            let answer = try await host.send(.post, "/batch", wrong)
            let inner = answer.json["answers"]?.arrayValue?.first?["status"]?.int64Value ?? 0
            #expect(answer.status == 400 || inner == 400, "\(wrong): \(answer)")
        }
        let small = try await NotesGateway { $0.limits.batch = 1 }
        let call: WireValue = ["id": "a", "method": "GET", "path": "/double/4"]
        #expect(try await small.send(.post, "/batch", ["calls": [call]]).status == 200)
        let two = try await small.send(
            .post, "/batch", ["calls": [call, ["id": "b", "method": "GET", "path": "/double/4"]]])
        #expect(two.status == 400 && two.code == "request.limitExceeded")
    }

    @Test func `a device pulls what it lacks and pushes each change once`() async throws {
        let host = try await NotesGateway()
        _ = try await host.note(["title": "there"])
        let first = try await host.send(.post, "/sync/v1/pull", ["collections": ["notes"]])
        #expect(first.status == 200 && first.json["operations"]?.arrayValue?.count == 1, "\(first)")
        #expect(first.json["reset"] == ["notes"] && first.json["operations"]?.arrayValue?.first?["operation"] == "put")
        let checkpoint = try #require(first.json["complete"]?["checkpoint"], "\(first)")
        let mutation: WireValue = [
            "sequence": 1, "operation": "create", "collection": "notes", "id": "made",
            "fields": ["title": "by a device"],
        ]
        let push: WireValue = ["clientId": "0f8fad5b-d9cb-469f-a165-70867728950e", "mutations": [mutation]]
        for _ in 0..<2 {
            let pushed = try await host.send(.post, "/sync/v1/push", push)
            #expect(pushed.json["outcomes"]?.arrayValue?.first?["outcome"] == "applied", "\(pushed)")
        }
        #expect(try await host.get("\(notes)/made").json["title"] == "by a device")
        let other = try await host.send(.post, "/sync/v1/push", push, as: "bob")
        #expect(other.status == 403, "\(other)")
        let next = try await host.send(.post, "/sync/v1/pull", ["collections": ["notes"], "checkpoint": checkpoint])
        #expect(next.json["operations"]?.arrayValue?.map { $0["id"] } == ["made"], "\(next)")
        let small = try await host.send(.post, "/sync/v1/pull", ["collections": ["notes"], "limit": 1])
        #expect(small.json["complete"] == nil && small.json["next"] != nil, "\(small)")
        let rejected: WireValue = [
            "sequence": 2, "operation": "create", "collection": "notes", "id": "wrong", "fields": ["title": ""],
        ]
        let refused = try await host.send(
            .post, "/sync/v1/push", ["clientId": "0f8fad5b-d9cb-469f-a165-70867728950e", "mutations": [rejected]])
        #expect(refused.json["outcomes"]?.arrayValue?.first?["outcome"] == "rejected", "\(refused)")
        #expect(try await host.send(.post, "/sync/v1/pull", ["collections": ["nothing"]]).status >= 400)
        let stale = try await host.send(.post, "/sync/v1/pull", ["collections": ["notes"], "checkpoint": "nonsense"])
        #expect(stale.status == 410 || stale.status == 400, "\(stale)")
        #expect(try await host.send(.post, "/sync/v1/pull", [:], as: nil).status == 401)
        #expect(try await host.send(.post, "/sync/v1/push", ["mutations": 1]).status == 400)
    }

    @Test func `an attachment is uploaded in parts and read by whoever reads its record`() async throws {
        let host = try await NotesGateway()
        let data = [UInt8]((0..<160).map { UInt8($0) })
        let digest = AttachmentDigestText.of(data)
        let path = "/sync/v1/attachments/\(digest)"
        let first = try await host.send(.put, path, body: Array(data.prefix(100)), [.contentRange: "bytes 0-99/160"])
        #expect(first.status == 202 && first.json["received"] == 100, "\(first)")
        let gap = try await host.send(.put, path, body: Array(data.suffix(10)), [.contentRange: "bytes 150-159/160"])
        #expect(gap.status >= 400, "\(gap)")
        let rest = try await host.send(.put, path, body: Array(data.suffix(60)), [.contentRange: "bytes 100-159/160"])
        #expect(rest.status == 201 && rest.json["complete"] == true, "\(rest)")
        #expect(try await host.get(path).status == 404)
        _ = try await host.note(["attachments": [.string(digest)], "sharedWith": ["bob"]])
        #expect(try await host.get(path, as: "bob").status == 200)
        #expect(try await host.get(path, as: "admin").status == 404)
        let part = try await host.get(path, [.range: "bytes=-5"])
        #expect(part.status == 206 && part.fields[.contentRange] == "bytes 155-159/160")
        #expect(try await host.get(path, [.range: "bytes=160-"]).status == 416)
        let other = try await host.send(.put, "/sync/v1/attachments/\(String(repeating: "0", count: 64))", body: data)
        #expect(other.status >= 400)
        #expect(try await host.send(.put, "/sync/v1/attachments/x", body: data).status >= 400)
    }

    @Test func `documents and pages say what is served`() async throws {
        let host = try await NotesGateway()
        #expect(try await host.get("/health/live", as: nil).status == 200)
        #expect(try await host.get("/health/ready", as: nil).status == 503)
        host.readiness.isServing = true
        #expect(try await host.get("/health/ready", as: nil).status == 200)
        let api = try await host.get("/openapi.json", as: nil)
        let paths = try #require(api.json["paths"]?.dictionaryValue?.keys)
        #expect(api.json["openapi"]?.stringValue?.hasPrefix("3.1") == true && api.json["info"]?["version"] == "1.2.3")
        #expect(
            Set([notes, "\(notes)/{id}", "/double/{number}", "/batch", "/auth/login", "/sync/v1/pull"]).isSubset(
                of: Set(paths)))
        let tag = try #require(api.fields[.eTag])
        #expect(try await host.get("/openapi.json", [.ifNoneMatch: tag], as: nil).status == 304)
        let front = try await host.get("/", as: nil)
        #expect(front.text.contains("Notes &amp; more") && front.fields[.contentType]?.hasPrefix("text/html") == true)
        let browser = try await host.get(notes, [.accept: "text/html"])
        #expect(browser.status == 200 || browser.status == 406)
    }

    @Test func `a choice that may be null is described as one of its texts or null`() {
        let members = ObjectShape("S", members: [Member("state", .choice(["open", "done"]), isNullable: true)])
        var schemas = SchemaComponents()
        let reference = schemas.schema(.object(members), of: "shop")
        #expect(reference == ["$ref": "#/components/schemas/shop_S"])
        let described = schemas.values["shop_S"]?["properties"]?["state"]
        #expect(described?["type"] == ["string", "null"] && described?["enum"] == ["open", "done", .null])
    }

    @Test func `unknown paths, other methods and pages of other servers are answered as such`() async throws {
        let host = try await NotesGateway()
        #expect(try await host.get("/nothing").code == "route.notFound")
        let method = try await host.send(.delete, notes)
        #expect(method.status == 405 && method.fields[.allow]?.contains("POST") == true)
        let options = try await host.send(.options, notes, as: nil)
        #expect(options.status == 204 && options.fields[.allow]?.contains("GET") == true)
        let preflight = try await host.send(
            .options, notes, [.origin: "https://app.example", .accessControlRequestMethod: "POST"], as: nil)
        #expect(preflight.fields[.accessControlAllowOrigin] == "https://app.example")
        let foreign = try await host.get("/health/live", [.origin: "https://evil.example"], as: nil)
        #expect(foreign.fields[.accessControlAllowOrigin] == nil)
        let head = try await host.send(.head, notes)
        #expect(head.status == 200 && head.body.isEmpty)
    }
}
