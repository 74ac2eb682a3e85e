import AdapterKit
import MemoryStore
import MirrorEngine
import RecordStorage
import Synchronization
import Testing

/// A mirror over a store in memory, of a system that a test makes up.
final class MirrorFixture: Sendable {
    struct Answer: Sendable {
        var rows: [WireDictionary] = []
        var pageSize = 3
        var failure: (any Error)?
        /// Of the page with that number, from 0.
        var failsAt: Int?
    }

    final class Clock: WallClock {
        private let instant = Mutex(0.0)
        func now() -> WireDate { WireDate(secondsSinceReferenceDate: instant.withLock { $0 }) }
        func advance(_ seconds: Double) { instant.withLock { $0 += seconds } }
    }

    static let entity = Entity(
        "people", summary: "", key: EntityKey("id"),
        fields: [
            Field("id", .string(maximumLength: 10), isRequired: true), Field("name", .string, isRequired: true),
            Field("age", .integer),
        ])

    let clock = Clock()
    let store: MemoryStore
    let collection = CollectionDeclaration(adapter: "staff", entity: entity)
    let answer = Mutex(Answer())
    let requests = Mutex<[MirrorRequest]>([])
    /// Of each request: whether it was an operator's try.
    let tries = Mutex<[Bool]>([])
    let lines = Mutex<[LogMessage]>([])
    let settings: MirrorSettings

    init(settings: MirrorSettings = MirrorSettings(waitFor: .seconds(60))) async throws {
        store = MemoryStore(clock: clock)
        self.settings = settings
        try await store.install([collection])
    }

    /// Runs the mirror for as long as the body takes. `declared`: what the adapter declares; nil: ``collection``.
    func withMirror<Result: Sendable>(
        of declared: CollectionDeclaration? = nil, _ body: @Sendable (Mirror) async throws -> Result
    ) async throws -> Result {
        let stored = try await store.withReadSnapshot { [id = collection.id] in try $0.mirrorState(of: id) }
        let mirror = Mirror(
            MirrorSource("people", of: "hr", settings: settings), of: declared ?? collection, stored: stored,
            in: store, clock: clock, random: { 0.5 }, log: Log { line in self.lines.withLock { $0.append(line) } },
            read: { try self.page($0) })
        return try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await mirror.run() }
            defer { group.cancelAll() }
            return try await body(mirror)
        }
    }

    private func page(_ request: MirrorRequest) throws -> MirrorPage {
        requests.withLock { $0.append(request) }
        tries.withLock { $0.append(CallContext.isOperatorTry) }
        let answer = answer.withLock { $0 }
        let first = Int(request.page ?? "0") ?? 0
        if let failure = answer.failure, answer.failsAt.map({ first >= $0 * answer.pageSize }) ?? true { throw failure }
        let rest = answer.rows.dropFirst(first)
        let next = rest.count > answer.pageSize ? String(first + answer.pageSize) : nil
        return MirrorPage(Array(rest.prefix(answer.pageSize)), next: next)
    }

    func tell(_ names: [String], failure: (any Error)? = nil, failsAt: Int? = nil) {
        answer.withLock {
            $0.rows = names.map { ["id": .string($0), "name": .string("name of \($0)"), "age": 1] }
            $0.failure = failure
            $0.failsAt = failsAt
        }
    }

    func ids() async throws -> [String] {
        let page = try await store.query(Query(order: [SortKey("id")], limit: 1_000), in: collection.id)
        return page.records.map(\.id.text)
    }

    func lines(_ text: String) -> Int { lines.withLock { $0.count { $0.text == text } } }
}

