import AdapterKit
import MemoryStore
import MirrorEngine
import RecordStorage
import StoreConformance
import Synchronization
import Testing

/// Another system with a ledger, whose answers a test decides.
private final class Ledger: Sendable {
    struct State: Sendable {
        var records: [RecordID: WireDictionary] = [:]
        var changes: [MirrorChange] = []
        var keys: Set<String> = []
        /// What becomes of the next changes; when there are none left they are made.
        var plan: [Plan] = []
        var readsBack = true
    }

    enum Plan: Sendable {
        case refuse
        case unreachable
        /// Made, and the answer is lost.
        case lose
        /// The answer is lost, and nothing was made.
        case drop
        /// Made under a key of its own.
        case choose
        /// Nothing was made, and the answer is another record.
        case answerAnother
    }

    let state = Mutex(State())

    func send(_ change: MirrorChange) throws -> MirrorWriteResult {
        try state.withLock { state in
            let plan = state.plan.isEmpty ? nil : state.plan.removeFirst()
            switch plan {
            case .refuse: return .refused(.requestInvalid, "No.")
            case .unreachable: throw UpstreamFailure(.unreachable, of: "hr")
            case .drop: throw UpstreamFailure(.timedOut, of: "hr")
            case .answerAnother: return .stored(WritesFixture.person("another", "Eve"))
            case .choose:
                let id = RecordID(unchecked: "new-\(change.id)")
                var record = change.fields
                record["id"] = .string(id.text)
                state.changes.append(change)
                state.records[id] = record
                return .stored(record)
            case .lose, nil:
                if !change.mayRepeat || state.keys.insert(change.idempotencyKey).inserted {
                    state.changes.append(change)
                    state.records[change.id] = change.after
                }
                if plan == .lose { throw UpstreamFailure(.broken, of: "hr") }
                return .stored(state.records[change.id])
            }
        }
    }

    func read(_ id: RecordID) -> MirrorRecord {
        state.withLock { state in
            guard state.readsBack else { return .unavailable }
            return state.records[id].map { .found($0) } ?? .absent
        }
    }

    func plan(_ plan: Plan...) { state.withLock { $0.plan = plan } }
    var changes: [MirrorChange] { state.withLock { $0.changes } }
}

private final class WritesFixture: Sendable {
    final class Clock: WallClock {
        private let instant = Mutex(0.0)
        func now() -> WireDate { WireDate(secondsSinceReferenceDate: instant.withLock { $0 }) }
        func advance(_ seconds: Double) { instant.withLock { $0 += seconds } }
    }

    let clock = Clock()
    let store: LaggingStore
    let ledger = Ledger()
    let lines = Mutex<[LogMessage]>([])
    let declaration: AdapterDeclaration
    let collection: CollectionDeclaration
    let alice = Principal(kind: .user, id: "1", name: "alice")

    /// `knowsCommits`: whether the store comes to know its position a moment after a commit, or never.
    init(_ writing: MirrorSource.Writing, honoursKeys: Bool = false, knowsCommits: Bool = true) async throws {
        store = LaggingStore(
            MemoryStore(clock: clock), seed: 42, most: knowsCommits ? 2 : .max,
            catchingUpAfter: knowsCommits ? .milliseconds(2) : nil)
        declaration = AdapterDeclaration(
            name: "staff", title: "", summary: "", version: "1", access: .public, entities: [MirrorFixture.entity],
            mirrors: [MirrorSource("people", of: "hr", writing: writing, honoursIdempotencyKeys: honoursKeys)])
        collection = CollectionDeclaration(adapter: "staff", entity: MirrorFixture.entity)
        try await store.install([collection] + PendingWriteRecords.collections)
    }

    func writes() -> MirrorWrites {
        MirrorWrites(
            declaration.mirrors[0], of: collection, in: store, clock: clock, random: { 0.5 },
            // Pauses pass at once, by the clock that the machine looks at.
            sleep: { [clock] pause in
                try Task.checkCancellation()
                await Task.yield()
                clock.advance(pause / .seconds(1))
            }, log: Log { line in self.lines.withLock { $0.append(line) } },
            send: { [ledger] in try ledger.send($0) }, readBack: { [ledger] in ledger.read($0) })
    }

