import AdapterKit
import MemoryStore
import Synchronization
import Testing

@testable import Gateway

/// Another instance of an adapter, and the switch that operators have.
@Suite struct AdapterReplacementTests {
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

        func start(_ context: AdapterContext) async throws {
            calls.add("start \(name)")
            if fails { throw Failure() }
        }
        func stop() async { calls.add("stop \(name)") }
        func handle(_ call: Call) async throws -> OperationResult { .nothing }
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
        func stop() async { await probe.stop() }
        func handle(_ call: Call) async throws -> OperationResult { .nothing }
    }

    private func process(_ name: String, fails: Bool = false) -> ProcessProbe {
        ProcessProbe(probe: Probe(name: name, calls: calls, fails: fails))
    }

    private let calls = Calls()

    private func served(_ adapter: any Adapter) -> ServedAdapter {
        ServedAdapter(
            declaration: AdapterDeclaration(name: "probe", title: "Probe", summary: "", version: "1"), adapter: adapter,
            log: .discarding)
    }

    private func context(_ served: ServedAdapter) -> AdapterContext {
        AdapterContext(
            records: served.ownRecords(in: MemoryStore(clock: FixedTime())), accounts: UnusedAccounts(),
            log: .discarding, clock: FixedTime())
    }

    private func supervisor(_ served: ServedAdapter) -> AdapterSupervisor {
        AdapterSupervisor([served], limits: AdapterLimits(), clock: FixedTime()) {
            try await $0.instance.start(nil, self.context($0))
        }
    }

    /// Waits between attempts are short, and no deadline passes.
    @Sendable private static func sleep(_ time: Duration) async throws {
        if time == AdapterLimits().start { try await Task.sleep(for: .seconds(3_600)) }
    }

    private func prepare(
        _ adapter: any Adapter, of served: ServedAdapter, by supervisor: AdapterSupervisor
    ) async throws -> AdapterReplacement {
        try await supervisor.prepare(adapter, of: served) {
            try await served.instance.start(adapter, self.context(served))
        }
    }

    @Test func `the other instance starts first, and the one before stops after it`() async throws {
        let served = served(Probe(name: "one", calls: calls))
        let supervisor = supervisor(served)
        await supervisor.run()
        let replacement = try await prepare(Probe(name: "other", calls: calls), of: served, by: supervisor)
        #expect((served.adapter as? Probe)?.name == "one")
        let old = supervisor.replace(replacement)
        #expect((served.adapter as? Probe)?.name == "other" && served.status.isRunning)
        await supervisor.discard(old)
        await supervisor.stop()
        #expect(calls.value == ["start one", "start other", "stop one", "stop other"])
    }

    @Test func `an adapter that comes while others are served is started once, and stopped with them`() async throws {
        let (served, failing) = (
            served(Probe(name: "one", calls: calls)), self.served(Probe(name: "other", calls: calls, fails: true))
        )
        let supervisor = AdapterSupervisor([], limits: AdapterLimits(), clock: FixedTime()) { _ in }
        try await supervisor.start(served) { try await served.instance.start(nil, self.context(served)) }
        #expect(served.status.isRunning)
        let error = await #expect(throws: PorticoError.self) {
            try await supervisor.start(failing) { try await failing.instance.start(nil, self.context(failing)) }
        }
        #expect(error?.code == .adapterUnavailable && !failing.status.isRunning)
        supervisor.use([served])
        await supervisor.stop()
        await supervisor.stop(failing)
        #expect(calls.value == ["start one", "start other", "stop one"])
    }

    private func handOver(
        to adapter: any Adapter, of served: ServedAdapter, by supervisor: AdapterSupervisor
    ) async throws -> AdapterReplacement {
        try await supervisor.handOver(to: adapter, of: served) {
            try await served.instance.start(adapter, self.context(served))
        } resume: {
            try await served.instance.start(nil, self.context(served))
        }
    }

    @Test func `of two instances that work beside their calls one works at a time`() async throws {
        let served = served(Probe(name: "one", calls: calls))
        let supervisor = supervisor(served)
        await supervisor.run()
        let replacement = try await handOver(to: Probe(name: "other", calls: calls), of: served, by: supervisor)
        #expect((served.adapter as? Probe)?.name == "one" && served.status.isRunning)
        let old = supervisor.replace(replacement)
        #expect((served.adapter as? Probe)?.name == "other" && served.status.isRunning)
        await supervisor.discard(old)
        #expect(calls.value == ["start one", "stop one", "start other", "stop one"])
    }

    @Test func `one whose successor does not start, or is not wanted, goes on`() async throws {
        let served = served(Probe(name: "one", calls: calls))
        let supervisor = supervisor(served)
        await supervisor.run()
        await #expect(throws: PorticoError.self) {
            _ = try await handOver(to: Probe(name: "bad", calls: calls, fails: true), of: served, by: supervisor)
        }
        #expect(calls.value == ["start one", "stop one", "start bad", "start one"])
        await supervisor.discard(try await handOver(to: Probe(name: "other", calls: calls), of: served, by: supervisor))
        #expect(calls.value.suffix(4) == ["stop one", "start other", "stop other", "start one"])
        #expect((served.adapter as? Probe)?.name == "one" && served.status.isRunning)
    }

    @Test func `what an instance does not answer any more is read from the one that has taken its place`() async throws
    {
        let served = served(Probe(name: "one", calls: calls))
        func read(replacing: Bool) async throws -> String? {
            try await served.instance.read { adapter in
                let name = (adapter as? Probe)?.name
                guard name == "one" else { return name }
                if replacing { _ = served.instance.replace(with: Probe(name: "other", calls: calls), isStarted: true) }
                throw Failure()
            }
        }
        await #expect(throws: Failure.self) { try await read(replacing: false) }
        #expect(try await read(replacing: true) == "other")
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

    @Test func `one that does not start changes nothing`() async throws {
        let served = served(Probe(name: "one", calls: calls))
        let supervisor = supervisor(served)
        await supervisor.run()
        await #expect(throws: PorticoError.self) {
            _ = try await prepare(Probe(name: "other", calls: calls, fails: true), of: served, by: supervisor)
        }
        #expect((served.adapter as? Probe)?.name == "one" && served.status.isRunning)
    }

    @Test func `a process whose start fails is stopped, since its files stay otherwise`() async throws {
        let served = served(process("one"))
        let supervisor = supervisor(served)
        await supervisor.run()
        await #expect(throws: PorticoError.self) {
            _ = try await prepare(process("other", fails: true), of: served, by: supervisor)
        }
        #expect(calls.value == ["start one", "start other", "stop other"])
        await #expect(throws: PorticoError.self) {
            _ = try await handOver(to: process("third", fails: true), of: served, by: supervisor)
        }
        #expect(calls.value.suffix(4) == ["stop one", "start third", "stop third", "start one"])
        let fresh = self.served(process("fresh", fails: true))
        await #expect(throws: PorticoError.self) {
            try await supervisor.start(fresh) { try await fresh.instance.start(nil, self.context(fresh)) }
        }
        await supervisor.stop(fresh)
        #expect(calls.value.suffix(2) == ["start fresh", "stop fresh"])
    }

    @Test func `a process that never ran is stopped once another takes its place`() async throws {
        let served = served(process("one", fails: true))
        let supervisor = supervisor(served)
        let attempts = Task { await supervisor.run() }
        while served.status.current.nextAttempt == nil { await Task.yield() }
        attempts.cancel()
        await attempts.value
        let replacement = try await prepare(process("other"), of: served, by: supervisor)
        await supervisor.discard(supervisor.replace(replacement))
        #expect(calls.value == ["start one", "stop one"])
    }

    @Test func `one that is not wanted after all is stopped`() async throws {
        let served = served(Probe(name: "one", calls: calls))
        let supervisor = supervisor(served)
        await supervisor.run()
        await supervisor.discard(try await prepare(Probe(name: "other", calls: calls), of: served, by: supervisor))
        #expect(calls.value == ["start one", "start other", "stop other"])
    }

    @Test func `an adapter that has not started gets the other instance for its next attempt`() async throws {
        let served = served(Probe(name: "one", calls: calls, fails: true))
        let attempts = Mutex(0)
        let supervisor = AdapterSupervisor(
            [served], limits: AdapterLimits(), clock: FixedTime(),
            sleep: Self.sleep
        ) { served in
            attempts.withLock { $0 += 1 }
            try await served.instance.start(nil, self.context(served))
        }
        let replacement = try await prepare(Probe(name: "other", calls: calls), of: served, by: supervisor)
        #expect(calls.value.isEmpty)
        let old = supervisor.replace(replacement)
        await supervisor.discard(old)
        await supervisor.run()
        #expect(served.status.isRunning && calls.value.last == "start other")
        #expect(!calls.value.contains("start one") && !calls.value.contains("stop one"))
    }

    @Test func `a start that ends after its instance was replaced has failed, and its instance is stopped`()
        async throws
    {
        let served = served(Probe(name: "one", calls: calls))
        let other = Probe(name: "other", calls: calls)
        let attempts = Mutex(0)
        let supervisor = AdapterSupervisor([served], limits: AdapterLimits(), clock: FixedTime(), sleep: Self.sleep) {
            served in
            let attempt = attempts.withLock {
                $0 += 1
                return $0
            }
            try await served.instance.start(nil, self.context(served))
            // The start has succeeded, and its supervisor does not know it yet.
            if attempt == 1 { _ = served.instance.replace(with: other, isStarted: false) }
        }
        await supervisor.run()
        #expect(served.status.isRunning && calls.value == ["start one", "start other"])
        #expect(attempts.withLock { $0 } == 2)
    }

    @Test func `a disabled adapter refuses its calls until it is enabled, whether it runs or not`() async throws {
        let served = served(Probe(name: "one", calls: calls))
        served.status.change { $0.disable() }
        await supervisor(served).run()
        #expect(!served.status.isRunning && served.status.current.word == "disabled")
        #expect(throws: PorticoError.self) { try served.status.requireRunning() }
        served.status.change { $0.enable() }
        #expect(served.status.isRunning && served.status.current.word == "running")
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