@Suite struct MirrorTests {
    @Test func `rows that repeat a key are counted, and reported when there are some for the first time`() async throws
    {
        let fixture = try await MirrorFixture()
        fixture.tell(["a", "b", "a", "c", "a"])
        try await fixture.withMirror { mirror in
            for _ in 0..<2 {
                _ = await mirror.refreshNow(by: .operator)
                #expect(mirror.status.machine.last?.repeated == 2)
            }
            let ids = try await fixture.ids()
            #expect(ids == ["a", "b", "c"])
            #expect(fixture.lines("rows of a mirror repeat a key") == 1)
            fixture.tell(["a", "b", "c"])
            _ = await mirror.refreshNow(by: .operator)
            #expect(mirror.status.machine.last?.repeated == 0)
        }
    }

    @Test func `an operator's refresh is a try, others are none, and a page has a deadline of its own`() async throws {
        let fixture = try await MirrorFixture()
        fixture.tell(["a"])
        try await fixture.withMirror { mirror in
            _ = await mirror.refreshNow(by: .operator)
            fixture.clock.advance(400)
            _ = try await mirror.read()
        }
        #expect(fixture.tries.withLock { $0 } == [true, false])
        #expect(fixture.requests.withLock { $0.allSatisfy { $0.deadline.map { $0 > .seconds(900) } ?? false } })
    }

    @Test func `a read fetches rows that were never fetched, and the next one is answered from the records`()
        async throws
    {
        let fixture = try await MirrorFixture()
        fixture.tell(["a", "b", "c", "d", "e", "f", "g"])
        try await fixture.withMirror { mirror in
            let first = try await mirror.read()
            #expect(first.cacheStatus == "portico; fwd=miss; stored")
            let ids = try await fixture.ids()
            #expect(ids == ["a", "b", "c", "d", "e", "f", "g"])
            fixture.clock.advance(12)
            let second = try await mirror.read()
            #expect(second.cacheStatus == "portico; hit")
            #expect(second.seconds == 12)
            #expect(fixture.requests.withLock { $0.map(\.page) } == [nil, "3", "6"])
        }
    }

