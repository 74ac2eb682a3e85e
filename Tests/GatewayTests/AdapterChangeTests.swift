import AdapterKit
import MemoryStore
import MirrorEngine
import RecordStorage
import SyncEngine
import Synchronization
import Testing

@testable import Gateway

/// Another generation of an adapter, and the switch that operators have.
@Suite struct AdapterChangeTests {
    /// Notes what is called.
    private final class Calls: Sendable {
        private let all = Mutex<[String]>([])
        var value: [String] { all.withLock { $0 } }
        func add(_ call: String) { all.withLock { $0.append(call) } }
    }

    private struct Failure: Error {}

    private struct Probe: Adapter {
        let name: String
        let calls: Calls
        var fails = false
        /// Until then what it does beside its calls goes on.
        var end: @Sendable () async -> Void = {}

        func start(_ context: AdapterContext) async throws {
            calls.add("start \(name)")
            if fails { throw Failure() }
        }
        func activate() { calls.add("activate \(name)") }
        func drain() async {
            await end()
            note("drain")
        }
        func stop() async { note("stop") }
        func handle(_ call: Call) async throws -> OperationResult { .nothing }

        private func note(_ call: String) { calls.add("\(call) \(name)\(Task.isCancelled ? ", cancelled" : "")") }

        static let never: @Sendable () async -> Void = {
            while (try? await Task.sleep(for: .seconds(3_600))) != nil {}
        }
    }

    /// One that has a process, with files of its own.
    private struct ProcessProbe: ProcessAdapter {
        let probe: Probe
        var processReport: AdapterProcessReport {
            AdapterProcessReport(
                state: "running", reason: nil, isServing: true, process: nil, launched: nil, restarts: 0, crashes: 0,
                callsUnderWay: 0, callsWaiting: 0)
        }
        var processUsage: AdapterProcessUsage {
            AdapterProcessUsage(residentBytes: nil, processorTime: .zero)
        }

        var crashReports: [WireValue] { [] }

        func start(_ context: AdapterContext) async throws { try await probe.start(context) }
        func activate() { probe.activate() }
        func drain() async { await probe.drain() }
        func stop() async { await probe.stop() }
        func handle(_ call: Call) async throws -> OperationResult { .nothing }
    }

    private func process(_ name: String, fails: Bool = false) -> ProcessProbe {
        ProcessProbe(probe: Probe(name: name, calls: calls, fails: fails))
    }

    private let calls = Calls()

    private func served(_ adapter: any Adapter, after old: ServedAdapter? = nil) -> ServedAdapter {
        ServedAdapter(
            declaration: AdapterDeclaration(name: "probe", title: "Probe", summary: "", version: "1"), adapter: adapter,
            succeeding: old, log: .discarding)
    }

    @Sendable private func start(_ served: ServedAdapter) async throws {
        try await served.adapter.start(
            AdapterContext(
                records: served.ownRecords(in: MemoryStore(clock: FixedTime())), accounts: UnusedAccounts(),
                log: .discarding, clock: FixedTime()))
    }

    /// Waits between attempts are short, and of the deadlines that for the stop passes.
    @Sendable private static func sleep(_ time: Duration) async throws {
        let limits = AdapterLimits()
        if [limits.start, limits.startWait].contains(time) { try await forEver(time) }
        if time == limits.stop { try await Task.sleep(for: .milliseconds(300)) }
    }

    /// No deadline passes.
    @Sendable private static func forEver(_ time: Duration) async throws { try await Task.sleep(for: .seconds(3_600)) }

    /// Serves these, which run.
    private func supervisor(
        _ served: ServedAdapter..., sleep: @escaping @Sendable (Duration) async throws -> Void = sleep
    ) async -> AdapterSupervisor {
        let supervisor = AdapterSupervisor(
            served, limits: AdapterLimits(), clock: FixedTime(), sleep: sleep, start: start)
        await supervisor.firstAttempts()
        return supervisor
    }

