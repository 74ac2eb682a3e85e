import AdapterKit
import Foundation
import Synchronization
import Testing

@testable import Gateway

/// Adapters that start as adapters must not.
struct AdapterSupervisorTests {
    @Test(.timeLimit(.minutes(5)))
    func `What one adapter's start does keeps no other from running`() async throws {
        let release = DispatchSemaphore(value: 0)
        let bad: [String: @Sendable (Int) async throws -> Void] = [
            "throws": { _ in throw Refused() },
            "waits": { _ in try await Task.sleep(for: .seconds(3600)) },
            "ignores": { _ in await withCheckedContinuation { Kept.forEver($0) } },
            "blocks": { _ in release.wait() },
        ]
        let troop = Troop(bad.merging(["good": { _ in }, "late": { _ in await Task.yield() }]) { first, _ in first })
        let run = Task { await troop.supervisor.run() }
        await troop.wait { $0["good"] == "running" && $0["late"] == "running" && $0["throws"] == "failed" }
        #expect(troop.words["waits"] == "starting" && troop.words["ignores"] == "starting")
        for name in bad.keys {
            let error = #expect(throws: PorticoError.self) { try troop[name].status.requireRunning() }
            #expect(error?.code == .adapterUnavailable && error?.retryAfter != nil)
        }
        try troop["good"].status.requireRunning()
        run.cancel()
        await run.value
        await troop.supervisor.stop()
        release.signal()
    }

    @Test(.timeLimit(.minutes(5)))
    func `A start that throws is attempted again after growing waits until it succeeds`() async throws {
        let troop = Troop(["flaky": { if $0 < 5 { throw Refused() } }])
        await troop.run()
        #expect(troop.words == ["flaky": "running"])
        #expect(troop.calls == ["flaky": 5])
        #expect(troop.waits.filter { $0 != troop.limits.start } == [1, 2, 4, 8].map { .seconds($0) })
    }

    @Test(.timeLimit(.minutes(5)))
    func `A start beyond its deadline is cancelled, and attempted again once it has returned`() async throws {
        let troop = Troop(["slow": { if $0 == 1 { try await Task.sleep(for: .seconds(3600)) } }], deadlinesPass: true)
        await troop.run()
        #expect(troop.words == ["slow": "running"] && troop.calls == ["slow": 2])
    }

    @Test(.timeLimit(.minutes(5)))
    func `A start that ignores its cancellation is not called twice, and a stop does not wait for it`() async throws {
        let troop = Troop(
            ["stuck": { _ in await withCheckedContinuation { Kept.forEver($0) } }], deadlinesPass: true)
        let run = Task { await troop.supervisor.run() }
        await troop.wait { $0["stuck"] == "failed" && troop.calls["stuck"] != nil }
        #expect(troop.calls == ["stuck": 1])
        run.cancel()
        await run.value
        await troop.supervisor.stop()
        #expect(troop.stopped.isEmpty)
    }

    @Test(.timeLimit(.minutes(5)))
    func `Readiness waits for adapters that start, and for none that does not`() async throws {
        let quick = Troop(["good": { _ in }, "bad": { _ in throw Refused() }])
        let run = Task { await quick.supervisor.run() }
        await quick.supervisor.waitUntilSettled()
        #expect(quick.words == ["good": "running", "bad": "failed"])
        run.cancel()
        let stuck = Troop(["stuck": { _ in try await Task.sleep(for: .seconds(3600)) }], startWaitPasses: true)
        await stuck.supervisor.waitUntilSettled()
        #expect(stuck.words == ["stuck": "starting"])
    }

    @Test(.timeLimit(.minutes(5)))
    func `Readiness waits for a first attempt also where another one was late and has returned`() async throws {
        let limits = AdapterLimits(start: .seconds(111), startWait: .seconds(222))
        let isLate = Mutex(false)
        let starts = Mutex(0)
        let events = Mutex<[String]>([])
        let record = Troop.Record()
        let adapters = ["one", "other"].map { name in
            ServedAdapter(
                declaration: AdapterDeclaration(
                    name: AdapterName(unchecked: name), title: name, summary: "", version: "1"),
                adapter: FakeAdapter(name: name, record: record, stopsForEver: false), limits: limits, log: .discarding)
        }
        let supervisor = AdapterSupervisor(
            adapters, limits: limits, clock: FixedClock(),
            sleep: { duration in
                // Of both deadlines one passes, whichever comes first.
                let passes =
                    duration == limits.start
                    && isLate.withLock { isLate in
                        defer { isLate = true }
                        return !isLate
                    }
                if duration == limits.start || duration == limits.startWait {
                    try await Task.sleep(for: passes ? .milliseconds(1) : .seconds(3600))
                }
            },
            start: { _ in
                starts.withLock { $0 += 1 }
                while events.withLock({ $0.isEmpty }) { try await Task.sleep(for: .milliseconds(2)) }
            })
        let run = Task { await supervisor.run() }
        let settled = Task {
            await supervisor.waitUntilSettled()
            events.withLock { $0.append("settled") }
        }
        // The late one is attempted again, so its first attempt has returned.
        while starts.withLock({ $0 }) < 3 { try await Task.sleep(for: .milliseconds(2)) }
        for _ in 0..<100 { await Task.yield() }
        events.withLock { $0.append("released") }
        await settled.value
        #expect(events.withLock { $0 } == ["released", "settled"])
        run.cancel()
        await run.value
    }