    @Test func `all who read at once share one refresh`() async throws {
        let fixture = try await MirrorFixture()
        fixture.tell(["a"])
        try await fixture.withMirror { mirror in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<100 { group.addTask { _ = try await mirror.read() } }
                try await group.waitForAll()
            }
            #expect(fixture.requests.withLock { $0.count } == 1)
        }
    }

    @Test func `a refresh writes what changed and nothing else`() async throws {
        let fixture = try await MirrorFixture()
        fixture.tell((0..<50).map { "p\($0)" })
        try await fixture.withMirror { mirror in
            guard case .done = await mirror.refreshNow(by: .operator) else { throw Unexpected() }
            let before = fixture.store.position
            fixture.answer.withLock { $0.rows[7]["name"] = "another" }
            guard case .done(let summary) = await mirror.refreshNow(by: .operator) else { throw Unexpected() }
            #expect([summary.created, summary.updated, summary.deleted] == [0, 1, 0])
            #expect(fixture.store.position.number == before.number + 1)
            guard case .done = await mirror.refreshNow(by: .operator) else { throw Unexpected() }
            #expect(fixture.store.position.number == before.number + 1)
        }
    }

    @Test(arguments: [0, 1, 2])
    func `a refresh that breaks off changes nothing`(page: Int) async throws {
        let fixture = try await MirrorFixture()
        fixture.tell(["a", "b", "c", "d", "e", "f", "g"])
        try await fixture.withMirror { mirror in
            _ = try await mirror.read()
            let before = fixture.store.position
            fixture.tell(
                ["x", "y", "z", "u", "v", "w", "t"], failure: UpstreamFailure(.timedOut, of: "hr"), failsAt: page)
            fixture.clock.advance(1_000)
            let age = try await mirror.read()
            #expect(age.cacheStatus == "portico; fwd=stale; detail=upstream-timeout")
            #expect(age.seconds == 1_000)
            #expect(fixture.store.position == before)
            #expect(mirror.status.word == "failing")
            #expect(fixture.lines("mirror cannot be refreshed") == 1)
        }
    }

    @Test func `rows beyond their age are refused, naming the system, and served again after a refresh`() async throws {
        let fixture = try await MirrorFixture()
        fixture.tell(["a"])
        try await fixture.withMirror { mirror in
            _ = try await mirror.read()
            fixture.tell(["a"], failure: UpstreamFailure(.unreachable, of: "hr"))
            fixture.clock.advance(8 * 86_400)
            let error = await #expect(throws: PorticoError.self) { _ = try await mirror.read() }
            #expect(error?.code == .adapterUnavailable)
            #expect(error?.message.contains("hr") == true)
            fixture.tell(["a"])
            fixture.clock.advance(10)
            let seconds = try await mirror.read().seconds
            #expect(seconds == 0)
        }
    }

    @Test func `rows that are not fresh because the adapter is not available say so, and do not blame the system`()
        async throws
    {
        let fixture = try await MirrorFixture()
        fixture.tell(["a"])
        try await fixture.withMirror { mirror in
            _ = try await mirror.read()
            fixture.tell(["a"], failure: PorticoError(.adapterUnavailable, "The adapter is not available."))
            fixture.clock.advance(1_000)
            let status = try await mirror.read().cacheStatus
            #expect(status == "portico; fwd=stale; detail=adapter-unavailable")
            fixture.clock.advance(8 * 86_400)
            let error = await #expect(throws: PorticoError.self) { _ = try await mirror.read() }
            #expect(
                error?.code == .adapterUnavailable && error?.message.contains("hr") == false, "\(error?.message ?? "")")
        }
    }

    @Test func `an empty list is held back, released by an operator, and ended by the next good one`() async throws {
        let fixture = try await MirrorFixture()
        let names = (0..<30).map { "p\($0)" }
        fixture.tell(names)
        try await fixture.withMirror { mirror in
            _ = try await mirror.read()
            for releases in [false, true] {
                fixture.tell([])
                guard case .held(let held) = await mirror.refreshNow(by: .operator) else { throw Unexpected() }
                #expect(held.reason == .share(changed: 30, of: 30))
                #expect(mirror.status.word == "held")
                let count = try await fixture.ids().count
                #expect(count == 30)
                if releases {
                    let deleted = try await mirror.release().deleted
                    #expect(deleted == 30)
                    let left = try await fixture.ids()
                    #expect(left == [])
                } else {
                    fixture.tell(names)
                    guard case .done = await mirror.refreshNow(by: .operator) else { throw Unexpected() }
                }
                #expect(mirror.status.word == "good")
                await #expect(throws: PorticoError.self) { _ = try await mirror.release() }
            }
            #expect(fixture.lines("refresh of a mirror held back") == 2)
        }
    }

    @Test(arguments: MirrorRefusal.Kind.allCases)
    func `an answer that cannot be what was asked for is held back and cannot be released`(kind: MirrorRefusal.Kind)
        async throws
    {
        let fixture = try await MirrorFixture()
        fixture.tell(["a"])
        try await fixture.withMirror { mirror in
            _ = try await mirror.read()
            fixture.tell(["b"], failure: MirrorRefusal(kind, "no list"))
            fixture.clock.advance(1_000)
            let status = try await mirror.read().cacheStatus
            #expect(status == "portico; fwd=stale; detail=refresh-held")
            #expect(mirror.status.machine.held?.reason == .answer(kind))
            await #expect(throws: PorticoError.self) { _ = try await mirror.release() }
            let ids = try await fixture.ids()
            #expect(ids == ["a"])
        }
    }

    @Test func `a refresh of which no row can be read is held back with its reason, and the rows grow older`()
        async throws
    {
        let fixture = try await MirrorFixture()
        fixture.tell(["a", "b"])
        try await fixture.withMirror { mirror in
            let before = try await mirror.read().asOf
            let unreadable: [(rows: [WireDictionary], detail: String)] = [
                (
                    (0..<7).map { ["id": .string("p\($0)"), "name": 7] },
                    "none of 7 rows can be read: changedType name, vanished age"
                ),
                ([["name": "x"]], "the only row cannot be read: vanished age, vanished id"),
                ([["id": "a", "age": 1]], "the only row cannot be read: vanished name"),
            ]
            for (rows, detail) in unreadable {
                fixture.tell(["a"])
                fixture.answer.withLock { $0.rows = rows }
                fixture.clock.advance(1_000)
                guard case .held(let held) = await mirror.refreshNow(by: .operator) else { throw Unexpected() }
                #expect(held.reason == .answer(.unexpected))
                #expect(held.detail == detail)
                #expect(mirror.status.word == "held")
                let age = try await mirror.read()
                #expect(age.asOf == before)
                #expect(age.cacheStatus == "portico; fwd=stale; detail=refresh-held")
                let ids = try await fixture.ids()
                #expect(ids == ["a", "b"])
            }
            #expect(mirror.status.machine.failures == unreadable.count)
            // One row that can be read makes it a refresh.
            fixture.answer.withLock { $0.rows = [["id": "a", "name": 7], ["id": "c", "name": "Cal", "age": 3]] }
            guard case .done(let summary) = await mirror.refreshNow(by: .operator) else { throw Unexpected() }
            #expect(summary.refused == 1)
            let ids = try await fixture.ids()
            #expect(ids == ["a", "c"])
        }
    }

    @Test func `increments of which no row can be read have every row fetched`() async throws {
        let fixture = try await MirrorFixture()
        let requests = Mutex<[String?]>([])
        let bad = Mutex(false)
        let refresh = MirrorRefresh(
            collection: fixture.collection, source: MirrorSource("people", of: "hr", reading: .increments),
            beginReplacement: { try await fixture.store.beginReplacement(of: $0) },
            read: { request in
                requests.withLock { $0.append(request.since) }
                let row: WireDictionary = ["id": "a", "name": 7]
                guard request.since == nil else { return MirrorPage([row], cursor: "later") }
                return MirrorPage(bad.withLock { $0 } ? [row] : [row, ["id": "b", "name": "Bob"]], cursor: "2")
            }, clock: fixture.clock)
        var known = MirrorState()
        known.cursor = "1"
        guard case .done(let summary, let state) = try await refresh.run(since: known) else { throw Unexpected() }
        #expect(summary.refused == 1)
        #expect(state.cursor == "2")
        bad.withLock { $0 = true }
        await #expect(throws: MirrorRefusal(.unexpected, "the only row cannot be read: changedType name")) {
            _ = try await refresh.run(since: known)
        }
        #expect(requests.withLock { $0 } == ["1", nil, "1", nil])
        let ids = try await fixture.ids()
        #expect(ids == ["b"])
    }

    @Test func `a drift is reported once, again after it has ended, and fails nothing`() async throws {
        let fixture = try await MirrorFixture()
        fixture.tell(["a", "b"])
        try await fixture.withMirror { mirror in
            func refresh(_ member: String?) async throws {
                fixture.tell(["a", "b", "c"])
                if let member { fixture.answer.withLock { $0.rows[0][member] = "x" } }
                guard case .done = await mirror.refreshNow(by: .operator) else { throw Unexpected() }
            }
            try await refresh(nil)
            for member in ["age", "age", "salary", nil, "age"] { try await refresh(member) }
            #expect(fixture.lines("field of a mirror has drifted") == 3)
            let ids = try await fixture.ids()
            #expect(ids == ["a", "b", "c"])
            #expect(mirror.status.stored.drifts == [FieldDrift("age", .changedType)])
        }
    }

    @Test func `a value that does not fit keeps the record's, a new record is without it, and both are reported`()
        async throws
    {
        let fixture = try await MirrorFixture()
        fixture.tell(["a", "b"])
        @Sendable func refresh(_ rows: [WireDictionary], by mirror: Mirror) async throws -> RefreshSummary {
            fixture.answer.withLock { $0.rows = rows }
            guard case .done(let summary) = await mirror.refreshNow(by: .operator) else { throw Unexpected() }
            return summary
        }
        let unfit: [WireDictionary] = [
            ["id": "a", "name": "Anna", "age": "unknown"], ["id": "b", "name": "Ben", "age": 2],
            ["id": "c", "name": "Cal", "age": "unknown"],
        ]
        try await fixture.withMirror { mirror in
            _ = try await mirror.read()
            for turn in 0..<2 {
                let summary = try await refresh(unfit, by: mirror)
                #expect((summary.refused, summary.misfits) == (0, 2))
                #expect((summary.created, summary.updated) == (turn == 0 ? (1, 2) : (0, 0)))
            }
            let records = try await fixture.store.query(Query(order: [SortKey("id")]), in: fixture.collection.id)
                .records
            #expect(records.map { $0["name"] } == ["Anna", "Ben", "Cal"])
            #expect(records.map { $0["age"] } == [1, 2, .null])
        }
        // What does not fit is known after a restart too.
        try await fixture.withMirror { mirror in
            #expect(mirror.status.stored.misfits.rows == ["a": ["age"], "c": ["age"]])
            let fits: [WireDictionary] = unfit.map { row in
                var row = row
                row["age"] = 5
                return row
            }
            let summary = try await refresh(fits, by: mirror)
            #expect((summary.misfits, summary.updated) == (0, 3))
            #expect(mirror.status.stored.misfits.count == 0)
        }
        #expect(fixture.lines("values of a mirror's rows do not fit their fields") == 1)
    }

    @Test func `increments keep what is known of rows that they do not read again`() async throws {
        let fixture = try await MirrorFixture()
        let first: [WireDictionary] = [["id": "a", "name": "A", "age": "x"], ["id": "b", "name": "B", "age": "x"]]
        let page = Mutex(MirrorPage(first, cursor: "1"))
        let refresh = MirrorRefresh(
            collection: fixture.collection, source: MirrorSource("people", of: "hr", reading: .increments),
            beginReplacement: { try await fixture.store.beginReplacement(of: $0) },
            read: { _ in page.withLock { $0 } }, clock: fixture.clock)
        var state = MirrorState()
        let steps: [(MirrorPage, [String: Set<String>])] = [
            (MirrorPage(first, cursor: "1"), ["a": ["age"], "b": ["age"]]),
            (MirrorPage([["id": "a", "name": "A", "age": 1]], cursor: "2"), ["b": ["age"]]),
            (MirrorPage([["id": "c", "name": "C", "age": "y"]], cursor: "3"), ["b": ["age"], "c": ["age"]]),
            (MirrorPage([], removed: ["b"], cursor: "4"), ["c": ["age"]]),
        ]
        for (answer, misfits) in steps {
            page.withLock { $0 = answer }
            guard case .done(_, let next) = try await refresh.run(since: state) else { throw Unexpected() }
            #expect(next.misfits.rows == misfits)
            state = MirrorState(next.stored)
        }
    }

    @Test func `a mirror goes on after a restart where it was`() async throws {
        let fixture = try await MirrorFixture()
        fixture.tell(["a"])
        try await fixture.withMirror { _ = try await $0.read() }
        fixture.tell(["a"], failure: UpstreamFailure(.unreachable, of: "hr"))
        fixture.clock.advance(100)
        try await fixture.withMirror { mirror in
            let status = try await mirror.read().cacheStatus
            #expect(status == "portico; hit")
            let seconds = try await mirror.read().seconds
            #expect(seconds == 100)
        }
        #expect(fixture.requests.withLock { $0.count } == 1)
    }

    @Test func `a source that leads in a circle is refused`() async throws {
        let fixture = try await MirrorFixture()
        let mirror = Mirror(
            MirrorSource("people", of: "hr"), of: fixture.collection, stored: nil, in: fixture.store,
            clock: fixture.clock, log: .discarding
        ) { _ in MirrorPage([], next: "again") }
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await mirror.run() }
            guard case .held(let held) = await mirror.refreshNow(by: .operator) else { throw Unexpected() }
            #expect(held.reason == .answer(.unexpected))
            group.cancelAll()
        }
    }

    @Test(arguments: [
        ("rows", "more than 100 rows"), ("bytes", "more than 10000 bytes"),
        ("empty", "more than 10 pages without rows"),
        ("time", "do not end within"),
    ])
    func `a source whose pages never end is cut off and leaves nothing`(kind: String, detail: String) async throws {
        let fixture = try await MirrorFixture()
        var limits = RefreshLimits()
        if kind == "rows" { limits.rows = 100 }
        if kind == "bytes" { limits.bytes = 10_000 }
        if kind == "empty" { limits.emptyPages = 10 }
        if kind == "time" { limits.time = .seconds(100) }
        let mirror = Mirror(
            MirrorSource("people", of: "hr"), of: fixture.collection, stored: nil, in: fixture.store, limits: limits,
            clock: fixture.clock, log: .discarding
        ) { request in
            let page = Int(request.page ?? "0") ?? 0
            // One that is not cut off would never end.
            guard page < 2_000 else { throw Unexpected() }
            fixture.clock.advance(1)
            let row: WireDictionary = ["id": .string("p\(page)"), "name": .string(String(repeating: "x", count: 100))]
            return MirrorPage(kind == "empty" ? [] : [row], next: String(page + 1))
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await mirror.run() }
            guard case .held(let held) = await mirror.refreshNow(by: .operator) else { throw Unexpected() }
            #expect(held.detail.contains(detail), "\(held.detail)")
            #expect(held.reason == .answer(.unexpected))
            group.cancelAll()
        }
        #expect(try await fixture.ids() == [])
    }

    @Test func `increments are asked for since the last cursor, and everything where the cursor is not known`()
        async throws
    {
        let fixture = try await MirrorFixture()
        let asked = Mutex<[String?]>([])
        let mirror = Mirror(
            MirrorSource("people", of: "hr", reading: .increments), of: fixture.collection, stored: nil,
            in: fixture.store, clock: fixture.clock, log: .discarding
        ) { request in
            asked.withLock { $0.append(request.since) }
            switch request.since {
            case nil: return MirrorPage([["id": "a", "name": "A"], ["id": "b", "name": "B"]], cursor: "1")
            case "1": return MirrorPage([["id": "c", "name": "C"]], removed: ["a"], cursor: "2")
            default: throw PorticoError(.fetchAgain, "unknown")
            }
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await mirror.run() }
            for expected in [["a", "b"], ["b", "c"], ["a", "b"]] {
                guard case .done = await mirror.refreshNow(by: .operator) else { throw Unexpected() }
                let ids = try await fixture.ids()
                #expect(ids == expected)
            }
            group.cancelAll()
        }
        #expect(asked.withLock { $0 } == [nil, "1", "2", nil])
    }

    @Test func `a read waits no longer than it is told to`() async throws {
        let fixture = try await MirrorFixture()
        let gate = AsyncStream<Void>.makeStream()
        let isWaited = Mutex(false)
        let mirror = Mirror(
            MirrorSource("people", of: "hr", settings: MirrorSettings(waitFor: .milliseconds(1))),
            of: fixture.collection,
            stored: nil, in: fixture.store, clock: fixture.clock, log: .discarding
        ) { _ in
            isWaited.withLock { $0 = true }
            for await _ in gate.stream { break }
            return MirrorPage([["id": "a", "name": "A"]])
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await mirror.run() }
            let error = await #expect(throws: PorticoError.self) { _ = try await mirror.read() }
            #expect(error?.code == .adapterUnavailable)
            gate.continuation.finish()
            _ = await mirror.refreshNow(by: .operator)
            let ids = try await fixture.ids()
            #expect(ids == ["a"])
            group.cancelAll()
        }
    }
}

struct Unexpected: Error {}