    private func prepare(
        _ new: [ServedAdapter], insteadOf old: [ServedAdapter], by supervisor: AdapterSupervisor,
        liveFeeds: [AdapterName: @Sendable () async -> Void] = [:]
    ) async throws -> AdapterChange {
        let change = AdapterChange(from: old, to: new, liveFeeds: liveFeeds, start: start) { [calls] in
            calls.add("settle")
        }
        try await supervisor.prepare(change)
        return change
    }

    private func complete(
        _ change: AdapterChange, by supervisor: AdapterSupervisor,
        requestsEnd: @escaping @Sendable () async -> Void = {}
    ) async {
        supervisor.exchange(change, limits: AdapterLimits())
        await supervisor.finish(change) { _ in await requestsEnd() }
    }

    private func change(
        _ old: ServedAdapter, to new: ServedAdapter, by supervisor: AdapterSupervisor
    ) async throws {
        await complete(try await prepare([new], insteadOf: [old], by: supervisor), by: supervisor)
    }

    @Test
    func `the other generation starts first, works when the one before has ended, and answers from the exchange on`()
        async throws
    {
        let one = served(Probe(name: "one", calls: calls))
        let other = served(Probe(name: "other", calls: calls), after: one)
        let supervisor = await supervisor(one)
        let change = try await prepare([other], insteadOf: [one], by: supervisor)
        #expect(calls.value == ["start one", "activate one", "start other"])
        #expect((one.parts.answering.current as? Probe)?.name == "one")
        supervisor.exchange(change, limits: AdapterLimits())
        #expect((one.parts.answering.current as? Probe)?.name == "other" && other.status.isRunning)
        await supervisor.finish(change) { _ in }
        #expect(calls.value.dropFirst(3) == ["drain one", "activate other", "settle", "stop one"])
        await supervisor.stop()
        #expect(calls.value.suffix(2) == ["drain other", "stop other"])
    }

    @Test func `the one before is stopped after its last request`() async throws {
        let one = served(Probe(name: "one", calls: calls))
        let other = served(Probe(name: "other", calls: calls), after: one)
        let supervisor = await supervisor(one)
        let change = try await prepare([other], insteadOf: [one], by: supervisor)
        await complete(change, by: supervisor) { [calls] in calls.add("requests") }
        #expect(calls.value.last == "stop one" && calls.value.filter { $0 == "requests" }.count == 2)
    }

    /// Makes the change but for its last step, which comes with the end of requests that were begun before.
    private func changeUntilRequestsEnd(
        _ old: [ServedAdapter], to new: [ServedAdapter], by supervisor: AdapterSupervisor
    ) async throws -> (end: @Sendable () -> Void, finish: Task<Void, Never>) {
        let change = try await prepare(new, insteadOf: old, by: supervisor)
        supervisor.exchange(change, limits: AdapterLimits())
        let (requests, end) = AsyncStream<Never>.makeStream()
        let finish = Task {
            await supervisor.finish(change) { deadline in
                guard deadline > .now + .seconds(60) else { return }
                for await _ in requests {}
            }
        }
        await change.waitUntilSettled()
        return ({ end.finish() }, finish)
    }

    @Test func `one that does not end its work in time answers on, and the other's begins when it has stopped`()
        async throws
    {
        let one = served(Probe(name: "one", calls: calls, end: Probe.never))
        let (two, three) = (
            served(Probe(name: "two", calls: calls), after: one), served(Probe(name: "three", calls: calls), after: one)
        )
        let supervisor = await supervisor(one)
        let (end, finish) = try await changeUntilRequestsEnd([one], to: [two], by: supervisor)
        // Another change comes before the first one is over.
        try await change(two, to: three, by: supervisor)
        #expect(!calls.value.contains("activate two") && !calls.value.contains("activate three"))
        end()
        await finish.value
        #expect(calls.value.suffix(2) == ["stop one", "activate three"])
    }

