import SyncDevice
import SyncMessages
import Testing
import ValueTree

@Suite
struct OutboxTests {
    @Test
    func `a repetition after a lost answer has the same sequences, after a restart too`() throws {
        var bench = Bench()
        bench.start(with: ["n1": 3])
        try bench.edit(.update(["a": "mine"]))
        let first = bench.sent
        bench.replyToPush(.unavailable)
        bench.take(bench.device.wake())
        #expect(bench.sent == first)
        bench.restart()
        #expect(bench.sent == first)
    }

    @Test
    func `an edit of a record that has another id by now is an edit of that`() throws {
        var bench = Bench()
        bench.start(with: ["n1": 3])
        try bench.edit(.update(["a": "mine"]))
        bench.replyToPush(.unavailable)
        bench.take(bench.device.sync())
        var page = Bench.complete(["n9": 5], put: ["n9": 5])
        page.operations.insert(
            RecordOperation(collection: "notes", id: "n1", rev: 5, kind: .remove(movedTo: "n9")), at: 0)
        bench.answerPull(page)
        #expect(bench.reports.contains(.moved([Bench.note: "n9"])))
        #expect(bench.text() == nil && bench.text(RecordKey("notes", "n9")) == "mine")
        bench.take(bench.device.wake())
        #expect(bench.sent.map(\.id) == ["n9"] && bench.sent.map(\.sequence) == [1])
        #expect(bench.sent.map(\.baseRev) == [5])
        bench.restart()
        #expect(bench.sent.map(\.id) == ["n9"])
    }

    @Test
    func `an edit of a record that is under way waits and is made on what comes of the first`() throws {
        var bench = Bench()
        bench.start(with: ["n1": 3])
        try bench.edit(.update(["a": "one"]))
        try bench.edit(.update(["a": "two"]))
        #expect(bench.pushes.count == 1)
        #expect(bench.text() == "two")
        bench.answerPush([MutationOutcome(sequence: 1, verdict: .applied, rev: 4)])
        #expect(bench.sent.map(\.baseRev) == [4])
        #expect(bench.sent.map(\.sequence) == [2])
    }

    @Test
    func `behind a creation that failed, nothing is made on whatever is there`() throws {
        var bench = Bench()
        bench.start()
        try bench.edit(.create(["a": "one"]))
        try bench.edit(.update(["a": "two"]))
        #expect(bench.sent.first?.baseRev == nil)
        bench.answerPush([MutationOutcome(sequence: 1, verdict: .rejected, reason: "access.denied")])
        #expect(bench.sent.first?.baseRev == 0)
    }

    @Test
    func `a rejected edit is set aside and blocks nothing`() throws {
        var bench = Bench()
        bench.start(with: ["n1": 3, "n2": 3])
        try bench.edit(.update(["a": "bad"]))
        try bench.edit(.update(["a": "good"]), RecordKey("notes", "n2"))
        bench.answerPush([MutationOutcome(sequence: 1, verdict: .rejected, reason: "access.denied")])
        #expect(bench.sent.map(\.id) == ["n2"])
        #expect(bench.text() == "server")
        #expect(bench.device.state.outbox.setAside.map(\.reason) == ["access.denied"])
    }

    @Test
    func `a conflict comes with the server's copy, and what the app makes of it is made on that`() throws {
        var bench = Bench()
        bench.start(with: ["n1": 3])
        try bench.edit(.update(["a": "mine"]))
        let copy = RecordCopy(id: "n1", rev: 7, fields: ["a": "theirs"])
        bench.answerPush([MutationOutcome(sequence: 1, verdict: .conflict, rev: 7, record: copy)])
        let aside = try #require(bench.device.state.outbox.setAside.first)
        #expect(aside.cause == .conflict(copy))
        #expect(aside.pending.base?.fields == ["a": "server"])
        bench.take(bench.device.resolve(aside.pending.number, with: LocalEdit(Bench.note, .update(["a": "both"]))))
        #expect(bench.sent.map(\.baseRev) == [7])
        #expect(bench.device.state.outbox.setAside.isEmpty)
    }

