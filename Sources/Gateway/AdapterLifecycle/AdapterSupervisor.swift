import AdapterKit
import Synchronization

/// Starts adapters, each by itself, until they run; stops those that run. What one of them does holds up no other: not
/// where it throws, not where it never returns, and not where it blocks its thread.
public final class AdapterSupervisor: Sendable {
    private enum Event: Sendable {
        case returned(failingWith: String?)
        case deadline
    }

    private let current: Mutex<[ServedAdapter]>
    private let limits: AdapterLimits
    private let clock: any WallClock
    private let start: @Sendable (ServedAdapter) async throws -> Void
    private let sleep: @Sendable (Duration) async throws -> Void
    /// An element for each adapter whose first attempt has ended, or taken too long.
    private let settlements = AsyncStream<Void>.makeStream()

    /// `start` is what an attempt consists of.
    public init(
        _ adapters: [ServedAdapter], limits: AdapterLimits, clock: any WallClock,
        sleep: @escaping @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) },
        start: @escaping @Sendable (ServedAdapter) async throws -> Void
    ) {
        current = Mutex(adapters)
        self.limits = limits
        self.clock = clock
        self.sleep = sleep
        self.start = start
    }

    private var adapters: [ServedAdapter] { current.withLock { $0 } }

    /// Another configuration has other adapters. Those that are new have been started (``start(_:_:)``), and those that
    /// are gone are stopped after the last of their calls (``stop(_:)``).
    public func use(_ adapters: [ServedAdapter]) { current.withLock { $0 = adapters } }

    /// Starts an adapter that comes while the others are served. Throws what its start throws, or where that takes longer
    /// than ``AdapterLimits/start``; it is not attempted again, and left behind where it goes on.
    public func start(_ served: ServedAdapter, _ start: @escaping @Sendable () async throws -> Void) async throws {
        guard served.status.change({ $0.begin() }) else { return }
        var reason = await Self.failure(of: served, within: limits.start, sleep, start)
        let now = clock.now()
        if served.status.change({ machine in
            if reason == nil, machine.phase == .stopped { reason = "It was stopped." }
            _ = machine.returned(failingWith: reason, at: now)
            return reason == nil
        }) {
            served.log.info("adapter runs", ["attempts": .count(1)])
            return
        }
        throw PorticoError(
            .adapterUnavailable, "The adapter \(served.declaration.name) cannot be started: \(reason ?? "")")
    }

    /// Returns when all adapters run, or when it is cancelled; at once even where a start ignores that.
    public func run() async {
        await withTaskGroup(of: Void.self) { group in
            for served in adapters { group.addTask { await self.keepAttempting(served) } }
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

    /// Starts an instance that may take the place of the one that runs. Throws what its start throws, or where that takes
    /// longer than ``AdapterLimits/start``; the instance is left behind then, and stopped where it has a process. Where the
    /// adapter does not run, there is nothing to be done before ``replace(_:with:)``.
    public func prepare(
        _ replacement: any Adapter, of served: ServedAdapter, _ start: @escaping @Sendable () async throws -> Void
    ) async throws -> AdapterReplacement {
        guard served.status.current.phase == .running else {
            return AdapterReplacement(served, replacement, isStarted: false)
        }
        guard let reason = await Self.failure(of: served, within: limits.start, sleep, start) else {
            return AdapterReplacement(served, replacement, isStarted: true)
        }
        await end(replacement, of: served, hasStarted: false)
        throw PorticoError(
            .adapterUnavailable, "The adapter \(served.declaration.name) cannot be started anew: \(reason)")
    }

    /// As ``prepare(_:of:_:)``, for an adapter that works beside its calls, which must not be done twice: the instance that
    /// runs is stopped first, and answers calls all the same. Where the other does not start, or is discarded before it is
    /// used, `resume` starts the first one again.
    public func handOver(
        to replacement: any Adapter, of served: ServedAdapter, _ start: @escaping @Sendable () async throws -> Void,
        resume: @escaping @Sendable () async throws -> Void
    ) async throws -> AdapterReplacement {
        guard served.status.current.phase == .running else {
            return AdapterReplacement(served, replacement, isStarted: false)
        }
        guard await stop(served.adapter, of: served) else {
            await self.resume(served, resume)
            throw PorticoError(
                .adapterUnavailable,
                "The adapter \(served.declaration.name) does not stop what it does beside its calls.")
        }
        do {
            var prepared = try await prepare(replacement, of: served, start)
            prepared.resume = resume
            return prepared
        } catch {
            await self.resume(served, resume)
            throw error
        }
    }

    private func resume(_ served: ServedAdapter, _ start: @escaping @Sendable () async throws -> Void) async {
        let events = Self.run(on: served, within: limits.start, sleep, start)
        var failure: String? = "It has not started within \(limits.start)."
        if case .returned(let reason)? = await events.stream.first(where: { _ in true }) { failure = reason }
        events.cancel()
        if let failure { served.log.error("adapter does not go on beside its calls", ["detail": .text(failure)]) }
    }

    /// Stops one that was prepared and is not wanted.
    public func discard(_ replacement: AdapterReplacement) async {
        await end(replacement.adapter, of: replacement.served, hasStarted: replacement.isStarted)
        if let start = replacement.resume { await resume(replacement.served, start) }
    }

    /// Calls go to the replacement from now on. Returns the instance that is to be stopped after the last of its calls,
    /// by ``discard(_:)``. One that was not running is attempted again as it would have been; where it runs by now all the
    /// same, nothing is replaced.
    public func replace(_ replacement: AdapterReplacement) -> AdapterReplacement {
        let served = replacement.served
        return served.status.change { machine in
            guard replacement.isStarted || machine.phase != .running else { return replacement }
            let old = served.instance.replace(with: replacement.adapter, isStarted: replacement.isStarted)
            return AdapterReplacement(served, old, isStarted: machine.phase == .running)
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
            return "It has not started within \(time)."
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
                // Removed while it started.
                if reason == nil, served.status.current.phase == .stopped { await stop(served.adapter, of: served) }
                return ended(served, reason)
            }
        }
        events.cancel()
        return .nothing
    }

    private func ended(_ served: ServedAdapter, _ reason: String?) -> AdapterLifecycle.Next {
        let now = clock.now()
        // One whose options have changed since has not been started.
        let (next, reason) = served.status.change { machine in
            let reason = reason ?? (served.instance.isPending ? "Its configuration changed while it started." : nil)
            return (machine.returned(failingWith: reason, at: now), reason)
        }
        if case .retry(let wait) = next {
            served.log.error(
                "adapter failed to start", ["detail": .text(reason ?? ""), "retrySeconds": .count(wait.wholeSeconds)])
        } else if served.status.isRunning {
            served.log.info("adapter runs", ["attempts": .count(served.status.current.attempts)])
        }
        return next
    }

    /// After its last call.
    public func stop(_ served: ServedAdapter) async {
        let hasStarted = served.status.change { $0.stop() }
        await end(served.adapter, of: served, hasStarted: hasStarted)
    }

    /// Stops an instance that is not wanted any more. One whose start has not succeeded has nothing to stop, except for a
    /// process with its files.
    private func end(_ adapter: any Adapter, of served: ServedAdapter, hasStarted: Bool) async {
        if hasStarted || adapter is any ProcessAdapter { await stop(adapter, of: served) }
    }

    /// False where it has not stopped in time.
    @discardableResult
    private func stop(_ adapter: any Adapter, of served: ServedAdapter) async -> Bool {
        let events = Self.run(on: served, within: limits.stop, sleep) { await adapter.stop() }
        var hasStopped = true
        for await event in events.stream {
            if case .deadline = event {
                served.log.error("adapter has not stopped in time", ["seconds": .count(limits.stop.wholeSeconds)])
                hasStopped = false
            }
            break
        }
        events.cancel()
        return hasStopped
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

/// An instance of an adapter that takes another one's place, or has lost it.
public struct AdapterReplacement: Sendable {
    public let served: ServedAdapter
    let adapter: any Adapter
    let isStarted: Bool
    /// Has the instance before go on, where it was stopped for this one; nil: it was not.
    var resume: (@Sendable () async throws -> Void)?

    init(_ served: ServedAdapter, _ adapter: any Adapter, isStarted: Bool) {
        self.served = served
        self.adapter = adapter
        self.isStarted = isStarted
    }
}

extension Duration {
    fileprivate var wholeSeconds: Int { Int(components.seconds) }
}