    @Test func `one that is added again waits for the work of the one that was removed before`() async throws {
        let one = served(Probe(name: "one", calls: calls, end: Probe.never))
        let supervisor = await supervisor(one)
        let (end, finish) = try await changeUntilRequestsEnd([one], to: [], by: supervisor)
        let again = served(Probe(name: "again", calls: calls))
        let change = try await prepare([again], insteadOf: [], by: supervisor)
        await complete(change, by: supervisor)
        #expect(again.status.isRunning && !calls.value.contains("activate again"))
        end()
        await finish.value
        #expect(calls.value.suffix(2) == ["stop one", "activate again"])
    }

    @Test func `what ends is not cancelled with who waits for it`() async throws {
        let (began, work) = (AsyncStream<Void>.makeStream(), AsyncStream<Never>.makeStream())
        let one = served(
            Probe(name: "one", calls: calls) {
                began.continuation.yield()
                for await _ in work.stream {}
            })
        let other = served(Probe(name: "other", calls: calls), after: one)
        let supervisor = await supervisor(one)
        let change = try await prepare([other], insteadOf: [one], by: supervisor)
        supervisor.exchange(change, limits: AdapterLimits())
        let finish = Task { await supervisor.finish(change) { _ in } }
        for await _ in began.stream { break }
        finish.cancel()
        await finish.value
        work.continuation.finish()
        while !calls.value.contains(where: { $0.hasPrefix("drain one") }) { await Task.yield() }
        #expect(calls.value.contains("drain one") && calls.value.contains("stop one"))
    }

    private final class Asking: Adapter {
        let slot = Mutex<AdapterSlot?>(nil)
        private let calls: Calls

        init(_ calls: Calls) { self.calls = calls }

        func activate() { calls.add(slot.withLock { $0 }?.parts == nil ? "nothing answers" : "it answers") }
        func handle(_ call: Call) async throws -> OperationResult { .nothing }
    }

    @Test func `what requests ask of the slot is answered while work begins`() async throws {
        let asking = Asking(calls)
        let one = served(asking)
        asking.slot.withLock { $0 = one.slot }
        _ = await supervisor(one)
        #expect(calls.value == ["it answers"])
    }

    /// The same adapter with operations and entities, so that the host's work for it is another.
    private func redeclared(_ adapter: any Adapter, after old: ServedAdapter) async throws -> ServedAdapter {
        let store = MemoryStore(clock: FixedTime())
        return ServedAdapter(
            declaration: AdapterDeclaration(
                name: "probe", title: "Probe", summary: "", version: "2",
                operations: [
                    Operation(
                        "ask", summary: "", effect: .reads, output: .string, callThrough: CallThrough(to: "hr"),
                        bindings: [HTTPBinding(.get, "/ask")])
                ]), adapter: adapter, mirroring: try await MirrorSetup([], in: store, clock: FixedTime()),
            succeeding: old, log: .discarding)
    }

    @Test(.timeLimit(.minutes(5))) func `the host's work for the other generation waits for no drain`() async throws {
        let (began, work) = (AsyncStream<Void>.makeStream(), AsyncStream<Never>.makeStream())
        let one = served(Probe(name: "one", calls: calls) { for await _ in work.stream {} })
        let other = try await redeclared(Probe(name: "other", calls: calls), after: one)
        let supervisor = await supervisor(one, sleep: Self.forEver)
        let change = try await prepare(
            [other], insteadOf: [one], by: supervisor, liveFeeds: ["probe": { began.continuation.yield() }])
        supervisor.exchange(change, limits: AdapterLimits())
        let liveFeeds = Task { await supervisor.liveFeedTasks.run() }
        let finish = Task { await supervisor.finish(change) { _ in } }
        for await _ in began.stream { break }
        #expect(!calls.value.contains("activate other"))
        work.continuation.finish()
        await finish.value
        #expect(calls.value.suffix(4) == ["drain one", "activate other", "settle", "stop one"])
        liveFeeds.cancel()
        await liveFeeds.value
    }

