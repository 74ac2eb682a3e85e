import AdapterKit
import MemoryStore
import MirrorEngine
import RecordStorage
import Synchronization
import Testing

/// A mirror of a system that is called in its callers' names.
private final class CallerFixture: Sendable {
    let clock = MirrorFixture.Clock()
    let store: MemoryStore
    let declaration: AdapterDeclaration
    /// What the system has for each caller.
    let answers = Mutex<[String: [WireDictionary]]>([:])
    let asked = Mutex<[String]>([])
    /// Holds back the system's answers while it is locked.
    let gate = Mutex<CheckedContinuation<Void, Never>?>(nil)
    let holdsBack = Mutex(false)
    /// Whose answers do not come.
    let holdsBackCaller = Mutex<String?>(nil)

    init(settings: MirrorSettings = MirrorSettings(waitFor: .seconds(60))) async throws {
        store = MemoryStore(clock: clock)
        declaration = try AdapterDeclaration(
            name: "staff", title: "", summary: "", version: "1", entities: [MirrorFixture.entity],
            mirrors: [MirrorSource("people", of: "hr", supportsRowsOfCallers: true, settings: settings)]
        ).keepingRowsOfCallers(of: ["hr"])
        try await store.install([collection])
    }

    var collection: CollectionDeclaration {
        CollectionDeclaration(adapter: "staff", entity: declaration.entities[0])
    }

    func withMirror<Result: Sendable>(_ body: @Sendable (CallerMirror) async throws -> Result) async throws -> Result {
        let mirror = CallerMirror(
            declaration.mirrors[0], of: collection, in: store, clock: clock, log: Log { _ in },
            read: { try await self.page($0) })
        return try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await mirror.run() }
            defer { group.cancelAll() }
            return try await body(mirror)
        }
    }

    private func page(_ request: MirrorRequest) async throws -> MirrorPage {
        let name = try #require(request.caller?.name)
        asked.withLock { $0.append(name) }
        if holdsBack.withLock({ $0 }) {
            await withCheckedContinuation { caller in gate.withLock { $0 = caller } }
        }
        while holdsBackCaller.withLock({ $0 == name }) { try await Task.sleep(for: .milliseconds(1)) }
        guard let rows = answers.withLock({ $0[name] }) else { throw PorticoError(.accessDenied, "No.") }
        return MirrorPage(rows)
    }

    func tell(_ caller: Principal, _ names: [String]) {
        answers.withLock {
            $0[caller.name] = names.map { ["id": .string($0), "name": .string("\($0) of \(caller.name)"), "age": 1] }
        }
    }

    /// What a caller sees through the row rules, over every reading that there is of a store.
    func seen(by caller: Principal) async throws -> [String] {
        let records = AdapterRecords(store: store, declaration: declaration, principal: caller)
        let page = try await records.query(Query(order: [SortKey("id")], limit: 1_000), in: "people")
        #expect(try await records.count(nil, in: "people") == page.records.count)
        return page.records.compactMap { $0["name"].stringValue }
    }

    func count() async throws -> Int { try await store.count(nil, in: collection.id) }

    func isEmpty() async throws {
        while try await count() > 0 { try await Task.sleep(for: .milliseconds(1)) }
    }
}

@Suite struct CallerMirrorTests {
    private let alice = Principal(kind: .user, id: "1", name: "alice")
    private let bob = Principal(kind: .user, id: "2", name: "bob")

    @Test func `each caller has the own rows, under ids of the server, and only what changed is written`() async throws
    {
        let fixture = try await CallerFixture(settings: MirrorSettings(freshFor: .seconds(10), waitFor: .seconds(60)))
        fixture.tell(alice, ["a", "b", "c"])
        fixture.tell(bob, ["b", "c"])
        try await fixture.withMirror { mirror in
            _ = try await mirror.read(for: alice, signIn: "a1")
            _ = try await mirror.read(for: bob, signIn: "b1")
            #expect(try await fixture.seen(by: alice) == ["a of alice", "b of alice", "c of alice"])
            #expect(try await fixture.seen(by: bob) == ["b of bob", "c of bob"])
            #expect(try await fixture.seen(by: .anonymous) == [])
            let before = try await fixture.store.withReadSnapshot { $0.position }
            fixture.clock.advance(11)
            fixture.tell(alice, ["a", "c", "d"])
            #expect(try await mirror.read(for: alice, signIn: "a1").cache == .refreshed(isFirst: false))
            let entries = try await fixture.store.changes(after: before, limit: 100)
            #expect(entries.count == 2)
            #expect(try await fixture.seen(by: alice) == ["a of alice", "c of alice", "d of alice"])
            #expect(try await fixture.seen(by: bob) == ["b of bob", "c of bob"])
        }
    }