    @Test
    func `what others changed in a merge is not overwritten by an edit made before it was seen`() throws {
        var bench = Bench()
        bench.start(with: ["n1": 3])
        try bench.edit(.update(["a": "mine"]))
        try bench.edit(.update(["b": "mine too"]))
        let merged = RecordCopy(id: "n1", rev: 8, fields: ["a": "mine", "b": "theirs"])
        bench.answerPush([MutationOutcome(sequence: 1, verdict: .merged, rev: 8, record: merged)])
        #expect(bench.sent.map(\.baseRev) == [3])
    }

    /// Three edits, of which the first was merged with what another caller did to the field of the third.
    private func benchAfterMerge() throws -> Bench {
        var bench = Bench()
        bench.start(with: ["n1": 3])
        try bench.edit(.update(["a": "mine"]))
        try bench.edit(.update(["c": "mine as well"]))
        try bench.edit(.update(["b": "mine too"]))
        let merged = RecordCopy(id: "n1", rev: 8, fields: ["a": "mine", "b": "theirs"])
        bench.answerPush([MutationOutcome(sequence: 1, verdict: .merged, rev: 8, record: merged)])
        return bench
    }

    @Test
    func `an edit that met what others changed keeps its base behind later edits of one's own`() throws {
        var bench = try benchAfterMerge()
        #expect(bench.sent.map(\.baseRev) == [8])
        bench.answerPush([MutationOutcome(sequence: 2, verdict: .applied, rev: 9)])
        #expect(bench.sent.map(\.baseRev) == [3])
    }

    @Test
    func `an edit that met what others changed keeps its base when the replica starts over`() throws {
        var bench = try benchAfterMerge()
        // The second edit is made, its answer is lost, and the replica has to start over.
        bench.replyToPush(.fetchAgain)
        let now = Bench.put("n1", 9, ["a": "mine", "b": "theirs", "c": "mine as well"])
        bench.answerPull(PullPage(operations: [now], ending: Bench.complete(["n1": 9]).ending))
        #expect(bench.sent.map(\.sequence) == [2])
        bench.answerPush([MutationOutcome(sequence: 2, verdict: .applied, rev: 9)])
        #expect(bench.sent.map(\.fields) == [["b": "mine too"]])
        #expect(bench.sent.map(\.baseRev) == [0])
    }

    @Test
    func `a batch that is refused is narrowed down to the mutation that it is refused for`() throws {
        var bench = Bench()
        bench.start(with: ["n1": 3, "n2": 3])
        try bench.edit(.update(["a": "x"]))
        bench.replyToPush(.unavailable)
        try bench.edit(.update(["a": "y"]), RecordKey("notes", "n2"))
        bench.take(bench.device.wake())
        #expect(bench.sent.count == 2)
        bench.replyToPush(.refused("request.tooLarge"))
        #expect(bench.sent.map(\.id) == ["n1"])
        bench.replyToPush(.refused("request.tooLarge"))
        #expect(bench.sent.map(\.id) == ["n2"])
        #expect(bench.device.state.outbox.setAside.count == 1)
    }

    @Test
    func `a login that is needed pauses the outbox and drops nothing`() throws {
        var bench = Bench()
        bench.start(with: ["n1": 3])
        try bench.edit(.update(["a": "mine"]))
        let old = try #require(bench.pushes.last)
        bench.replyToPush(.unauthorized)
        try bench.edit(.create(["a": "other"]), RecordKey("notes", "n2"))
        #expect(bench.pushes.count == 1)
        #expect(bench.reports.contains(.signInNeeded))
        bench.take(bench.device.signedIn())
        #expect(bench.sent.map(\.id) == ["n1", "n2"])
        bench.take(bench.device.pushed(old.number, .unauthorized))
        #expect(!bench.device.isPaused)
    }

    @Test
    func `an outbox that is full says so and stays as it is`() throws {
        var bench = Bench(DeviceLimits(pendingEdits: 1))
        try bench.edit(.create([:]))
        #expect(throws: EditError.outboxFull) { try bench.edit(.create([:]), RecordKey("notes", "n2")) }
        #expect(throws: EditError.self) { try bench.edit(.create([:])) }
        #expect(bench.device.state.outbox.pending.count == 1)
    }
}
