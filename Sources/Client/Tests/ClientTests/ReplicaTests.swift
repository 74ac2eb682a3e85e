import Client
import Foundation
import Testing
import ValueTree

@Suite("A replica")
struct ReplicaTests {
    @Test("brings what one may see to the device, and sends what was made there")
    func bothWays() async throws {
        let gateway = try await MemoryGateway()
        let (alice, bob) = (try await Device("alice", at: gateway), try await Device("bob", at: gateway))
        for number in 0..<8 { try await alice.note("n\(number)", sharedWith: ["bob"]) }
        try await alice.note("mine")
        #expect(try await alice.titles().count == 9)
        #expect(alice.replica.status.waiting == 9)
        let status = await alice.sync()
        #expect(status.phase != .signInNeeded && status.waiting == 0 && status.hasSynced && status.lastError == nil)
        await bob.sync()
        #expect(try await bob.titles(.descending("title")) == (0..<8).reversed().map { "n\($0)" })
        let note = try #require(try await bob.replica.records(RecordQuery("notes", limit: 1)).first)
        #expect(note["owner"] == "alice" && note.revision > 0 && !note.isWaiting)
    }

    @Test("tells how old records of another system are, by the last sync")
    func ages() async throws {
        let gateway = try await MemoryGateway()
        let alice = try await Device("alice", at: gateway)
        try await alice.note("kept")
        await alice.sync()
        #expect(try await alice.replica.age(of: "notes") == nil)
        let asOf = WireDate(secondsSinceReferenceDate: Date().timeIntervalSinceReferenceDate.rounded() - 1_000)
        gateway.asOf = asOf
        // A pull that changes nothing tells it as well.
        await alice.sync()
        try await alice.reopen()
        let age = try #require(try await alice.replica.age(of: "notes"))
        #expect(age.asOf.timeIntervalSinceReferenceDate == asOf.secondsSinceReferenceDate)
        #expect(age.isStale)
        #expect(try await alice.replica.age(of: "notes", freshFor: .seconds(100_000))?.isStale == false)
        #expect(try await alice.replica.age(of: "others") == nil)
    }

    @Test(
        "an answer's age is in its header",
        arguments: [
            ("portico; hit", false), ("portico; fwd=stale; stored", false),
            ("portico; fwd=stale; detail=upstream-timeout", true),
        ])
    func answerAges(status: String, isStale: Bool) {
        let answer = TransportResponse(
            status: 200, headers: [Header("Age", "70"), Header("Cache-Status", status)], body: [])
        #expect(answer.age?.isStale == isStale)
        #expect((answer.age?.asOf.timeIntervalSinceNow).map { (-90 ... -69).contains($0) } == true)
        #expect(TransportResponse(status: 200, headers: [Header("Age", "70")], body: []).age == nil)
        // More than can be counted is the largest.
        let old = [Header("Age", "18446744073709551616"), Header("Cache-Status", status)]
        let ancient = TransportResponse(status: 200, headers: old, body: []).age
        #expect(ancient.map { $0.asOf.timeIntervalSinceNow < -2e9 } == true)
        for wrong in ["", "-1", "+1", "1.5", "one"] {
            let fields = [Header("Age", wrong), Header("Cache-Status", status)]
            #expect(TransportResponse(status: 200, headers: fields, body: []).age == nil, "\(wrong)")
        }
        // Of a cache on the way.
        let other = [Header("Age", "70"), Header("Cache-Status", "proxy; hit")]
        #expect(TransportResponse(status: 200, headers: other, body: []).age == nil)
    }

