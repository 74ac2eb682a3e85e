import AdapterKit
import AdapterTesting
import Synchronization
import Testing

@testable import ConnectedSystems

private struct FixedClock: WallClock {
    let time: WireDate
    func now() -> WireDate { time }
}

private let base = UpstreamAddress("https://hr.example/api/")!
private let start = WireDate(rfc3339: "2026-11-23T08:00:00Z")!

private func response(
    _ status: Int, _ body: String = "", _ type: String = "application/json", tag: String? = nil
) -> UpstreamResponse {
    var fields: UpstreamHeaders = ["Content-Type": type]
    fields["ETag"] = tag
    return UpstreamResponse(address: base, status: status, fields: fields, body: Array(body.utf8))
}

/// What the system has of the record, with members that no field maps.
private let current =
    #"{"person": {"id": "a/b", "n": {"first": "Old", "last": "L"}, "email": "e@x", "born": "1990-01-02", "tags": ["new"]}}"#

/// One entity of a connection in front of a system that answers one thing.
private struct System {
    let upstream: ScriptedUpstream
    let source: ConnectedEntitySource

    /// `current`: what it answers to a GET, where that is something else.
    init(
        _ keys: String, at time: WireDate = start, revision: String = "r1", answer: UpstreamResponse,
        current: [UpstreamResponse] = []
    ) throws {
        let text = """
            title: People
            upstream: upstream
            headers: {X-Version: "3"}
            entities:
              people:
                address: people
                key: id
                fields:
                  id: string
                  name: {type: string, from: /n/first}
                  born: {type: date, form: day}
                  tags: strings
                  changed: date
            \(keys.split(separator: "\n").map { "    " + $0 }.joined(separator: "\n"))
            """
        let connection = try Connection(text, file: "c.yaml")
        let connected = try #require(connection.entities.first)
        guard case .address(let request) = connected.source else { throw Template.Problem("no address") }
        let reads = Mutex(0)
        upstream = ScriptedUpstream(url: base) { request, _ throws(UpstreamFailure) in
            guard request.method == .get, !current.isEmpty else { return answer }
            let index = reads.withLock { count in
                count += 1
                return count - 1
            }
            return current[min(index, current.count - 1)]
        }
        source = ConnectedEntitySource(
            connected: connected, request: request, upstream: upstream, headers: connection.headers,
            clock: FixedClock(time: time), revision: revision)
    }

