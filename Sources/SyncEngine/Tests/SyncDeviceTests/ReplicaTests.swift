import SyncDevice
import SyncMessages
import Testing
import ValueTree

@Suite
struct ReplicaTests {
    @Test
    func `pages stay out of sight until the pull is complete`() {
        var bench = Bench()
        bench.take(bench.device.sync())
        bench.answerPull(PullPage(operations: [Bench.put("n1", 1)], ending: .next("more")))
        #expect(bench.device.state.records(of: "notes").isEmpty)
        #expect(bench.pulls.last?.request.checkpoint == "more")
        bench.answerPull(Bench.complete(["n1": 1, "n2": 2], put: ["n2": 2]))
        #expect(bench.device.state.records(of: "notes").map(\.id) == ["n1", "n2"])
        #expect(bench.durable == bench.device.state)
    }

    @Test
    func `a scope that disagrees is fetched again, and that scope only`() {
        var bench = Bench()
        bench.start(with: ["n1": 1])
        bench.take(bench.device.sync())
        bench.answerPull(Bench.complete(["n1": 1, "n2": 2]))
        #expect(bench.pulls.last?.request.refetch == ["notes"])
        #expect(bench.device.state.records(of: "notes").count == 1)
        var again = Bench.complete(["n1": 1, "n2": 2], put: ["n1": 1, "n2": 2])
        again.reset = ["notes"]
        bench.answerPull(again)
        #expect(bench.device.state.records(of: "notes").count == 2)
    }

    @Test
    func `a server whose checksums never agree is not asked for ever`() {
        var bench = Bench(DeviceLimits(refetches: 2))
        bench.take(bench.device.sync())
        for _ in 0..<10 { bench.answerPull(Bench.complete(["n1": 1])) }
        #expect(bench.pulls.count == 3)
        #expect(bench.reports == [.scopesDisagree(["notes"])])
        #expect(bench.pauses.count == 1)
    }

    @Test
    func `starting over keeps the rows in sight and the edits, whose bases count only where nothing changed`() throws {
        var bench = Bench()
        bench.start(with: ["n1": 5, "n2": 5])
        try bench.edit(.update(["a": "mine"]))
        bench.replyToPush(.unavailable)
        try bench.edit(.update(["a": "mine"]), RecordKey("notes", "n2"))
        bench.take(bench.device.sync())
        bench.replyToPull(.fetchAgain)
        #expect(bench.pulls.last?.request.checkpoint == nil)
        #expect(bench.text() == "mine")
        var page = Bench.complete(["n1": 9, "n2": 8])
        page.operations = [Bench.put("n1", 9), Bench.put("n2", 8, ["a": "changed"])]
        bench.answerPull(page)
        bench.take(bench.device.wake())
        #expect(bench.sent.map(\.baseRev) == [9, 0])
        #expect(bench.durable == bench.device.state)
    }

    @Test
    func `an acknowledged edit stays in sight until a checkpoint contains it`() throws {
        var bench = Bench()
        bench.start(with: ["n1": 3])
        try bench.edit(.update(["a": "mine"]))
        bench.answerPush([MutationOutcome(sequence: 1, verdict: .applied, rev: 4)])
        #expect(bench.text() == "mine")
        var stale = Bench.complete(["n1": 3])
        stale.operations = []
        bench.answerPull(stale)
        #expect(bench.text() == "mine")
        bench.take(bench.device.sync())
        var page = Bench.complete(["n1": 4])
        page.operations = [Bench.put("n1", 4, ["a": "mine"])]
        bench.answerPull(page)
        #expect(bench.text() == "mine")
        #expect(bench.device.state.outbox.acknowledged.isEmpty)
    }

    @Test
    func `rows of a scope that is gone are forgotten`() {
        var bench = Bench()
        bench.start(with: ["n1": 3])
        bench.take(bench.device.sync())
        bench.answerPull(
            PullPage(
                operations: [], ending: .complete(PullCompletion(checkpoint: "x", position: 4, scopes: []))))
        #expect(bench.device.state.records(of: "notes").isEmpty)
    }
}