    @Test("takes no record of a collection that it does not hold")
    func unknownCollection() async throws {
        var settings = Device.settings
        settings.collections = ["notes"]
        let alice = try await Device("alice", at: try await MemoryGateway(), settings: settings)
        try await alice.note("kept")
        await #expect(throws: ClientError.unknownCollection("note")) {
            try await alice.replica.create(in: "note", ["title": "misspelt"])
        }
        #expect(alice.replica.status.waiting == 1)
    }

    @Test("answers queries as the app asked them")
    func queries() async throws {
        let alice = try await Device("alice", at: try await MemoryGateway())
        for (title, pages) in [("b", 2), ("ab", 10), ("a", 1), ("it's", 3)] {
            try await alice.replica.create(in: "notes", ["title": .string(title), "pages": .int64(Int64(pages))])
        }
        try await alice.replica.create(in: "notes", ["text": "without"])
        func titles(_ conditions: RecordQuery.Condition..., order: RecordQuery.Order = .ascending("pages")) async throws
            -> [String]
        {
            try await alice.replica.records(RecordQuery("notes", where: conditions, order: [order])).map {
                $0["title"]?.stringValue ?? "-"
            }
        }
        #expect(try await titles() == ["-", "a", "b", "it's", "ab"])
        #expect(try await titles(.isGreater("pages", than: 1), .isAtMost("pages", 3)) == ["b", "it's"])
        #expect(try await titles(.startsWith("title", "a"), order: .descending("title")) == ["ab", "a"])
        #expect(try await titles(.equals("title", "it's")) == ["it's"])
        #expect(try await titles(.contains("title", "b")) == ["b", "ab"])
        #expect(try await titles(.isNull("title")) == ["-"])
        #expect(try await titles(.differs("title", from: "a"), .isWaiting).count == 3)
        #expect(try await titles(.equals("title", .null)).isEmpty)
        #expect(try await alice.replica.count(RecordQuery("notes", where: [.isLess("pages", than: 3)])) == 2)
    }

    @Test("keeps edits that were made without a network, over a restart, and makes each once")
    func offline() async throws {
        let gateway = try await MemoryGateway()
        let (alice, other) = (try await Device("alice", at: gateway), try await Device("alice", at: gateway))
        await alice.sync()
        gateway.isOnline = false
        let note = try await alice.note("first")
        try await alice.replica.update(note, in: "notes", ["title": "second"])
        let status = await alice.sync()
        #expect(status.lastError == .unreachable("no network") && status.waiting == 2)
        try await alice.reopen()
        #expect(try await alice.titles() == ["second"])
        #expect(try await alice.replica.record(note, in: "notes")?.isWaiting == true)
        gateway.isOnline = true
        gateway.fail(once: { $0.url.hasSuffix("push") ? .answerLost : nil })
        await alice.sync()
        #expect(await alice.sync().waiting == 0)
        await other.sync()
        #expect(try await other.titles() == ["second"])
        #expect(try await other.replica.record(note, in: "notes")?.isWaiting == false)
    }

    @Test("shows a conflict with the server's copy, and sends what the app makes of it")
    func conflict() async throws {
        let gateway = try await MemoryGateway()
        let (one, two) = (try await Device("alice", at: gateway), try await Device("alice", at: gateway))
        let note = try await one.note("base")
        await one.sync()
        await two.sync()
        try await one.replica.update(note, in: "notes", ["title": "one"])
        try await two.replica.update(note, in: "notes", ["title": "two"])
        await one.sync()
        let problem = try #require(await two.sync().problems.first)
        guard case .conflict(let server?) = problem.cause else { return #expect(Bool(false), "\(problem)") }
        #expect(server["title"] == "one" && problem.edit == .update(["title": "two"]))
        #expect(problem.base?["title"] == "base")
        try await two.reopen()
        #expect(two.replica.status.problems == [problem])
        #expect(try await two.titles() == ["one"])
        try await two.replica.resolve(problem, with: .update(["title": "both"]))
        #expect(await two.sync().problems.isEmpty)
        await one.sync()
        #expect(try await one.titles() == ["both"])
    }

    @Test(
        "leaves every digit of instants that it does not edit, over a restart and in a conflict",
        arguments: [
            "2026-06-24T12:57:44.7570874Z", "0000-12-30T00:00:00Z", "9999-12-31T23:59:59.9999999Z",
            "1969-12-31T23:59:59.9999999Z",
        ])
    func exactInstants(text: String) async throws {
        let gateway = try await MemoryGateway()
        let instant = WireValue.date(try #require(WireDate(rfc3339: text)))
        let made = try await Device("alice", at: gateway)
        let note = try await made.replica.create(
            in: "notes", ["title": "base", "due": instant, "times": [instant, instant]])
        await made.sync()
        /// What a device that has nothing yet is sent.
        func stored() async throws -> [WireValue?] {
            let other = try await Device("alice", at: gateway)
            await other.sync()
            let record = try await other.replica.record(note, in: "notes")
            return [record?["due"], record?["times"], record?["title"]]
        }
        let (one, two) = (try await Device("alice", at: gateway), try await Device("alice", at: gateway))
        await one.sync()
        await two.sync()
        try await one.reopen()
        #expect(try await one.replica.record(note, in: "notes")?["due"] == instant)
        // As an app does that writes all fields of what it read.
        let read = try await one.replica.record(note, in: "notes")
        var fields = try #require(read?.fields)
        fields["title"] = "one"
        for name in ["id", "owner"] { fields[name] = nil }
        try await one.replica.update(note, in: "notes", fields)
        try await one.reopen()
        await one.sync()
        #expect(try await stored() == [instant, [instant, instant], "one"])
        try await two.replica.update(note, in: "notes", ["title": "two"])
        try await two.reopen()
        let problem = try #require(await two.sync().problems.first)
        guard case .conflict(let server?) = problem.cause else { return #expect(Bool(false), "\(problem)") }
        #expect(server["due"] == instant && problem.base?["due"] == instant)
        try await two.reopen()
        try await two.replica.resolve(problem, with: .update(["title": "both", "due": server["due"] ?? .null]))
        #expect(await two.sync().problems.isEmpty)
        #expect(try await stored() == [instant, [instant, instant], "both"])
    }

    @Test("goes on behind an edit that the server refuses")
    func rejected() async throws {
        let gateway = try await MemoryGateway()
        let (alice, bob) = (try await Device("alice", at: gateway), try await Device("bob", at: gateway))
        let note = try await alice.note("alice's", sharedWith: ["bob"])
        await alice.sync()
        await bob.sync()
        try await bob.replica.update(note, in: "notes", ["title": "bob's"])
        try await bob.note("own")
        let status = await bob.sync()
        #expect(status.waiting == 0)
        #expect(status.problems.map(\.cause) == [.rejected(code: "access.denied")])
        #expect(try await bob.titles() == ["alice's", "own"])
        try await bob.replica.resolve(status.problems[0], with: nil)
        #expect(bob.replica.status.problems.isEmpty)
    }

    @Test("waits where the sign-in ended, drops nothing and goes on after the next")
    func signInEnds() async throws {
        let gateway = try await MemoryGateway()
        let alice = try await Device("alice", at: gateway)
        await alice.sync()
        gateway.signEverybodyOut()
        try await alice.note("waits")
        #expect(await alice.sync().phase == .signInNeeded)
        #expect(try await alice.titles() == ["waits"])
        try await alice.session.signIn(name: "alice", password: "p")
        await alice.replica.signedIn()
        #expect(await alice.sync().waiting == 0)
    }

    @Test("tells those who watch a query of edits here and of changes elsewhere")
    func observes() async throws {
        let gateway = try await MemoryGateway()
        let (alice, other) = (try await Device("alice", at: gateway), try await Device("alice", at: gateway))
        await alice.sync()
        await other.sync()
        var notes = alice.replica.observe(RecordQuery("notes", order: [.ascending("title")])).makeAsyncIterator()
        #expect(try await notes.next() == [])
        try await alice.note("here")
        #expect(try await notes.next()?.map { $0["title"] } == ["here"])
        try await other.note("there")
        await other.sync()
        await alice.sync()
        var latest: [Record]? = []
        while let found = latest, found.count < 2 || found.contains(where: \.isWaiting) {
            latest = try await notes.next()
        }
        #expect(latest?.map { $0["title"] } == ["here", "there"])
        await alice.replica.close()
        while try await notes.next() != nil {}
    }

    @Test("that was started syncs by itself: after edits, after failures, and when something changes elsewhere")
    func byItself() async throws {
        let gateway = try await MemoryGateway()
        let (alice, other) = (try await Device("alice", at: gateway), try await Device("alice", at: gateway))
        await alice.replica.start()
        await other.replica.start()
        var notes = alice.replica.observe(RecordQuery("notes")).makeAsyncIterator()
        while alice.replica.status.hasSynced == false { try await Task.sleep(for: .milliseconds(1)) }
        try await other.note("from elsewhere")
        while try await notes.next()?.map({ $0["title"] }) != ["from elsewhere"] {}
        gateway.isOnline = false
        try await alice.note("held up")
        for await status in alice.replica.statuses where status.lastError != nil { break }
        gateway.isOnline = true
        for await status in alice.replica.statuses where status.waiting == 0 { break }
        #expect(alice.replica.status.problems.isEmpty)
        await alice.replica.pause()
        try await alice.note("paused")
        #expect(alice.replica.status.waiting == 1)
        await other.replica.close()
        await alice.replica.close()
    }

    @Test("takes no edit that cannot be made")
    func impossibleEdits() async throws {
        let alice = try await Device("alice", at: try await MemoryGateway())
        let note = try await alice.note("one")
        await #expect(throws: ClientError.recordExists) { try await alice.replica.create(in: "notes", [:], id: note) }
        await #expect(throws: ClientError.recordNotFound) { try await alice.replica.delete("nothing", in: "notes") }
        await alice.replica.close()
        await #expect(throws: ClientError.closed) { try await alice.replica.delete(note, in: "notes") }
    }

    @Test("is open once at a time")
    func openOnce() async throws {
        let alice = try await Device("alice", at: try await MemoryGateway())
        #expect(throws: ClientError.storage("the replica is open already")) { try alice.open() }
    }

    @Test("takes another client id where its own is somebody else's, and loses nothing")
    func foreignClientID() async throws {
        let gateway = try await MemoryGateway()
        let alice = try await Device("alice", at: gateway)
        try await alice.note("kept")
        gateway.fail(once: { $0.url.hasSuffix("push") ? .refused(403, "access.denied") : nil })
        await alice.sync()
        let status = await alice.sync()
        #expect(status.waiting == 0 && status.problems.isEmpty)
    }
}