    func asked() throws -> UpstreamRequest { try #require(upstream.asked.last?.request) }
}

private let writes = """
    record: {address: "people/{id}", item: /person}
    write:
      mode: queued
      update: {method: PUT, address: "people/{id}", item: /person, body: {n: {first: "{name}"}, born: "{born}", tags: "{tags}"}}
      delete: {method: DELETE, address: "people/{id}", query: {by: "{lower(name)}"}}
    """

private func change(_ kind: MirrorChange.Kind, _ fields: WireDictionary = [:], before: WireDictionary? = nil)
    -> MirrorChange
{
    MirrorChange("people", "a/b", kind, fields: fields, before: before, idempotencyKey: "k:1", mayRepeat: false)
}

@Suite struct EntitySourceTests {
    @Test func `a change is sent with the fields in the system's forms, and the answer's record is stored`()
        async throws
    {
        let system = try System(
            writes, answer: response(200, #"{"person": {"id": "a/b", "n": {"first": "Ann!"}, "born": "1990-01-02"}}"#),
            current: [response(200, #"{"person": {"n": {"first": "x"}, "born": "1990-01-02", "tags": ["t"]}}"#)])
        let born = WireValue.date(WireDate(rfc3339: "1990-01-02T00:00:00Z")!)
        let result = try await system.source.write(
            change(.update, ["name": "Ann"], before: ["id": "a/b", "name": "x", "born": born, "tags": ["t"]]))
        let asked = try system.asked()
        #expect(asked.method == .put)
        #expect(asked.address.description == "https://hr.example/api/people/a%2Fb")
        #expect(
            String(decoding: asked.body, as: UTF8.self) == #"{"n":{"first":"Ann"},"born":"1990-01-02","tags":["t"]}"#)
        #expect(asked.fields["Idempotency-Key"] == "k:1")
        #expect(asked.fields["X-Version"] == "3")
        #expect(!asked.isIdempotent)
        #expect(result == .stored(["id": "a/b", "name": "Ann!", "born": born]))
    }

    @Test func `a PUT creates where there is no create, and a delete knows the fields that were`() async throws {
        let system = try System(writes, answer: response(204), current: [response(404)])
        #expect(try await system.source.write(change(.create, ["name": "Ann"])) == .stored(nil))
        #expect(try system.asked().method == .put)
        #expect(try await system.source.write(change(.replace, ["name": "Ann"], before: nil)) == .stored(nil))
        #expect(try await system.source.write(change(.delete, before: ["name": "ANN"])) == .stored(nil))
        #expect(try system.asked().address.description == "https://hr.example/api/people/a%2Fb?by=ann")
    }

    @Test(arguments: [
        (400, "refused"), (404, "refused"), (409, "refused"), (401, "notMade"), (503, "notMade"), (500, "unknown"),
        (302, "unknown"),
    ])
    func `the status of an answer says what became of a change`(status: Int, expected: String) async throws {
        let system = try System(writes, answer: response(status, "{}"), current: [response(200, current)])
        let result = try await system.source.write(change(.update, ["name": "Ann"]))
        #expect("\(result)".hasPrefix(expected), "\(result)")
    }

    @Test func `what no request describes is refused, and so is a value that cannot stand in an address`() async throws
    {
        let system = try System(
            "write: {mode: queued, delete: {method: DELETE, address: \"people/{name}\"}}", answer: response(204))
        guard case .refused = try await system.source.write(change(.update, ["name": "Ann"])) else {
            Issue.record("an update was sent")
            return
        }
        for name in ["", ".."] {
            guard case .refused = try await system.source.write(change(.delete, before: ["name": .string(name)])) else {
                Issue.record("\(name) was sent")
                return
            }
        }
        #expect(system.upstream.asked.isEmpty)
    }

    @Test func `a PUT keeps what the system has beside the fields that change, and names the state that was read`()
        async throws
    {
        let system = try System(writes, answer: response(204), current: [response(200, current, tag: "\"5\"")])
        // What is known here is older than what the system has.
        let result = try await system.source.write(
            change(.update, ["name": "Ann"], before: ["id": "a/b", "name": "Old", "tags": ["old"]]))
        #expect(result == .stored(nil))
        let asked = try system.asked()
        #expect(
            String(decoding: asked.body, as: UTF8.self)
                == #"{"id":"a/b","n":{"first":"Ann","last":"L"},"email":"e@x","born":"1990-01-02","tags":["new"]}"#)
        #expect(asked.fields["If-Match"] == "\"5\"")
        // Each field is set, and what is none stays.
        _ = try await system.source.write(change(.replace, ["name": "B"], before: ["id": "a/b", "name": "Old"]))
        #expect(
            String(decoding: try system.asked().body, as: UTF8.self)
                == #"{"id":"a/b","n":{"first":"B","last":"L"},"email":"e@x","born":null,"tags":null}"#)
        // A weak tag satisfies no If-Match.
        let weak = try System(writes, answer: response(204), current: [response(200, current, tag: "W/\"5\"")])
        _ = try await weak.source.write(change(.update, ["name": "Ann"], before: ["id": "a/b"]))
        #expect(try weak.asked().fields["If-Match"] == nil)
    }

    @Test func `a new record is sent without what the caller left out`() async throws {
        let keys = """
            write:
              mode: queued
              create: {method: POST, address: people, body: {id: "{id}", n: {first: "{name}"}, born: "{born}", seen: '{default(changed, "")}', kind: x}}
            """
        let system = try System(keys, answer: response(201))
        _ = try await system.source.write(change(.create, ["id": "a/b", "name": "Ann", "born": .null]))
        #expect(
            String(decoding: try system.asked().body, as: UTF8.self)
                == #"{"id":"a/b","n":{"first":"Ann"},"seen":"","kind":"x"}"#)
    }

    @Test func `a page after the first may end the list by its status, and the first may not`() async throws {
        let keys = "paging: {kind: page, query: p, end: [404]}"
        let first = response(200, #"[{"id": "a"}]"#)
        let system = try System(keys, answer: response(404), current: [first, response(404)])
        let page = try await system.source.page(MirrorRequest("people"))
        let next = try #require(page.next)
        let last = try await system.source.page(MirrorRequest("people", page: next))
        #expect(last.rows.isEmpty && last.next == nil)
        let gone = try System(keys, answer: response(404))
        await #expect(throws: (any Error).self) { try await gone.source.page(MirrorRequest("people")) }
        #expect(throws: (any Error).self) { try System("paging: {kind: page, query: p, end: [500]}", answer: first) }
        let broken = try System(keys, answer: response(500), current: [first, response(500)])
        await #expect(throws: (any Error).self) { try await broken.source.page(MirrorRequest("people", page: next)) }
    }

    @Test(arguments: [
        (
            400, #"{"error": {"message": "cursor\u001b[31m expired"}}"#, "application/json",
            "it says: cursor [31m expired"
        ),
        (401, "token expired", "text/plain", "it says: token expired"),
        (502, "<html>bad gateway</html>", "text/html", nil), (500, "", "application/json", nil),
    ])
    func `a list that failed is reported with the system's own words`(
        status: Int, body: String, type: String, words: String?
    ) async throws {
        let system = try System("", answer: response(status, body, type))
        do {
            _ = try await system.source.page(MirrorRequest("people"))
            Issue.record("no failure")
        } catch let error as PorticoError {
            let detail = try #require(error.logDetail)
            #expect(detail.contains("answered \(status)"))
            #expect(words.map { detail.hasSuffix($0) } ?? !detail.contains("it says"), "\(detail)")
        }
    }

    @Test func `a media type that the file names is read, and no other`() async throws {
        let rows = response(200, #"[{"id": "a"}]"#, "text/plain;\tcharset=utf-8")
        let page = try await System("mediaTypes: [Text/Plain]", answer: rows).source.page(MirrorRequest("people"))
        #expect(page.rows == [["id": "a"]])
        let other = try System("", answer: rows)
        await #expect(throws: MirrorRefusal.self) { try await other.source.page(MirrorRequest("people")) }
        #expect(throws: (any Error).self) { try System("mediaTypes: [text/html]", answer: rows) }
    }

    @Test func `a PATCH of what changes has If-Match where the file says so`() async throws {
        func asked(_ option: String) async throws -> (requests: Int, request: UpstreamRequest) {
            let keys = """
                record: {address: "people/{id}", item: /person}
                write:
                  mode: queued
                  update: {method: PATCH, address: "people/{id}", body: {n: "{name}", born: "{born}"}\(option)}
                """
            let system = try System(
                keys, answer: response(204), current: [response(200, current, tag: "\"v1\"")])
            _ = try await system.source.write(change(.update, ["name": "Ann"], before: ["id": "a/b"]))
            return (system.upstream.asked.count, try system.asked())
        }
        let (requests, conditional) = try await asked(", ifMatch: true")
        #expect(requests == 2 && conditional.fields["If-Match"] == "\"v1\"")
        #expect(String(decoding: conditional.body, as: UTF8.self) == #"{"n":"Ann"}"#)
        let (others, plain) = try await asked("")
        #expect(others == 1 && plain.fields["If-Match"] == nil)
    }

    @Test func `a read follows redirects, and a change does not`() async throws {
        let system = try System(writes, answer: response(204), current: [response(200, current)])
        _ = try await system.source.write(change(.update, ["name": "Ann"], before: ["id": "a/b"]))
        #expect(system.upstream.asked.map(\.request.redirects) == [.followed, .returned])
    }

    @Test func `a document stays in the members around it`() async throws {
        let keys = """
            record: {address: "people/{id}", item: /person}
            write:
              mode: queued
              update: {method: PUT, address: "people/{id}", body: {person: {n: {first: "{name}"}}}}
            """
        let system = try System(keys, answer: response(204), current: [response(200, #"{"person": {"x": 1}}"#)])
        _ = try await system.source.write(change(.update, ["name": "Ann"], before: ["id": "a/b"]))
        #expect(
            String(decoding: try system.asked().body, as: UTF8.self) == #"{"person":{"x":1,"n":{"first":"Ann"}}}"#)
    }

    @Test func `a body of XML has the values that the system has now`() async throws {
        let keys = """
            record: {address: "people/{id}", item: /person}
            write:
              mode: queued
              update: {method: PUT, address: "people/{id}", as: xml, body: "<p><n>{name}</n><b>{born}</b></p>"}
            """
        let system = try System(keys, answer: response(204), current: [response(200, current)])
        _ = try await system.source.write(change(.update, ["name": "Ann"], before: ["id": "a/b"]))
        #expect(String(decoding: try system.asked().body, as: UTF8.self) == "<p><n>Ann</n><b>1990-01-02</b></p>")
    }

    @Test func `nothing is sent where the record cannot be read before, is gone, or is another's`() async throws {
        for (status, expected) in [(500, "notMade"), (403, "notMade"), (404, "refused"), (410, "refused")] {
            let system = try System(writes, answer: response(204), current: [response(status)])
            let result = try await system.source.write(change(.update, ["name": "Ann"], before: ["id": "a/b"]))
            #expect("\(result)".hasPrefix(expected), "\(status): \(result)")
            #expect(system.upstream.asked.map(\.request.method) == [.get])
        }
        let taken = try System(writes, answer: response(204), current: [response(200, current)])
        guard case .refused(.recordConflict, _) = try await taken.source.write(change(.create, ["name": "Ann"])) else {
            Issue.record("a record that is there was created")
            return
        }
        #expect(taken.upstream.asked.count == 1)
        // An answer that was lost: the record is as it was wanted.
        let made = try System(writes, answer: response(204), current: [response(200, current)])
        guard case .stored(.some) = try await made.source.write(change(.create, ["name": "Old"])) else {
            Issue.record("it was not found to be made")
            return
        }
    }

    /// Whose the record is that the system has now.
    @Test(arguments: [
        (MirrorChange.Kind.create, nil), (.replace, nil), (.update, "ann"), (.replace, "ann"), (.delete, "ann"),
    ])
    func `another's record is not changed, whatever the last refresh saw`(
        kind: MirrorChange.Kind, before: String?
    ) async throws {
        let fields: WireDictionary = kind == .delete ? [:] : ["name": "ann"]
        let known: WireDictionary? = before.map { ["id": "a/b", "name": .string($0)] }
        let system = try System("owner: name\n" + writes, answer: response(204), current: [response(200, current)])
        let result = try await system.source.write(change(kind, fields, before: known))
        let expected: ErrorCode = known == nil ? .recordConflict : .recordNotFound
        guard case .refused(expected, _) = result else {
            Issue.record("\(result)")
            return
        }
        #expect(system.upstream.asked.map(\.request.method) == [.get])
    }

    @Test func `an owner's own record is changed in the state that was read, and a new one replaces none`() async throws
    {
        let own = current.replacing("Old", with: "ann")
        let before: WireDictionary = ["id": "a/b", "name": "ann"]
        for change in [change(.update, ["tags": ["x"]], before: before), change(.delete, before: before)] {
            let system = try System(
                "owner: name\n" + writes, answer: response(204), current: [response(200, own, tag: "\"5\"")])
            #expect(try await system.source.write(change) == .stored(nil))
            #expect(try system.asked().fields["If-Match"] == "\"5\"")
        }
        for keys in [writes, writes.split(separator: "\n").dropFirst().joined(separator: "\n")] {
            let system = try System("owner: name\n" + keys, answer: response(204), current: [response(404)])
            #expect(try await system.source.write(change(.replace, ["name": "ann"])) == .stored(nil))
            #expect(try system.asked().fields["If-None-Match"] == "*")
        }
    }

    @Test func `an answer to a change with another record is not stored`() async throws {
        let create = "  create: {method: POST, address: people, item: /person, body: {id: \"{id}\"}}"
        let system = try System(
            writes + "\n" + create, answer: response(200, #"{"person": {"id": "z", "n": {"first": "Bob"}}}"#),
            current: [response(200, current)])
        let result = try await system.source.write(change(.update, ["name": "Ann"], before: ["id": "a/b"]))
        guard case .unknown = result else {
            Issue.record("\(result)")
            return
        }
    }

    @Test func `what is posted takes the key of the answer: in its body, else at the end of Location`() async throws {
        let create = "  create: {method: POST, address: people, item: /person, body: {id: \"{id}\"}}"
        func answer(_ body: String, _ location: String? = nil) -> UpstreamResponse {
            var fields: UpstreamHeaders = ["Content-Type": "application/json"]
            fields["Location"] = location
            return UpstreamResponse(address: base, status: 201, fields: fields, body: Array(body.utf8))
        }
        for (answer, key) in [
            (answer(#"{"person": {"id": "z"}}"#, "people/y"), "z"), (answer("", "people/y%20z/"), "y z"),
            (answer(#"{"person": {"n": {"first": "Bob"}}}"#, "people/y"), "y"), (answer("", nil), nil),
            (answer("", "https://elsewhere.example/people/y"), nil), (answer("", "people/%ff"), nil),
        ] {
            let system = try System(writes + "\n" + create, answer: answer, current: [])
            guard case .stored(let stored) = try await system.source.write(change(.create)) else {
                Issue.record("\(answer)")
                continue
            }
            #expect(stored?["id"]?.stringValue == key)
        }
    }

    /// What becomes of an operation that writes.
    @Test func `an operation whose answer is lost says that its outcome is unknown`() async throws {
        let text = """
            title: People
            upstream: upstream
            operations:
              post:
                summary: Posts.
                effect: writes
                request: {method: POST, address: post, body: {a: 1}}
                fields: {id: integer}
            """
        let operation = try #require(try Connection(text, file: "c.yaml").operations.first)
        func code(_ answer: @escaping ScriptedUpstream.Answer) async -> ErrorCode? {
            let upstream = ScriptedUpstream(url: base, answer: answer)
            do {
                _ = try await operation.perform([:], of: upstream, for: .system, [])
                return nil
            } catch { return (error as? PorticoError)?.code ?? .serverInternal }
        }
        for kind in [UpstreamFailure.Kind.broken, .timedOut, .answerTooLarge, .cancelled, .redirectRefused] {
            let found = await code { _, _ throws(UpstreamFailure) in throw UpstreamFailure(kind, of: "upstream") }
            #expect(found == .upstreamOutcomeUnknown, "\(kind)")
        }
        for answer in [response(500), response(302), response(200, "<html>", "text/html"), response(200, "{")] {
            #expect(await code { _, _ in answer } == .upstreamOutcomeUnknown, "\(answer)")
        }
        // Nothing was sent: an ``UpstreamFailure`` as it came.
        let unsent = await code { _, _ throws(UpstreamFailure) in throw UpstreamFailure(.unreachable, of: "upstream") }
        #expect(unsent == .serverInternal)
        #expect(await code { _, _ in response(503) } == .upstreamFailed)
        #expect(await code { _, _ in response(200, #"{"id": 1}"#) } == nil)
    }

    @Test func `rows and answers are as old as the system says`() async throws {
        let old = UpstreamResponse(
            address: base, status: 200, fields: ["Content-Type": "application/json", "Age": "77"],
            body: Array(#"[{"id": "a", "n": {"first": "x"}}]"#.utf8))
        let system = try System("", answer: old)
        #expect(try await system.source.page(MirrorRequest("people")).age == .seconds(77))
        let text = """
            title: People
            upstream: upstream
            operations:
              find:
                summary: Finds.
                effect: reads
                request: {method: GET, address: find}
                list: /items
                fields: {id: string}
            """
        let operation = try #require(try Connection(text, file: "c.yaml").operations.first)
        let upstream = ScriptedUpstream(url: base) { _, _ in
            UpstreamResponse(
                address: base, status: 200, fields: ["Content-Type": "application/json", "Age": "78"],
                body: Array(#"{"items": [{"id": "a"}]}"#.utf8))
        }
        #expect(try await operation.perform([:], of: upstream, for: .system, []).age == .seconds(78))
    }

    @Test func `a record that changed since it was read is a conflict, unless it is as it was wanted`() async throws {
        let other = try System(writes, answer: response(412), current: [response(200, current, tag: "\"5\"")])
        guard
            case .refused(.recordConflict, _) = try await other.source.write(
                change(.update, ["name": "Ann"], before: ["id": "a/b"]))
        else {
            Issue.record("it was no conflict")
            return
        }
        let own = try System(
            writes, answer: response(412),
            current: [
                response(200, current, tag: "\"5\""),
                response(200, current.replacing("Old", with: "Ann"), tag: "\"6\""),
            ])
        guard case .stored(.some) = try await own.source.write(change(.update, ["name": "Ann"], before: ["id": "a/b"]))
        else {
            Issue.record("an own change was taken for another's")
            return
        }
    }

    @Test func `a change of a field that no request sends is refused`() async throws {
        let system = try System(writes, answer: response(204), current: [response(200, current)])
        let changed = WireValue.date(start)
        for change in [
            change(.update, ["changed": changed], before: ["id": "a/b"]),
            change(.replace, ["name": "Ann"], before: ["id": "a/b", "changed": changed]),
            change(.create, ["name": "Ann", "changed": changed]),
        ] {
            guard case .refused(.requestInvalid, let message) = try await system.source.write(change) else {
                Issue.record("\(change) was sent")
                return
            }
            #expect(message.contains("changed"))
        }
        #expect(system.upstream.asked.isEmpty)
    }

    @Test func `a time of day where the system has a day is refused`() async throws {
        let system = try System(writes, answer: response(204), current: [response(200, current)])
        let noon = WireValue.date(WireDate(rfc3339: "2026-11-23T12:00:00Z")!)
        let changed = change(.update, ["born": noon])
        guard case .refused(.requestInvalid, let message) = try await system.source.write(changed)
        else {
            Issue.record("it was sent")
            return
        }
        #expect(message.contains("born is a day") && system.upstream.asked.isEmpty)
    }

    @Test func `a page for people and a cut document are no success of a change`() async throws {
        for answer in [response(200, "<html>", "text/html"), response(200, #"{"person": "#)] {
            let system = try System(writes, answer: answer, current: [response(200, current)])
            guard case .unknown = try await system.source.write(change(.update, ["name": "Ann"])) else {
                Issue.record("\(answer)")
                return
            }
        }
        let text = try System(
            writes, answer: response(200, "done", "text/plain"), current: [response(200, current)])
        #expect(try await text.source.write(change(.update, ["name": "Ann"])) == .stored(nil))
        let failed = try System(
            "success: /ok\n" + writes, answer: response(200, #"{"ok": false}"#),
            current: [response(200, #"{"ok": true, "person": {"id": "a/b"}}"#)])
        guard case .refused = try await failed.source.write(change(.update, ["name": "Ann"])) else {
            Issue.record("it was taken for a success")
            return
        }
    }

    @Test func `one record is found, absent or another document`() async throws {
        let found = try System(writes, answer: response(200, #"{"person": {"id": "a", "n": {"first": "A"}}}"#))
        #expect(try await found.source.record("a") == .found(["id": "a", "name": "A"]))
        #expect(try await System(writes, answer: response(404)).source.record("a") == .absent)
        for lie in [response(200, "{}"), response(200, #"{"person": []}"#), response(200, "<html>", "text/html")] {
            let system = try System(writes, answer: lie)
            await #expect(throws: MirrorRefusal.self) { try await system.source.record("a") }
        }
        #expect(try await System("", answer: response(200)).source.record("a") == .unavailable)
    }

    private let changes = "changes: {field: changed, query: {since: \"{date(changed, unix)}\"}, full: 1h}"

    @Test func `changes are asked for since the largest value there was, until it is time for every row`() async throws
    {
        let rows =
            #"[{"id": "a", "changed": "2026-11-20T08:00:00Z"}, {"id": "b", "changed": "2026-11-21T09:00:00+01:00"}, {"id": "c"}]"#
        let system = try System(changes, answer: response(200, rows))
        let cursor = try #require(try await system.source.page(MirrorRequest("people")).cursor)
        #expect(cursor == "2026-11-23T08:00:00Z r1 2026-11-21T08:00:00Z")
        _ = try await system.source.page(MirrorRequest("people", since: cursor))
        #expect(try system.asked().address.description.hasSuffix("people?since=1795248000"))
        // Nothing newer: it goes on from where it was, and every row is due as before.
        let quiet = try System(changes, at: WireDate(rfc3339: "2026-11-23T08:30:00Z")!, answer: response(200, "[]"))
        #expect(try await quiet.source.page(MirrorRequest("people", since: cursor)).cursor == cursor)
        for time in ["2026-11-23T09:00:00Z", "2026-11-23T07:59:59Z"] {
            let due = try System(changes, at: WireDate(rfc3339: time)!, answer: response(200, "[]"))
            let error = await #expect(throws: PorticoError.self) {
                try await due.source.page(MirrorRequest("people", since: cursor))
            }
            #expect(error?.code == .fetchAgain)
            #expect(due.upstream.asked.isEmpty)
        }
        #expect(try await quiet.source.page(MirrorRequest("people")).cursor == nil)
    }

    @Test func `a cursor with the name of the member for changes takes its place on the next page`() async throws {
        let rows = #"[{"id": "a", "changed": "2026-11-20T08:00:00Z"}, {"id": "b", "changed": "2026-11-21T08:00:00Z"}]"#
        let system = try System(
            changes + "\npaging: {kind: cursor, query: since, last: id}", answer: response(200, rows))
        let since = "2026-11-23T08:00:00Z r1 2026-11-19T08:00:00Z"
        let first = try await system.source.page(MirrorRequest("people", since: since))
        #expect(try system.asked().address.description.hasSuffix("people?since=1795075200"))
        // The same rows again are no third page.
        await #expect(throws: MirrorRefusal.self) {
            try await system.source.page(MirrorRequest("people", page: first.next, since: since))
        }
        #expect(try system.asked().address.description.hasSuffix("people?since=b"))
    }

    @Test func `rows that another state of the file read are fetched again`() async throws {
        let rows = response(200, #"[{"id": "a", "changed": "2026-11-20T08:00:00Z"}]"#)
        let cursor = try await System(changes, answer: rows).source.page(MirrorRequest("people")).cursor
        let edited = try System(changes, revision: "r2", answer: rows)
        await #expect(throws: PorticoError.self) {
            try await edited.source.page(MirrorRequest("people", since: cursor))
        }
        let file = "title: x\nentities: {a: {file: a.csv, format: csv, key: id, fields: {id: string}}}\n"
        #expect(try Connection(file, file: "c").revision != Connection(file + "#", file: "c").revision)
    }

    @Test(arguments: ["", "x", "2026-11-23T08:00:00Z", "2026-11-23T08:00:00Z r1", "2026-13-23T08:00:00Z r1 a"])
    func `a cursor that is none has every row fetched`(cursor: String) async throws {
        let system = try System(changes, answer: response(200, "[]"))
        await #expect(throws: PorticoError.self) {
            try await system.source.page(MirrorRequest("people", since: cursor))
        }
    }

    @Test func `a position that names another server is not followed`() async throws {
        let system = try System("paging: {kind: link}", answer: response(200, "[]"))
        var position = PagePosition()
        position.place = "https://other.example/people"
        await #expect(throws: MirrorRefusal.self) {
            try await system.source.page(MirrorRequest("people", page: position.text))
        }
        #expect(system.upstream.asked.isEmpty)
    }
}