    @Test func `all who read with one sign-in at once share one fetch, and others none of it`() async throws {
        let fixture = try await CallerFixture()
        fixture.tell(alice, ["a"])
        fixture.tell(bob, ["b"])
        try await fixture.withMirror { mirror in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<20 {
                    group.addTask { _ = try await mirror.read(for: alice, signIn: "a1") }
                    group.addTask { _ = try await mirror.read(for: bob, signIn: "b1") }
                }
                try await group.waitForAll()
            }
            #expect(fixture.asked.withLock { $0.sorted() } == ["alice", "bob"])
        }
    }

    @Test func `rows go when the last sign-in goes that has them, also one that ends while they are fetched`()
        async throws
    {
        let fixture = try await CallerFixture()
        fixture.tell(alice, ["a", "b"])
        fixture.tell(bob, ["c"])
        try await fixture.withMirror { mirror in
            _ = try await mirror.read(for: alice, signIn: "a1")
            _ = try await mirror.read(for: alice, signIn: "a2")
            _ = try await mirror.read(for: bob, signIn: "b1")
            mirror.forget("a1")
            #expect(try await mirror.read(for: alice, signIn: "a2").cache == .hit)
            #expect(try await fixture.count() == 3)
            mirror.forget("a2")
            mirror.forget("b1")
            try await fixture.isEmpty()
            #expect(mirror.callers == 0)
            fixture.holdsBack.withLock { $0 = true }
            async let read = mirror.read(for: bob, signIn: "b2")
            while !Task.isCancelled, fixture.gate.withLock({ $0 == nil }) { await Task.yield() }
            mirror.forget("b2")
            fixture.holdsBack.withLock { $0 = false }
            fixture.gate.withLock { $0 }?.resume()
            _ = try await read
            try await fixture.isEmpty()
        }
    }

    @Test func `rows go when the other system refuses the caller, and when another process left them`() async throws {
        let fixture = try await CallerFixture(settings: MirrorSettings(freshFor: .seconds(10), waitFor: .seconds(60)))
        fixture.tell(alice, ["a"])
        try await fixture.withMirror { mirror in
            _ = try await mirror.read(for: alice, signIn: "a1")
            fixture.clock.advance(11)
            fixture.answers.withLock { $0 = [:] }
            await #expect(throws: PorticoError.self) { try await mirror.read(for: alice, signIn: "a1") }
            try await fixture.isEmpty()
            fixture.tell(alice, ["a"])
            _ = try await mirror.read(for: alice, signIn: "a1")
        }
        #expect(try await fixture.count() == 1)
        try await fixture.withMirror { _ in try await fixture.isEmpty() }
    }

    @Test func `a credential reads what was fetched with its own roles, and no other of the account`() async throws {
        let fixture = try await CallerFixture()
        let wide = Principal(kind: .user, id: "1", name: "alice", roles: ["hr", "member"])
        let narrow = Principal(kind: .program, id: "1", name: "alice", roles: ["member"])
        let bare = Principal(kind: .program, id: "1", name: "alice")
        try await fixture.withMirror { mirror in
            fixture.tell(wide, ["a", "b"])
            _ = try await mirror.read(for: wide, signIn: "session")
            #expect(try await fixture.seen(by: wide) == ["a of alice", "b of alice"])
            #expect(try await fixture.seen(by: narrow) == [])
            fixture.tell(narrow, ["a"])
            _ = try await mirror.read(for: narrow, signIn: "key")
            #expect(try await fixture.seen(by: narrow) == ["a of alice"])
            #expect(try await fixture.seen(by: wide) == ["a of alice", "b of alice"])
            #expect(try await fixture.seen(by: bare) == [])
            #expect(mirror.callers == 1)
            mirror.forget("session")
            while try await fixture.count() > 1 { try await Task.sleep(for: .milliseconds(1)) }
            #expect(try await fixture.seen(by: narrow) == ["a of alice"])
        }
    }

    @Test func `what the other system says of roles does not count`() async throws {
        let fixture = try await CallerFixture()
        let narrow = Principal(kind: .program, id: "1", name: "alice", roles: ["member"])
        fixture.answers.withLock { $0["alice"] = [["id": "a", "name": "a", "age": 1, "porticoRoles": "hr member"]] }
        try await fixture.withMirror { mirror in
            _ = try await mirror.read(for: narrow, signIn: "key")
            #expect(try await fixture.seen(by: narrow) == ["a"])
            #expect(
                try await fixture.seen(by: Principal(kind: .user, id: "1", name: "alice", roles: ["hr", "member"]))
                    == [])
        }
    }

    @Test func `sixty keys of one account do not hold up the rows of another`() async throws {
        let fixture = try await CallerFixture()
        fixture.tell(alice, ["a"])
        fixture.tell(bob, ["b"])
        try await fixture.withMirror { mirror in
            fixture.holdsBackCaller.withLock { $0 = "alice" }
            await withTaskGroup(of: Void.self) { group in
                for key in 0..<60 {
                    group.addTask {
                        await CallerIdentity.$current.withValue(.account("alice")) {
                            _ = try? await mirror.read(for: alice, signIn: "key\(key)")
                        }
                    }
                }
                while !Task.isCancelled, fixture.asked.withLock({ $0.count }) < 7 { await Task.yield() }
                _ = await CallerIdentity.$current.withValue(.account("bob")) {
                    try? await mirror.read(for: bob, signIn: "b1")
                }
                #expect(fixture.asked.withLock { $0 } == Array(repeating: "alice", count: 7) + ["bob"])
                fixture.holdsBackCaller.withLock { $0 = nil }
                group.cancelAll()
            }
            let seen = try await fixture.seen(by: bob)
            #expect(seen == ["b of bob"])
        }
    }

    @Test func `callers and rows are bounded`() async throws {
        var settings = MirrorSettings(waitFor: .seconds(60))
        settings.callers = MirrorSettings.Callers(count: 4, rows: 2)
        let fixture = try await CallerFixture(settings: settings)
        try await fixture.withMirror { mirror in
            for number in 0..<9 {
                let caller = Principal(kind: .user, id: "\(number)", name: "caller\(number)")
                fixture.tell(caller, ["a", "b"])
                _ = try await mirror.read(for: caller, signIn: "s\(number)")
            }
            while try await fixture.count() > 8 { try await Task.sleep(for: .milliseconds(1)) }
            #expect(try await fixture.count() >= 2)
            fixture.tell(alice, ["a", "b", "c"])
            await #expect(throws: PorticoError.self) { try await mirror.read(for: alice, signIn: "a1") }
            #expect(try await fixture.seen(by: alice) == [])
        }
    }

    @Test func `a mirror that cannot be kept for callers is refused with its key`() {
        func path(_ source: MirrorSource, _ entity: Entity = MirrorFixture.entity) -> String? {
            let declaration = AdapterDeclaration(
                name: "staff", title: "", summary: "", version: "1", entities: [entity], mirrors: [source])
            do { _ = try declaration.keepingRowsOfCallers(of: ["hr"]) } catch {
                return (error as? ConfigurationProblem)?.path
            }
            return nil
        }
        #expect(path(MirrorSource("people", of: "hr")) == "upstream")
        #expect(path(MirrorSource("people", of: "hr", reading: .increments, supportsRowsOfCallers: true)) == "upstream")
        #expect(path(MirrorSource("people", of: "hr", writing: .through, supportsRowsOfCallers: true)) == "write")
        #expect(path(MirrorSource("people", of: "hr", writing: .queued, supportsRowsOfCallers: true)) == "write")
        #expect(
            path(
                MirrorSource(
                    "people", of: "hr", supportsRowsOfCallers: true, settings: MirrorSettings(refresh: .seconds(9))))
                == "refresh")
        #expect(path(MirrorSource("people", of: "hr", supportsRowsOfCallers: true)) == nil)
        #expect(path(MirrorSource("people", of: "other")) == nil)
    }
}