    func withWrites<Result: Sendable>(
        _ body: @Sendable (MirrorWrites) async throws -> Result
    ) async throws -> Result {
        let writes = writes()
        return try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await writes.run() }
            defer { group.cancelAll() }
            return try await body(writes)
        }
    }

    func records(_ writes: MirrorWrites? = nil, key: String? = nil) -> AdapterRecords {
        AdapterRecords(
            store: store, declaration: declaration, principal: alice, origin: WriteOrigin(idempotencyKey: key),
            through: writes)
    }

    static func person(_ id: String, _ name: String) -> WireDictionary { ["id": .string(id), "name": .string(name)] }

    func name(_ id: RecordID) async throws -> String? {
        try await store.record(id, in: collection.id, visible: nil)?["name"].stringValue
    }

    func states() async throws -> [String] {
        try await store.query(Query(order: [SortKey("created")], limit: 100), in: CollectionID("portico", "writes"))
            .records.compactMap { $0["state"].stringValue }
    }

    func until(_ condition: () async throws -> Bool) async throws {
        while !Task.isCancelled, try await !condition() { await Task.yield() }
    }
}

@Suite struct MirrorWritesTests {
    @Test func `a queued change is stored at once, made later, and goes from the pending writes`() async throws {
        let fixture = try await WritesFixture(.queued)
        let made = try await fixture.records().create(WritesFixture.person("a", "Ann"), in: "people")
        #expect(made.id == "a")
        let states = try await fixture.states()
        #expect(states == ["pending"])
        #expect(fixture.ledger.changes.isEmpty)
        try await fixture.withWrites { _ in try await fixture.until { try await fixture.states().isEmpty } }
        #expect(fixture.ledger.changes.map(\.operation) == [.create])
        let name = try await fixture.name("a")
        #expect(name == "Ann")
    }

    @Test func `changes of a record arrive in their order, each with the state before it`() async throws {
        let fixture = try await WritesFixture(.queued)
        let records = fixture.records()
        _ = try await records.create(WritesFixture.person("a", "Ann"), in: "people")
        _ = try await records.update("a", ["name": "Bea"], in: "people")
        _ = try await records.update("a", ["age": 7], in: "people")
        try await records.delete("a", in: "people")
        fixture.ledger.plan(.unreachable)
        try await fixture.withWrites { _ in try await fixture.until { try await fixture.states().isEmpty } }
        // The two updates are one.
        #expect(fixture.ledger.changes.map(\.operation) == [.create, .update, .delete])
        #expect(fixture.ledger.changes[1].fields == ["name": "Bea", "age": 7])
        #expect(fixture.ledger.changes[1].before?["name"] == "Ann")
        #expect(fixture.ledger.changes[2].before?["age"] == 7)
    }

