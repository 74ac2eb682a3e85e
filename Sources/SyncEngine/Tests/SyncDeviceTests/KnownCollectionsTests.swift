import SyncDevice
import SyncMessages
import Testing
import ValueTree

/// What a device does with what the server said of its collections.
@Suite
struct KnownCollectionsTests {
    private static let counted = CollectionDescription(key: "number", fields: ["number": "integer", "a": "string"])

    private func bench(_ known: CollectionDescription?, _ limits: DeviceLimits = DeviceLimits()) -> Bench {
        var bench = Bench(limits)
        bench.take(bench.device.sync())
        bench.answerPull(Bench.complete([:], describing: known))
        return bench
    }

    @Test
    func `a key is a number where the collection's is, and the mutation stays as the app made it`() throws {
        var bench = bench(Self.counted)
        try bench.edit(.create(["a": "mine"]), RecordKey("notes", "7"))
        #expect(bench.device.state[RecordKey("notes", "7")]?.fields == ["number": 7, "a": "mine"])
        #expect(bench.sent.map(\.fields) == [["a": "mine"]])
        #expect(bench.durable == bench.device.state)
        bench.restart()
        #expect(bench.device.state.records(of: "notes").map(\.fields) == [["number": 7, "a": "mine"]])
    }

    @Test
    func `a key that is null is the id`() throws {
        var bench = bench(Self.counted)
        try bench.edit(.create(["number": .null]), RecordKey("notes", "7"))
        #expect(bench.device.state[RecordKey("notes", "7")]?.fields == ["number": 7])
    }

    @Test
    func `an edit that names what is not there changes nothing`() throws {
        var bench = bench(Self.counted)
        let before = bench.device.state
        for (edit, error) in [
            (LocalEdit(RecordKey("notes", "7"), .create(["b": 1])), EditError.unknownField("b")),
            (LocalEdit(RecordKey("notes", "7"), .create(["number": 8])), .keyDiffers("number")),
            (LocalEdit(RecordKey("notes", "x"), .create([:])), .idNotANumber),
            (LocalEdit(RecordKey("others", "7"), .create([:])), .unknownCollection),
        ] {
            #expect(throws: error) { try bench.edit(edit.action, edit.key) }
        }
        #expect(bench.device.state == before)
    }

    @Test
    func `a device that is narrowed takes what it was not told of`() throws {
        var bench = bench(Self.counted, DeviceLimits(collections: ["notes", "others"]))
        try bench.edit(.create(["any": 1]), RecordKey("others", "x"))
        #expect(bench.device.state[RecordKey("others", "x")]?.fields == ["any": 1])
    }

    @Test
    func `a description is asked for by the name of the last one and replaced by another`() {
        var bench = Bench()
        bench.take(bench.device.sync())
        #expect(bench.pulls.last?.request.describe == "none")
        bench.answerPull(Bench.complete([:], describing: Self.counted))
        bench.take(bench.device.sync())
        #expect(bench.pulls.last?.request.describe == "number 2")
        bench.answerPull(Bench.complete([:], describing: CollectionDescription(key: "id", fields: ["id": "string"])))
        #expect(bench.device.state.known?["notes"]?.key == "id")
        bench.take(bench.device.sync())
        bench.answerPull(Bench.complete([:]))
        #expect(bench.device.state.known == nil)
    }

    @Test
    func `what is known is read as it was written`() throws {
        let known = try #require(bench(Self.counted).device.state.known)
        #expect(try KnownCollections(from: known.wireValue) == known)
    }
}