    @Test(.timeLimit(.minutes(5)))
    func `An adapter that never stops is left behind, and the others are stopped`() async throws {
        let troop = Troop(["good": { _ in }, "stuck": { _ in }], stopsForEver: "stuck", deadlinesPass: true)
        await troop.run()
        await troop.supervisor.stop()
        #expect(troop.words == ["good": "stopped", "stuck": "stopped"])
        // Its deadline is short here, and may have passed before its stop ended.
        await troop.wait { _ in troop.stopped.contains("good") }
    }
}

private struct Refused: Error {}

/// Continuations that nobody resumes, kept so that nothing complains.
private enum Kept {
    private static let all = Mutex<[CheckedContinuation<Void, Never>]>([])

    static func forEver(_ continuation: CheckedContinuation<Void, Never>) { all.withLock { $0.append(continuation) } }
}

/// Adapters with a supervisor, whose clock passes at once or never.
private final class Troop: Sendable {
    let supervisor: AdapterSupervisor
    let limits = AdapterLimits(
        start: .seconds(111), startWait: .seconds(222), longestRetry: .seconds(60), stop: .seconds(333))
    private let adapters: [ServedAdapter]
    private let record: Record

    fileprivate final class Record: Sendable {
        let calls = Mutex<[String: Int]>([:])
        let waits = Mutex<[Duration]>([])
        let stopped = Mutex<Set<String>>([])
    }

    init(
        _ starts: [String: @Sendable (Int) async throws -> Void], stopsForEver: String? = nil,
        deadlinesPass: Bool = false, startWaitPasses: Bool = false
    ) {
        let (record, limits) = (Record(), limits)
        self.record = record
        adapters = starts.keys.sorted().map { name in
            ServedAdapter(
                declaration: AdapterDeclaration(
                    name: AdapterName(unchecked: name), title: name, summary: "", version: "1"),
                adapter: FakeAdapter(name: name, record: record, stopsForEver: name == stopsForEver),
                limits: limits, log: .discarding)
        }
        supervisor = AdapterSupervisor(
            adapters, limits: limits, clock: FixedClock(),
            sleep: { duration in
                record.waits.withLock { $0.append(duration) }
                let passes =
                    switch duration {
                    case limits.start, limits.stop: deadlinesPass
                    case limits.startWait: startWaitPasses
                    default: true
                    }
                // The time to stop is over once all that stop have done so.
                let stopping = stopsForEver == nil ? 0 : starts.count - 1
                while duration == limits.stop, record.stopped.withLock({ $0.count }) < stopping {
                    try await Task.sleep(for: .milliseconds(1))
                }
                try await Task.sleep(for: passes ? .milliseconds(1) : .seconds(3600))
            },
            start: { served in
                let name = served.declaration.name.text
                let call = record.calls.withLock { calls in
                    calls[name, default: 0] += 1
                    return calls[name] ?? 0
                }
                try await starts[name]?(call)
            })
    }

    var calls: [String: Int] { record.calls.withLock { $0 } }
    var waits: [Duration] { record.waits.withLock { $0 } }
    var stopped: Set<String> { record.stopped.withLock { $0 } }
    var words: [String: String] {
        Dictionary(adapters.map { ($0.declaration.name.text, $0.status.current.phase.word) }) { first, _ in first }
    }

    subscript(name: String) -> ServedAdapter {
        get throws { try #require(adapters.first { $0.declaration.name.text == name }) }
    }

    /// Until all run.
    func run() async {
        let attempts = Task { await supervisor.run() }
        await wait { $0.values.allSatisfy { $0 == "running" } }
        attempts.cancel()
        await attempts.value
    }

    func wait(until holds: ([String: String]) -> Bool) async {
        while !holds(words) { try? await Task.sleep(for: .milliseconds(2)) }
    }
}

private struct FakeAdapter: Adapter {
    let name: String
    let record: Troop.Record
    let stopsForEver: Bool

    func handle(_ call: Call) async throws -> OperationResult { .value(.null) }

    func stop() async {
        if stopsForEver { await withCheckedContinuation { Kept.forEver($0) } }
        record.stopped.withLock { _ = $0.insert(name) }
    }
}

private struct FixedClock: WallClock {
    func now() -> WireDate { WireDate(secondsSinceReferenceDate: 12 * 3600) }
}