    @Test func `a through change is made in the other system before it is stored`() async throws {
        let fixture = try await WritesFixture(.through)
        try await fixture.withWrites { writes in
            let made = try await fixture.records(writes, key: "k1").create(
                WritesFixture.person("a", "Ann"), in: "people")
            #expect(made["name"] == "Ann")
            // The key names the account, the collection and the record too.
            let sent = fixture.ledger.changes.map(\.idempotencyKey)
            #expect(sent.count == 1 && sent[0].count == 64 && sent[0] != "k1")
            fixture.ledger.plan(.refuse)
            let refused = await #expect(throws: PorticoError.self) {
                _ = try await fixture.records(writes).update("a", ["name": "Bea"], in: "people")
            }
            #expect(refused?.code == .requestInvalid)
            fixture.ledger.plan(.unreachable)
            let failed = await #expect(throws: PorticoError.self) {
                _ = try await fixture.records(writes).update("a", ["name": "Bea"], in: "people")
            }
            #expect(failed?.code == .upstreamFailed)
            let name = try await fixture.name("a")
            #expect(name == "Ann")
            let states = try await fixture.states()
            #expect(states == [])
        }
    }

    @Test func `rules are checked before anything leaves`() async throws {
        let fixture = try await WritesFixture(.through)
        try await fixture.withWrites { writes in
            await #expect(throws: PorticoError.self) {
                _ = try await fixture.records(writes).create(["id": "a", "name": 7], in: "people")
            }
            await #expect(throws: PorticoError.self) {
                _ = try await fixture.records(writes).update("nobody", ["name": "x"], in: "people")
            }
            #expect(fixture.ledger.changes.isEmpty)
        }
    }

    @Test func `an answer that is another record says nothing of the change`() async throws {
        let fixture = try await WritesFixture(.through)
        try await fixture.withWrites { writes in
            _ = try await fixture.records(writes).create(WritesFixture.person("a", "Ann"), in: "people")
            fixture.ledger.plan(.answerAnother)
            let failed = await #expect(throws: PorticoError.self) {
                _ = try await fixture.records(writes).update("a", ["age": 7], in: "people")
            }
            #expect(failed?.code == .upstreamOutcomeUnknown)
            let (name, other) = (try await fixture.name("a"), try await fixture.name("another"))
            #expect(name == "Ann" && other == nil)
        }
    }

    @Test func `reading back another record tells nothing`() async throws {
        let fixture = try await WritesFixture(.through)
        try await fixture.withWrites { writes in
            _ = try await fixture.records(writes).create(WritesFixture.person("a", "Ann"), in: "people")
            // Its name is the one that is to be written.
            fixture.ledger.state.withLock { $0.records["a"] = WritesFixture.person("another", "Bea") }
            fixture.ledger.plan(.drop)
            let lost = await #expect(throws: PorticoError.self) {
                _ = try await fixture.records(writes).update("a", ["name": "Bea"], in: "people")
            }
            #expect(lost?.code == .upstreamOutcomeUnknown)
            let name = try await fixture.name("a")
            #expect(name == "Ann")
        }
    }

    @Test func `a lost answer is found by reading back, and is unknown where that tells nothing`() async throws {
        let fixture = try await WritesFixture(.through)
        try await fixture.withWrites { writes in
            fixture.ledger.plan(.lose)
            _ = try await fixture.records(writes).create(WritesFixture.person("a", "Ann"), in: "people")
            fixture.ledger.plan(.drop)
            let lost = await #expect(throws: PorticoError.self) {
                _ = try await fixture.records(writes).update("a", ["name": "Bea"], in: "people")
            }
            #expect(lost?.code == .upstreamOutcomeUnknown)
            let states = try await fixture.states()
            #expect(states == ["unknown"])
            let blocked = await #expect(throws: PorticoError.self) {
                _ = try await fixture.records(writes).update("a", ["name": "Cyd"], in: "people")
            }
            #expect(blocked?.code == .recordConflict)
            #expect(fixture.ledger.changes.count == 1)
            #expect(fixture.lines.withLock { $0.count { $0.text == "outcome of a write is unknown" } } == 1)
        }
    }

    @Test func `with keys a lost answer is asked for again, and the change is made once`() async throws {
        let fixture = try await WritesFixture(.queued, honoursKeys: true)
        fixture.ledger.plan(.lose, .drop, .lose)
        _ = try await fixture.records().create(WritesFixture.person("a", "Ann"), in: "people")
        try await fixture.withWrites { _ in try await fixture.until { try await fixture.states().isEmpty } }
        #expect(fixture.ledger.changes.count == 1)
    }

    @Test func `what is refused for good returns the record to what the other system has`() async throws {
        let fixture = try await WritesFixture(.queued)
        _ = try await fixture.records().create(WritesFixture.person("a", "Ann"), in: "people")
        try await fixture.withWrites { _ in try await fixture.until { try await fixture.states().isEmpty } }
        fixture.ledger.plan(.refuse)
        _ = try await fixture.records(key: "k1").update("a", ["name": "Bea"], in: "people")
        _ = try await fixture.records(key: "k2").update("a", ["age": 7], in: "people")
        try await fixture.withWrites { _ in
            try await fixture.until { try await fixture.states() == ["refused"] }
        }
        let record = try await fixture.store.record("a", in: fixture.collection.id, visible: nil)
        #expect(record?["name"] == "Ann")
        #expect(record?["age"] == 7)
        #expect(fixture.ledger.changes.last?.before?["name"] == "Ann")
        #expect(fixture.ledger.state.withLock { $0.records["a"]?["name"] } == "Ann")
    }

    @Test func `a refused creation takes the record away, and a refused deletion brings it back`() async throws {
        let fixture = try await WritesFixture(.queued)
        fixture.ledger.plan(.refuse)
        _ = try await fixture.records().create(WritesFixture.person("a", "Ann"), in: "people")
        try await fixture.withWrites { _ in try await fixture.until { try await fixture.states() == ["refused"] } }
        let gone = try await fixture.name("a")
        #expect(gone == nil)
        fixture.ledger.state.withLock { $0.records["b"] = WritesFixture.person("b", "Bob") }
        _ = try await fixture.store.write(
            WriteTransaction(
                [
                    WriteTransaction.Step(
                        adapter: "staff", change: RecordChange("people", .create("b", WritesFixture.person("b", "Bob")))
                    )
                ], author: "system"))
        fixture.ledger.plan(.refuse)
        try await fixture.records().delete("b", in: "people")
        try await fixture.withWrites { _ in
            try await fixture.until { try await fixture.states() == ["refused", "refused"] }
        }
        let back = try await fixture.name("b")
        #expect(back == "Bob")
    }

    @Test func `a write that another process began is looked for, and one that it did not send is sent`() async throws {
        let fixture = try await WritesFixture(.queued)
        _ = try await fixture.records().create(WritesFixture.person("a", "Ann"), in: "people")
        _ = try await fixture.records().create(WritesFixture.person("b", "Bob"), in: "people")
        let sent = try await fixture.store.withReadSnapshot {
            try $0.pendingWrites(of: CollectionID("staff", "people"), after: 0, limit: 10)
        }
        try await fixture.store.transact(weight: 1) { try $0.setSent(true, of: sent[0].id) }
        try await fixture.withWrites { _ in try await fixture.until { try await fixture.states() == ["unknown"] } }
        #expect(fixture.ledger.changes.map(\.id) == ["b"])
        try await fixture.withWrites { writes in
            try await writes.retry(sent[0].id)
            try await fixture.until { try await fixture.states().isEmpty }
            await #expect(throws: PorticoError.self) { try await writes.retry(sent[0].id) }
        }
        #expect(fixture.ledger.changes.map(\.id) == ["b", "a"])
    }

    @Test func `a write that an operator has sent again is in its record again, and those behind it upon it`()
        async throws
    {
        let fixture = try await WritesFixture(.queued)
        fixture.ledger.plan(.drop)
        _ = try await fixture.records().create(WritesFixture.person("a", "Ann"), in: "people")
        let mirror = CollectionID("staff", "people")
        try await fixture.withWrites { _ in try await fixture.until { try await fixture.states() == ["unknown"] } }
        // What a refresh makes of the record meanwhile.
        let gone = WriteTransaction.Step(adapter: "staff", change: RecordChange("people", .delete("a")))
        _ = try await fixture.store.write(WriteTransaction([gone], author: "system"))
        let unknown = try await fixture.store.withReadSnapshot {
            try $0.pendingWrites(of: mirror, after: 0, limit: 10)
        }
        let writes = fixture.writes()
        try await writes.retry(unknown[0].id)
        let again = try await fixture.name("a")
        #expect(again == "Ann")
        _ = try await fixture.records().update("a", ["name": "Anna"], in: "people")
        try await writes.retry(unknown[0].id)
        let later = try await fixture.name("a")
        #expect(later == "Anna")
        try await fixture.withWrites { _ in try await fixture.until { try await fixture.states().isEmpty } }
        let made = try await fixture.name("a")
        #expect(made == "Anna")
        #expect(fixture.ledger.changes.map(\.operation) == [.create, .update])
    }

    @Test func `a through change that was not sent before a restart is not made after it`() async throws {
        let fixture = try await WritesFixture(.through)
        let (records, late) = (fixture.records(fixture.writes()), ContinuousClock.now + .milliseconds(300))
        // Nothing runs that would send it.
        let error = await #expect(throws: PorticoError.self) {
            try await CallContext.$current.withValue(CallContext(deadline: late, requestID: "r")) {
                _ = try await records.create(WritesFixture.person("a", "Ann"), in: "people")
            }
        }
        #expect(error?.code == .upstreamFailed)
        let states = try await fixture.states()
        #expect(states == ["pending"])
        try await fixture.withWrites { _ in try await fixture.until { try await fixture.states().isEmpty } }
        #expect(fixture.ledger.changes.isEmpty)
    }

    @Test func `a through change of another process goes too where the store does not know of it yet`() async throws {
        let fixture = try await WritesFixture(.through, knowsCommits: false)
        let (records, late) = (fixture.records(fixture.writes()), ContinuousClock.now + .milliseconds(300))
        _ = await #expect(throws: PorticoError.self) {
            try await CallContext.$current.withValue(CallContext(deadline: late, requestID: "r")) {
                _ = try await records.create(WritesFixture.person("a", "Ann"), in: "people")
            }
        }
        #expect(fixture.store.position == Revision(0))
        let states = try await fixture.states()
        #expect(states == ["pending"])
        try await fixture.withWrites { _ in try await fixture.until { try await fixture.states().isEmpty } }
        #expect(fixture.ledger.changes.isEmpty)
    }

    @Test func `a dropped write leaves the record as the other system has it`() async throws {
        let fixture = try await WritesFixture(.queued)
        fixture.ledger.plan(.drop)
        _ = try await fixture.records().create(WritesFixture.person("a", "Ann"), in: "people")
        try await fixture.withWrites { writes in
            try await fixture.until { try await fixture.states() == ["unknown"] }
            let id = try await fixture.store.query(Query(limit: 1), in: CollectionID("portico", "writes")).records[0].id
            try await writes.drop(id)
            let states = try await fixture.states()
            #expect(states == [])
        }
        let name = try await fixture.name("a")
        #expect(name == nil)
    }

    @Test func `a refresh leaves a record with a pending change as it is`() async throws {
        let fixture = try await WritesFixture(.queued)
        let writes = fixture.writes()
        let mirror = Mirror(
            fixture.declaration.mirrors[0], of: fixture.collection, stored: nil, in: fixture.store, writes: writes,
            clock: fixture.clock, log: Log { _ in },
            read: { _ in MirrorPage([WritesFixture.person("a", "old"), WritesFixture.person("b", "Bob")]) })
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await mirror.run() }
            defer { group.cancelAll() }
            guard case .done = await mirror.refreshNow(by: .operator) else { throw PorticoError(.serverInternal, "") }
            _ = try await fixture.records().update("a", ["name": "new"], in: "people")
            _ = try await fixture.records().create(WritesFixture.person("c", "Cyd"), in: "people")
            guard case .done = await mirror.refreshNow(by: .operator) else { throw PorticoError(.serverInternal, "") }
            let names = try await [fixture.name("a"), fixture.name("b"), fixture.name("c")]
            #expect(names == ["new", "Bob", "Cyd"])
        }
    }

    @Test func `authors see their own writes alone`() async throws {
        let fixture = try await WritesFixture(.queued)
        _ = try await fixture.records().create(WritesFixture.person("a", "Ann"), in: "people")
        for (name, count) in [("alice", 1), ("bob", 0)] {
            let records = AdapterRecords(
                store: fixture.store, declaration: PendingWriteRecords.declaration,
                principal: Principal(kind: .user, id: name, name: name))
            let found = try await records.query(Query(), in: "writes").records
            #expect(found.count == count)
            await #expect(throws: PorticoError.self) {
                _ = try await records.create(["collection": "x"], in: "writes")
            }
        }
    }

    @Test func `a change with a key of another one is refused, and the same change comes again with its key`()
        async throws
    {
        let fixture = try await WritesFixture(.queued, honoursKeys: true)
        _ = try await fixture.records(key: "k").create(WritesFixture.person("a", "Ann"), in: "people")
        _ = try await fixture.records().create(WritesFixture.person("b", "Bob"), in: "people")
        for attempt in ["a", "b"] as [RecordID] {
            let reused = await #expect(throws: PorticoError.self) {
                _ = try await fixture.records(key: "k").update(attempt, ["name": "Eve"], in: "people")
            }
            #expect(reused?.code == .keyReused)
        }
        _ = try await fixture.records(key: "k2").update("a", ["name": "Eve", "age": 7], in: "people")
        _ = try await fixture.records(key: "k2").update("a", ["age": 7, "name": "Eve"], in: "people")
        try await fixture.withWrites { _ in try await fixture.until { try await fixture.states().isEmpty } }
        #expect(fixture.ledger.changes.map(\.operation) == [.create, .create, .update])
        // A day later the key is a new one.
        fixture.clock.advance(PendingWriteRecords.keyLifetime)
        _ = try await fixture.records(key: "k").update("b", ["name": "Eve"], in: "people")
    }

    @Test func `one key names another change for each account and record`() async throws {
        let fixture = try await WritesFixture(.queued)
        let bob = AdapterRecords(
            store: fixture.store, declaration: fixture.declaration,
            principal: Principal(kind: .user, id: "2", name: "bob"), origin: WriteOrigin(idempotencyKey: "k"))
        _ = try await fixture.records(key: "k").create(WritesFixture.person("a", "Ann"), in: "people")
        _ = try await bob.create(WritesFixture.person("b", "Bob"), in: "people")
        try await fixture.withWrites { _ in try await fixture.until { try await fixture.states().isEmpty } }
        #expect(Set(fixture.ledger.changes.map(\.idempotencyKey)).count == 2)
    }

    @Test func `with keys an answer that never comes leaves the write unknown, and others are told at once`()
        async throws
    {
        let fixture = try await WritesFixture(.through, honoursKeys: true)
        try await fixture.withWrites { writes in
            _ = try await fixture.records(writes).create(WritesFixture.person("a", "Ann"), in: "people")
            fixture.ledger.state.withLock { $0.plan = Array(repeating: .drop, count: 20) }
            let lost = await #expect(throws: PorticoError.self) {
                _ = try await fixture.records(writes).update("a", ["name": "Bea"], in: "people")
            }
            #expect(lost?.code == .upstreamOutcomeUnknown)
            #expect(writes.counts == (0, 1))
            let other = await #expect(throws: PorticoError.self) {
                _ = try await fixture.records(writes).update("a", ["name": "Cyd"], in: "people")
            }
            #expect(other?.code == .recordConflict)
            #expect(fixture.lines.withLock { $0.count { $0.text == "outcome of a write is unknown" } } == 1)
            fixture.clock.advance(PendingWriteRecords.longestLock)
            fixture.ledger.plan()
            _ = try await fixture.records(writes).update("a", ["name": "Cyd"], in: "people")
            #expect(writes.counts == (0, 1))
        }
    }

    @Test func `a write that cannot be made says why, how often it was tried and what was answered`() async throws {
        let fixture = try await WritesFixture(.queued)
        fixture.ledger.state.withLock { $0.plan = Array(repeating: .unreachable, count: 3) }
        _ = try await fixture.records().create(WritesFixture.person("a", "Ann"), in: "people")
        let selection = WriteSelection(author: "alice", record: "a", mirror: "staff/people")
        try await fixture.withWrites { _ in
            try await fixture.until {
                let listed = try await fixture.store.withReadSnapshot { try $0.listOfWrites(selection, limit: 9) }
                guard let write = listed.first, let tries = write["tries"]?.int64Value, tries >= 2 else {
                    return listed.isEmpty
                }
                #expect(write["reason"] == "upstream.failed" && write["state"] == "pending")
                #expect(write["answer"]?.stringValue?.isEmpty == false)
                return true
            }
            try await fixture.until { try await fixture.states().isEmpty }
        }
        let others = try await fixture.store.withReadSnapshot {
            try $0.listOfWrites(WriteSelection(author: "bob"), limit: 9)
        }
        #expect(others.isEmpty)
    }

    @Test func `a refused write that is sent again has another key, and one of unknown outcome has its own`()
        async throws
    {
        let fixture = try await WritesFixture(.queued, honoursKeys: true)
        let keys = Mutex<[String]>([])
        let writes = MirrorWrites(
            fixture.declaration.mirrors[0], of: fixture.collection, in: fixture.store, clock: fixture.clock,
            random: { 0.5 },
            sleep: { [clock = fixture.clock] pause in
                try Task.checkCancellation()
                await Task.yield()
                clock.advance(pause / .seconds(1))
            }, log: Log { _ in },
            send: { change in
                keys.withLock { $0.append(change.idempotencyKey) }
                return .refused(.requestInvalid, "No.")
            }, readBack: { _ in .absent })
        _ = try await fixture.records(key: "k").create(WritesFixture.person("a", "Ann"), in: "people")
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await writes.run() }
            defer { group.cancelAll() }
            for count in 1...3 {
                try await fixture.until {
                    let states = try await fixture.states()
                    return states == ["refused"] && keys.withLock { $0.count } == count
                }
                let id = try await fixture.store.query(Query(limit: 1), in: CollectionID("portico", "writes")).records[
                    0
                ].id
                if count < 3 { try await writes.retry(id) }
            }
        }
        #expect(Set(keys.withLock { $0 }).count == 3)
    }

    @Test func `updates of another author, and those behind them, are writes of their own`() async throws {
        let fixture = try await WritesFixture(.queued)
        let bob = AdapterRecords(
            store: fixture.store, declaration: fixture.declaration,
            principal: Principal(kind: .user, id: "2", name: "bob"))
        _ = try await fixture.records().create(WritesFixture.person("a", "Ann"), in: "people")
        for name in ["Bea", "Cyd"] {
            _ = try await fixture.records().update("a", ["name": .string(name)], in: "people")
        }
        _ = try await bob.update("a", ["age": 7], in: "people")
        _ = try await fixture.records().update("a", ["name": "Dot"], in: "people")
        try await fixture.withWrites { _ in try await fixture.until { try await fixture.states().isEmpty } }
        let changes = fixture.ledger.changes
        #expect(changes.map(\.fields) == [changes[0].fields, ["name": "Cyd"], ["age": 7], ["name": "Dot"]])
    }

    @Test func `an author has as many places as are left, so that there is one for another`() {
        let most = PendingWriteRecords.mostOfMirror
        #expect(PendingWriteRecords.hasPlace(of: most / 2 - 1, taken: most / 2 - 1))
        #expect(!PendingWriteRecords.hasPlace(of: most / 2, taken: most / 2))
        #expect(PendingWriteRecords.hasPlace(of: 0, taken: most / 2))
        #expect(PendingWriteRecords.hasPlace(of: 0, taken: most - 1))
        #expect(!PendingWriteRecords.hasPlace(of: 1, taken: most - 1))
        #expect(!PendingWriteRecords.hasPlace(of: 0, taken: most))
    }

    @Test func `a created record takes the key that the other system chose, and changes that wait follow`()
        async throws
    {
        let fixture = try await WritesFixture(.queued)
        fixture.ledger.plan(.choose)
        _ = try await fixture.records().create(WritesFixture.person("a", "Ann"), in: "people")
        _ = try await fixture.records().update("a", ["name": "Bea"], in: "people")
        try await fixture.withWrites { _ in try await fixture.until { try await fixture.states().isEmpty } }
        #expect(fixture.ledger.changes.map(\.id) == ["a", "new-a"])
        let (old, new) = (try await fixture.name("a"), try await fixture.name("new-a"))
        #expect(old == nil && new == "Bea")
        let mirror = fixture.collection.id
        let move = try await fixture.store.withReadSnapshot { try $0.move(of: "a", in: mirror) }
        #expect(move?.to == "new-a")
        let former = try await fixture.store.withReadSnapshot { try $0.formerIDs(of: "new-a", in: mirror) }
        #expect(former == ["a"])
    }

    @Test func `a caller who waits gets the record with the key that the other system chose`() async throws {
        let fixture = try await WritesFixture(.through)
        try await fixture.withWrites { writes in
            fixture.ledger.plan(.choose)
            let made = try await fixture.records(writes).create(WritesFixture.person("a", "Ann"), in: "people")
            #expect(made.id == "new-a" && made["id"] == "new-a" && made["name"] == "Ann")
            // Another record with that key and other values is not the one that was created.
            _ = try await fixture.records(writes).create(WritesFixture.person("new-b", "Bob"), in: "people")
            fixture.ledger.plan(.choose)
            let other = await #expect(throws: PorticoError.self) {
                _ = try await fixture.records(writes).create(WritesFixture.person("b", "Cyd"), in: "people")
            }
            #expect(other?.code == .upstreamOutcomeUnknown)
            let name = try await fixture.name("new-b")
            #expect(name == "Bob")
        }
    }
}

