import AdapterKit
import Synchronization

/// Starts adapters, each by itself, until they run; changes and stops those that run. What one of them does holds up no other:
/// not where it throws, not where it never returns, and not where it blocks its thread.
public final class AdapterSupervisor: Sendable {
    private enum Event: Sendable {
        case returned(failingWith: String?)
        case deadline
    }

    private let current: Mutex<(adapters: [ServedAdapter], limits: AdapterLimits)>
    private let clock: any WallClock
    private let start: @Sendable (ServedAdapter) async throws -> Void
    private let sleep: @Sendable (Duration) async throws -> Void
    private let turns = Mutex<[AdapterName: AdapterTurn]>([:])
    /// An element for each adapter whose first attempt has ended, or taken too long.
    private let settlements = AsyncStream<Void>.makeStream()
    /// Adapters to be attempted until they run.
    private let attempts = AsyncStream<ServedAdapter>.makeStream()
    /// What tells the adapters' feeds to those who listen.
    public let feedTasks = AdapterTasks()
    /// What the adapters' mirrors need to run.
    public let mirrorTasks = MirrorTasks()

    /// `start` is what an attempt consists of.
    public init(
        _ adapters: [ServedAdapter], limits: AdapterLimits, clock: any WallClock,
        sleep: @escaping @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) },
        start: @escaping @Sendable (ServedAdapter) async throws -> Void
    ) {
        current = Mutex((adapters, limits))
        self.clock = clock
        self.sleep = sleep
        self.start = start
        for served in adapters { attempt(served) }
    }

    /// Has it attempted until it runs.
    func attempt(_ served: ServedAdapter) { attempts.continuation.yield(served) }

    /// The host's own work for an adapter begins; what its callers have begun is not yet sent on.
    func begin(_ served: ServedAdapter, _ feeds: [AdapterName: @Sendable () async -> Void]) {
        if let run = feeds[served.declaration.name] { feedTasks.begin(served.parts, run) }
        mirrorTasks.beginAnswering(served.parts)
    }

    /// The host's own work for the first adapters begins.
    public func begin(_ feeds: [AdapterName: @Sendable () async -> Void]) {
        for served in adapters {
            begin(served, feeds)
            mirrorTasks.beginRowsOfCallers(served.parts)
        }
    }

    private var adapters: [ServedAdapter] { current.withLock { $0.adapters } }
    private var limits: AdapterLimits { current.withLock { $0.limits } }

    func use(_ adapters: [ServedAdapter], limits: AdapterLimits) {
        current.withLock { $0 = (adapters, limits) }
        for served in adapters { served.status.change { $0.use(limits) } }
    }

    /// Starts an adapter once. Why it does not run; nil: it does. One that takes longer than ``AdapterLimits/start`` is left behind.
    func startOnce(
        _ served: ServedAdapter, _ start: @escaping @Sendable (ServedAdapter) async throws -> Void
    ) async -> String? {
        guard served.status.change({ $0.begin() }) else { return "It was stopped." }
        var reason = await Self.failure(of: served, within: limits.start, sleep) { try await start(served) }
        let now = clock.now()
        served.status.change { machine in
            if reason == nil, machine.phase == .stopped { reason = "It was stopped." }
            _ = machine.returned(failingWith: reason, at: now)
        }
        if reason == nil { served.log.info("adapter runs", ["attempts": .count(1)]) }
        return reason
    }

    /// Attempts adapters until they run, until it is cancelled; it returns at once then, even where a start ignores that.
    public func run() async {
        await withDiscardingTaskGroup { group in
            for await served in attempts.stream { group.addTask { await self.keepAttempting(served) } }
            group.cancelAll()
        }
    }

    /// Returns when every adapter runs or has failed, at the latest after ``AdapterLimits/startWait``. To be called once.
    public func settled() async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask {
                var settled = self.settlements.stream.makeAsyncIterator()
                for _ in self.adapters { await settled.next() }
            }
            group.addTask { try? await self.sleep(self.limits.startWait) }
            await group.next()
            group.cancelAll()
        }
    }

    /// After the last call of any adapter. One that does not stop in time is left behind.
    public func stop() async {
        await withTaskGroup(of: Void.self) { group in
            for served in adapters { group.addTask { await self.stop(served) } }
        }
    }

    /// Why a start has failed; nil: it has not.
    private static func failure(
        of served: ServedAdapter, within time: Duration, _ sleep: @escaping @Sendable (Duration) async throws -> Void,
        _ start: @escaping @Sendable () async throws -> Void
    ) async -> String? {
        let events = run(on: served, within: time, sleep, start)
        defer { events.cancel() }
        guard case .returned(let reason)? = await events.stream.first(where: { _ in true }) else {
            return Task.isCancelled ? "The change was cancelled." : "It has not started within \(time)."
        }
        return reason
    }

    private func keepAttempting(_ served: ServedAdapter) async {
        while served.status.change({ $0.begin() }) {
            guard case .retry(let wait) = await attempt(served) else { return }
            guard (try? await sleep(wait)) != nil else { return }
        }
    }

    private func attempt(_ served: ServedAdapter) async -> AdapterLifecycle.Next {
        let (start, isFirst) = (start, served.status.current.attempts == 1)
        let events = Self.run(on: served, within: limits.start, sleep) { try await start(served) }
        for await event in events.stream {
            defer { if isFirst { settlements.continuation.yield() } }
            switch event {
            case .deadline:
                served.status.change { $0.deadlinePassed() }
                served.log.error("adapter has not started in time", ["seconds": .count(limits.start.wholeSeconds)])
                events.cancel()
            case .returned(let reason):
                events.cancel()
                // Stopped while it started.
                if reason == nil, served.status.current.phase == .stopped { await end(served) }
                return ended(served, reason)
            }
        }
        events.cancel()
        return .nothing
    }

    private func ended(_ served: ServedAdapter, _ reason: String?) -> AdapterLifecycle.Next {
        let now = clock.now()
        let next = served.status.change { $0.returned(failingWith: reason, at: now) }
        if case .retry(let wait) = next {
            served.log.error(
                "adapter failed to start", ["detail": .text(reason ?? ""), "retrySeconds": .count(wait.wholeSeconds)])
        } else if served.status.current.phase == .running {
            served.log.info("adapter runs", ["attempts": .count(served.status.current.attempts)])
            activate(served)
        }
        return next
    }

    private func turn(of served: ServedAdapter) -> AdapterTurn {
        turns.withLock { turns in
            let turn = turns[served.declaration.name] ?? AdapterTurn()
            turns[served.declaration.name] = turn
            return turn
        }
    }

    /// What it does beside its calls begins in its turn.
    func activate(_ served: ServedAdapter) { turn(of: served).activate(served) }

    /// What it does beside its calls ends; that of the next generation begins then, also where it takes longer than
    /// ``AdapterLimits/stop``, which is all that is waited for.
    func drain(_ served: ServedAdapter) async {
        guard turn(of: served).drain(served) else { return }
        // Not cancelled: it is to return when that has ended, and not before.
        await finish(
            served, "adapter has not ended in time what it does beside its calls", cancelsLate: false,
            served.adapter.drain)
    }

    /// After its last call. One whose start has not succeeded has nothing to stop, except for a process with its files.
    func stop(_ served: ServedAdapter) async {
        await drain(served)
        let hasStarted = served.status.change { $0.stop() }
        if hasStarted || served.adapter is any ProcessAdapter { await end(served) }
        served.metrics.forgetGauges(of: ObjectIdentifier(served))
    }

    private func end(_ served: ServedAdapter) async {
        await finish(served, "adapter has not stopped in time", cancelsLate: true, served.adapter.stop)
    }

    /// One that takes longer than ``AdapterLimits/stop`` is left behind. It has that time also where the task is cancelled.
    private func finish(
        _ served: ServedAdapter, _ lateness: StaticString, cancelsLate: Bool,
        _ body: @escaping @Sendable () async -> Void
    ) async {
        let turn = turn(of: served)
        let events = Self.run(on: served, within: limits.stop, sleep) {
            await body()
            turn.workEnded(of: served)
        }
        let first = Task { await events.stream.first { _ in true } }
        guard case .deadline? = await first.value else { return events.cancel() }
        served.log.error(lateness, ["seconds": .count(limits.stop.wholeSeconds)])
        if cancelsLate { events.cancel() }
    }

    /// Work whose end is waited for, or not, and the deadline that it has.
    private struct Work {
        let stream: AsyncStream<Event>
        let cancel: @Sendable () -> Void
    }

    /// Not child tasks: those would be waited for, however long they ignore that they are cancelled.
    private static func run(
        on served: ServedAdapter, within time: Duration,
        _ sleep: @escaping @Sendable (Duration) async throws -> Void,
        _ body: @escaping @Sendable () async throws -> Void
    ) -> Work {
        let (stream, events) = AsyncStream<Event>.makeStream()
        let work = Task(executorPreference: served.thread) {
            var reason: String?
            do { try await body() } catch { reason = "\(error)" }
            events.yield(.returned(failingWith: reason))
        }
        let timer = Task {
            if (try? await sleep(time)) != nil { events.yield(.deadline) }
        }
        return Work(stream: stream) {
            work.cancel()
            timer.cancel()
        }
    }
}

extension Duration {
    fileprivate var wholeSeconds: Int { Int(components.seconds) }
}