    @Test(.timeLimit(.minutes(5))) func `what another system answers is asked also where the one before asked none`()
        async throws
    {
        let one = served(Probe(name: "one", calls: calls))
        let other = try await redeclared(Probe(name: "other", calls: calls), after: one)
        let supervisor = await supervisor(one)
        let tasks = Task { await supervisor.mirrorTasks.run() }
        try await change(one, to: other, by: supervisor)
        let answer = try await other.callsThrough[0].calls.answer(
            input: [], owner: nil, deadline: .now + .seconds(30)
        ) { .nothing }
        #expect(answer.result == .nothing)
        tasks.cancel()
        await tasks.value
    }

    @Test func `one that does not start, or is not wanted, changes nothing`() async throws {
        let one = served(Probe(name: "one", calls: calls))
        let supervisor = await supervisor(one)
        let error = await #expect(throws: PorticoError.self) {
            _ = try await prepare(
                [served(Probe(name: "bad", calls: calls, fails: true), after: one)], insteadOf: [one], by: supervisor)
        }
        #expect(error?.code == .adapterUnavailable && error?.message.contains("probe") == true)
        let unwanted = try await prepare(
            [served(Probe(name: "other", calls: calls), after: one)], insteadOf: [one], by: supervisor)
        await supervisor.discard(unwanted)
        #expect(calls.value == ["start one", "activate one", "start bad", "start other", "stop other"])
        #expect(one.status.isRunning && (one.parts.answering.current as? Probe)?.name == "one")
    }

    @Test func `a process whose start fails is stopped, since its files stay otherwise`() async throws {
        let one = served(process("one"))
        let supervisor = await supervisor(one)
        await #expect(throws: PorticoError.self) {
            _ = try await prepare([served(process("other", fails: true), after: one)], insteadOf: [one], by: supervisor)
        }
        #expect(calls.value == ["start one", "activate one", "start other", "stop other"])
    }

    @Test func `a process that never ran is stopped once another takes its place`() async throws {
        let one = served(process("one", fails: true))
        let other = served(process("other"), after: one)
        let supervisor = await supervisor(one)
        try await change(one, to: other, by: supervisor)
        #expect(calls.value.contains("stop one") && calls.value.contains("activate other"))
        #expect(!calls.value.contains("activate one") && other.status.isRunning)
    }

    @Test func `one that comes is started and activated, and one that goes is drained and stopped`() async throws {
        let one = served(Probe(name: "one", calls: calls))
        let supervisor = await supervisor()
        for (old, new) in [([], [one]), ([one], [])] {
            let change = try await prepare(new, insteadOf: old, by: supervisor)
            await complete(change, by: supervisor)
        }
        #expect(
            calls.value.filter { !$0.contains("settle") } == ["start one", "activate one", "drain one", "stop one"])
        #expect(!one.status.isRunning)
    }

    @Test func `what one does not answer any more is read from the one that has taken its place`() async throws {
        let one = served(Probe(name: "one", calls: calls))
        let other = served(Probe(name: "other", calls: calls), after: one)
        for served in [one, other] {
            served.status.change { machine in
                _ = machine.begin()
                _ = machine.noteReturn(failingWith: nil, at: FixedTime().now())
            }
        }
        func read(replacing: Bool) async throws -> String? {
            try await one.parts.answering.read { adapter in
                let name = (adapter as? Probe)?.name
                guard name == "one" else { return name }
                if replacing { other.takePlace() }
                throw Failure()
            }
        }
        await #expect(throws: Failure.self) { try await read(replacing: false) }
        #expect(try await read(replacing: true) == "other")
    }

    private struct Mirroring: Adapter {
        let page: MirrorPage?
        let began: AsyncStream<Void>.Continuation

        func handle(_ call: Call) async throws -> OperationResult { .nothing }

        func readMirror(_ request: MirrorRequest) async throws -> MirrorPage {
            began.yield()
            if let page { return page }
            try await Task.sleep(for: .seconds(600))
            throw Failure()
        }
    }

    @Test func `what is asked of a mirror that gives way is answered by the one that takes its place`() async throws {
        let store = MemoryStore(clock: FixedTime())
        let began = AsyncStream<Void>.makeStream()
        let setup = try await MirrorSetup([CollectionID("probe", "rows")], in: store, clock: FixedTime())
        func served(_ fields: [Field], _ page: MirrorPage?, after old: ServedAdapter? = nil) async throws
            -> ServedAdapter
        {
            let entity = Entity("rows", summary: "", key: EntityKey("id", chosenBy: .caller), fields: fields)
            let served = ServedAdapter(
                declaration: AdapterDeclaration(
                    name: "probe", title: "", summary: "", version: "1", entities: [entity],
                    mirrors: [MirrorSource("rows", of: "hr")]),
                adapter: Mirroring(page: page, began: began.continuation), mirroring: setup, succeeding: old,
                log: .discarding)
            served.status.change { machine in
                _ = machine.begin()
                _ = machine.noteReturn(failingWith: nil, at: FixedTime().now())
            }
            try await store.install([CollectionDeclaration(adapter: "probe", entity: entity)])
            return served
        }
        let one = try await served([Field("id", .string)], nil)
        async let outcome = one.mirrors[0].refreshNow(by: .operator, isWhole: false)
        let running = Task { await one.parts.keepMirrors() }
        for await _ in began.stream { break }
        let two = try await served(
            [Field("id", .string), Field("name", .string)], MirrorPage([["id": "a"]]), after: one)
        #expect(!two.hasParts(of: one))
        two.takePlace()
        running.cancel()
        await running.value
        let other = Task { await two.parts.keepMirrors() }
        guard case .done = try await outcome else { throw Failure() }
        #expect(one.mirrors[0].hasRows && two.mirrors[0].hasRows)
        other.cancel()
        await other.value
    }

    @Test func `a disabled adapter refuses its calls until it is enabled, whichever generation answers`() async throws {
        let one = served(Probe(name: "one", calls: calls))
        one.slot.isDisabled = true
        let supervisor = await supervisor(one)
        #expect(!one.status.isRunning && one.status.word == "disabled")
        #expect(throws: PorticoError.self) { try one.status.requireRunning() }
        let other = served(Probe(name: "other", calls: calls), after: one)
        try await change(one, to: other, by: supervisor)
        #expect(!other.status.isRunning)
        other.slot.isDisabled = false
        #expect(other.status.isRunning && other.status.word == "running")
    }

    @Test func `parts are the same whoever may read them and however often they are fetched`() {
        func declaration(
            readers: Access?, freshFor: Duration, upstream: UpstreamName = "hr", writing: MirrorSource.Writing = .none
        ) -> AdapterDeclaration {
            AdapterDeclaration(
                name: "probe", title: "", summary: "", version: "1",
                entities: [
                    Entity("rows", summary: "", key: EntityKey("id"), fields: [Field("id", .string)], readers: readers)
                ],
                mirrors: [
                    MirrorSource(
                        "rows", of: upstream, writing: writing, settings: MirrorSettings(freshFor: freshFor))
                ])
        }
        let one = declaration(readers: nil, freshFor: .seconds(1))
        #expect(one.hasSameParts(as: declaration(readers: .public, freshFor: .seconds(2))))
        #expect(!one.hasSameParts(as: declaration(readers: nil, freshFor: .seconds(1), upstream: "other")))
        #expect(!one.hasSameParts(as: declaration(readers: nil, freshFor: .seconds(1), writing: .through)))
    }

    private struct UnusedAccounts: AccountLookup {
        func account(named name: String) async throws -> AccountSummary? { nil }
        func accounts(after name: String?, limit: Int) async throws -> [AccountSummary] { [] }
    }

    @Test func `parts that live on are compared, and what only describes or protects is not`() {
        func declaration(_ title: String, _ access: AccessRights, _ entities: [Entity] = []) -> AdapterDeclaration {
            AdapterDeclaration(
                name: "probe", title: title, summary: "", version: "1", access: access, entities: entities)
        }
        let entity = NotesAdapter.declaration.entities
        #expect(declaration("a", .login, entity).hasSameParts(as: declaration("b", .public, entity)))
        #expect(!declaration("a", .login, entity).hasSameParts(as: declaration("a", .login)))
    }
}