/// Records of one mirror that name new records of another one, whose keys the other system chooses.
@Suite struct NamedRecordWritesTests {
    private final class Pauses: Sendable {
        let count = Mutex(0)
    }

    @Test func `a change that names a new record is sent when that has its key, and names it so`() async throws {
        let clock = WritesFixture.Clock()
        let store = MemoryStore(clock: clock)
        let text = Shape.string(maximumLength: 40)
        let orders = Entity("orders", summary: "", key: EntityKey("id"), fields: [Field("id", text)])
        let lines = Entity(
            "lines", summary: "", key: EntityKey("id"), fields: [Field("id", text), Field("order", text)],
            parents: [ParentReference("order", in: "orders")])
        let declaration = AdapterDeclaration(
            name: "shop", title: "", summary: "", version: "1", access: .public, entities: [orders, lines],
            mirrors: ["orders", "lines"].map { MirrorSource($0, of: "hr", writing: .queued) })
        let collections = declaration.entities.map { CollectionDeclaration(adapter: "shop", entity: $0) }
        try await store.install(collections + PendingWriteRecords.collections)
        let records = AdapterRecords(
            store: store, declaration: declaration, principal: Principal(kind: .user, id: "1", name: "alice"))
        try await records.create(["id": "o"], in: "orders")
        try await records.create(["id": "l", "order": "o"], in: "lines")
        let (ordered, lined, pauses) = (Ledger(), Ledger(), Pauses())
        ordered.plan(.choose)
        func writes(_ index: Int, _ ledger: Ledger) -> MirrorWrites {
            MirrorWrites(
                declaration.mirrors[index], of: collections[index], among: declaration.entities, in: store,
                clock: clock,
                random: { 0.5 },
                sleep: { pause in
                    try Task.checkCancellation()
                    await Task.yield()
                    pauses.count.withLock { $0 += 1 }
                    clock.advance(pause / .seconds(1))
                }, log: .discarding, send: { try ledger.send($0) }, readBack: { ledger.read($0) })
        }
        let (orderWrites, lineWrites) = (writes(0, ordered), writes(1, lined))
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await lineWrites.run() }
            while pauses.count.withLock({ $0 }) < 3 { await Task.yield() }
            #expect(lined.changes.isEmpty)
            group.addTask { await orderWrites.run() }
            while lined.changes.isEmpty { await Task.yield() }
            group.cancelAll()
        }
        #expect(lined.changes.map { $0.fields["order"] } == ["new-o"])
        #expect(try await store.record("l", in: collections[1].id, visible: nil)?["order"] == "new-o")
    }
}
