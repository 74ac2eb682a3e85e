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
    /// What tells the adapters' live feeds to those who listen.
    public let liveFeedTasks = AdapterTasks()
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
    func begin(_ served: ServedAdapter, _ liveFeeds: [AdapterName: @Sendable () async -> Void]) {
        if let run = liveFeeds[served.declaration.name] { liveFeedTasks.begin(served.parts, run) }
        mirrorTasks.beginAnswering(served.parts)
    }

    /// The host's own work for the first adapters begins.
    public func begin(_ liveFeeds: [AdapterName: @Sendable () async -> Void]) {
        for served in adapters {
            begin(served, liveFeeds)
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
        let attempt = Self.run(on: served, within: limits.start, sleep) { try await start(served) }
        defer { attempt.cancel() }
        let first = await attempt.stream.first { _ in true }
        var reason: String? =
            Task.isCancelled ? "The change was cancelled." : "It has not started within \(limits.start)."
        if case .returned(let returned)? = first { reason = returned }
        let now = clock.now()
        served.status.change { machine in
            if reason == nil, machine.phase == .stopped { reason = "It was stopped." }
            _ = machine.noteReturn(failingWith: reason, at: now)
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
    public func waitUntilSettled() async {
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

    private func keepAttempting(_ served: ServedAdapter) async {
        while served.status.change({ $0.begin() }) {
            guard case .retry(let wait) = await attempt(served), (try? await sleep(wait)) != nil else { return }
        }
    }

    private func attempt(_ served: ServedAdapter) async -> AdapterLifecycle.Next {
        let start = start
        var isSettling = served.status.current.attempts == 1
        let attempt = Self.run(on: served, within: limits.start, sleep) { try await start(served) }
        defer { attempt.cancel() }
        for await event in attempt.stream {
            defer {
                if isSettling { settlements.continuation.yield() }
                isSettling = false
            }
            switch event {
            case .deadline:
                served.status.change { $0.noteDeadline() }
                served.log.error("adapter has not started in time", ["seconds": .count(limits.start.wholeSeconds)])
                attempt.cancel()
            case .returned(let reason):
                return await finishAttempt(served, reason)
            }
        }
        return .nothing
    }

    private func finishAttempt(_ served: ServedAdapter, _ reason: String?) async -> AdapterLifecycle.Next {
        let now = clock.now()
        let next = served.status.change { $0.noteReturn(failingWith: reason, at: now) }
        let machine = served.status.current
        if case .retry(let wait) = next {
            served.log.error(
                "adapter failed to start", ["detail": .text(reason ?? ""), "retrySeconds": .count(wait.wholeSeconds)])
        } else if machine.phase == .running {
            served.log.info("adapter runs", ["attempts": .count(machine.attempts)])
            activate(served)
        } else if reason == nil {
            // Stopped while it started.
            await end(served)
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
            turn.endWork(of: served)
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

/// The turn to work beside its calls, which the generations of one name have one after the other. It outlives the adapter: one that is
/// removed and added again may find the work of the generation before.
///
/// `Adapter.activate` is called under a lock that nothing else takes, so that no work is ended before it has begun.
final class AdapterTurn: Sendable {
    private let turn = Mutex(WorkTurn<ServedAdapter>())

    /// What a generation that runs does beside its calls begins: now, or when that of the one before has ended.
    func activate(_ served: ServedAdapter) {
        turn.withLock { turn in
            guard served.status.change({ $0.activate() }), turn.takeTurn(served) else { return }
            served.adapter.activate()
        }
    }

    /// Whether a generation has work beside its calls that is to be ended. It begins none any more.
    func drain(_ served: ServedAdapter) -> Bool {
        turn.withLock { turn in
            served.status.change { $0.drain() }
            return turn.beginEnd(served)
        }
    }

    /// What a generation did beside its calls has ended.
    func endWork(of served: ServedAdapter) { turn.withLock { $0.end(served)?.adapter.activate() } }
}

/// Whose turn it is to work beside its calls: one generation's at a time.
struct WorkTurn<Generation: AnyObject> {
    private(set) var working: Generation?
    private(set) var waiting: Generation?
    private var isEnding = false

    /// Whether its turn begins; otherwise it does when the one that works has ended.
    mutating func takeTurn(_ generation: Generation) -> Bool {
        guard working == nil else {
            waiting = generation
            return false
        }
        working = generation
        return true
    }

    /// Whether it works, and has to end that, which is said once. It waits no more.
    mutating func beginEnd(_ generation: Generation) -> Bool {
        if waiting === generation { waiting = nil }
        guard working === generation, !isEnding else { return false }
        isEnding = true
        return true
    }

    /// Whose turn begins. Nothing where another one works.
    mutating func end(_ generation: Generation) -> Generation? {
        guard working === generation else { return nil }
        (working, waiting, isEnding) = (waiting, nil, false)
        return working
    }
}

extension Duration {
    fileprivate var wholeSeconds: Int { Int(components.seconds) }
}
