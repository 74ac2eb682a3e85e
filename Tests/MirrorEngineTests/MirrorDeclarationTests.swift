import AdapterKit
import MemoryStore
import MirrorEngine
import RecordStorage
import Synchronization
import Testing

/// Mirrors whose entity is declared otherwise than in the store, or than at the last refresh, as while adapters are deployed.
@Suite struct MirrorDeclarationTests {
    /// With a field more.
    private static let extended = CollectionDeclaration(
        adapter: "staff",
        entity: Entity(
            "people", summary: "", key: EntityKey("id"),
            fields: MirrorFixture.entity.fields + [Field("carrier", .string, defaultValue: "none")]))
    private static let names = (0..<30).map { "p\($0)" }

    /// All people; `carrier`: of each, where the other system says it.
    private func tell(_ fixture: MirrorFixture, _ names: [String] = names, carrier: String? = nil) {
        fixture.tell(names)
        guard let carrier else { return }
        fixture.answer.withLock { answer in
            for index in answer.rows.indices { answer.rows[index]["carrier"] = .string(carrier) }
        }
    }

    private func person(_ name: String, _ fixture: MirrorFixture) async throws -> Record? {
        try await fixture.store.record(RecordID(unchecked: name), in: fixture.collection.id, visible: nil)
    }

    @Test func `a refresh compares and writes the fields of its own declaration alone`() async throws {
        let fixture = try await MirrorFixture()
        try await fixture.store.install([Self.extended])
        tell(fixture, carrier: "post")
        try await fixture.withMirror(of: Self.extended) { _ = try await $0.read() }
        tell(fixture, Self.names + ["new"])
        fixture.answer.withLock { $0.rows[3]["name"] = "another" }
        try await fixture.withMirror { mirror in
            guard case .done(let summary) = await mirror.refreshNow(by: .operator) else { throw Unexpected() }
            #expect([summary.created, summary.updated, summary.deleted] == [1, 1, 0])
        }
        let (same, changed) = (try await person("p2", fixture), try await person("p3", fixture))
        #expect(same?["carrier"] == "post")
        #expect(changed?["name"] == "another" && changed?["carrier"] == "post")
        #expect(try await person("new", fixture)?["carrier"] == "none")
    }

    @Test func `values of a field that is new hold no refresh back`() async throws {
        let fixture = try await MirrorFixture()
        tell(fixture)
        try await fixture.withMirror { _ = try await $0.read() }
        try await fixture.store.install([Self.extended])
        tell(fixture, carrier: "post")
        try await fixture.withMirror(of: Self.extended) { mirror in
            guard case .done(let summary) = await mirror.refreshNow(by: .operator) else { throw Unexpected() }
            #expect(summary.updated == 30)
            #expect(mirror.status.word == "good")
            // It is not new any more.
            tell(fixture, carrier: "rail")
            guard case .held(let held) = await mirror.refreshNow(by: .operator) else { throw Unexpected() }
            #expect(held.reason == .share(changed: 30, of: 30))
        }
    }

    @Test func `a lie in the fields of before is held back with values of a new field, also after a restart`()
        async throws
    {
        let fixture = try await MirrorFixture()
        tell(fixture)
        try await fixture.withMirror { _ = try await $0.read() }
        try await fixture.store.install([Self.extended])
        for _ in 0..<2 {
            try await fixture.withMirror(of: Self.extended) { mirror in
                tell(fixture, carrier: "post")
                fixture.answer.withLock { for index in 0..<20 { $0.rows[index]["name"] = "nobody" } }
                guard case .held(let held) = await mirror.refreshNow(by: .operator) else { throw Unexpected() }
                #expect(held.reason == .share(changed: 20, of: 30))
                #expect(held.detail == "20 changed and 0 deleted of 30")
            }
        }
        tell(fixture, carrier: "post")
        try await fixture.withMirror(of: Self.extended) { mirror in
            guard case .done = await mirror.refreshNow(by: .operator) else { throw Unexpected() }
        }
        #expect(try await person("p0", fixture)?["carrier"] == "post")
    }

    @Test func `a field that is new has every row of a source of increments fetched`() async throws {
        let fixture = try await MirrorFixture()
        let asked = Mutex<[String?]>([])
        func refresh(_ collection: CollectionDeclaration, since known: MirrorState) async throws -> MirrorState {
            let refresh = MirrorRefresh(
                collection: collection, source: MirrorSource("people", of: "hr", reading: .increments),
                beginReplacement: { try await fixture.store.beginReplacement(of: $0) },
                read: { request in
                    asked.withLock { $0.append(request.since) }
                    return MirrorPage([["id": "a", "name": "A"]], cursor: "1")
                }, clock: fixture.clock)
            guard case .done(_, let state) = try await refresh.run(since: known) else { throw Unexpected() }
            return MirrorState(state.stored)
        }
        var state = try await refresh(fixture.collection, since: MirrorState())
        try await fixture.store.install([Self.extended])
        for _ in 0..<2 { state = try await refresh(Self.extended, since: state) }
        #expect(asked.withLock { $0 } == [nil, nil, "1"])
    }

    @Test func `rows of another system are as if they had never been fetched`() async throws {
        let fixture = try await MirrorFixture()
        func refresh(_ upstream: UpstreamName, _ stored: WireDictionary?) async throws -> (WireDictionary, String?) {
            let asked = Mutex<String?>(nil)
            let known = MirrorState(stored).of(upstream)
            let refresh = MirrorRefresh(
                collection: fixture.collection,
                source: MirrorSource("people", of: upstream, reading: .increments),
                beginReplacement: { try await fixture.store.beginReplacement(of: $0) },
                read: { request in
                    asked.withLock { $0 = request.since }
                    return MirrorPage([["id": "a", "name": "A"]], cursor: "1")
                }, clock: fixture.clock)
            guard case .done(_, let state) = try await refresh.run(since: known) else { throw Unexpected() }
            return (state.stored, asked.withLock { $0 })
        }
        let (first, before) = try await refresh("hr", nil)
        let (again, since) = try await refresh("hr", first)
        let (other, sinceOther) = try await refresh("people", again)
        #expect(before == nil && since == "1" && sinceOther == nil)
        #expect(MirrorState(other).upstream == "people")
        let mirror = Mirror(
            MirrorSource("people", of: "third"), of: fixture.collection, stored: other, in: fixture.store,
            clock: fixture.clock, log: .discarding
        ) { _ in throw Unexpected() }
        #expect(!mirror.hasRows && mirror.status.word == "never")
    }

    @Test func `a refresh that ends with the gateway leaves the mirror as it was`() async throws {
        let fixture = try await MirrorFixture()
        let began = AsyncStream<Void>.makeStream()
        let mirror = Mirror(
            MirrorSource("people", of: "hr"), of: fixture.collection, stored: nil, in: fixture.store,
            clock: fixture.clock, log: Log { line in fixture.lines.withLock { $0.append(line) } }
        ) { _ in
            began.continuation.yield()
            try await Task.sleep(for: .seconds(600))
            throw Unexpected()
        }
        async let outcome = mirror.refreshNow(by: .operator)
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await mirror.run() }
            for await _ in began.stream { break }
            group.cancelAll()
        }
        #expect(await outcome == .failed(.adapterUnavailable, detail: "the gateway stops") && mirror.isStopped)
        #expect(mirror.status.word == "never" && mirror.status.machine.failures == 0)
        #expect(fixture.lines("mirror cannot be refreshed") == 0)
    }
}
