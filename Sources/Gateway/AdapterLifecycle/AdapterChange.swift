import AdapterKit
import Synchronization

/// One change of adapters: the generations that go and those that come, whatever has caused it. ``AdapterSupervisor`` makes it.
public final class AdapterChange: Sendable {
    /// Those that answer afterwards, those that stay among them.
    public let adapters: [ServedAdapter]
    let old: [AdapterName: ServedAdapter]
    let new: [AdapterName: ServedAdapter]
    /// What an attempt to start one that comes consists of.
    let start: @Sendable (ServedAdapter) async throws -> Void
    private let machine: Mutex<AdapterChangeMachine>

    /// What is in both stays as it is. `start`: what an attempt to start one that comes consists of.
    public init(
        from before: [ServedAdapter], to after: [ServedAdapter],
        start: @escaping @Sendable (ServedAdapter) async throws -> Void
    ) {
        func missing(_ adapters: [ServedAdapter], in others: [ServedAdapter]) -> [AdapterName: ServedAdapter] {
            let missing = adapters.filter { served in !others.contains { $0 === served } }
            return Dictionary(missing.map { ($0.declaration.name, $0) }, uniquingKeysWith: { $1 })
        }
        (adapters, self.start) = (after, start)
        (old, new) = (missing(before, in: after), missing(after, in: before))
        machine = Mutex(
            AdapterChangeMachine(
                old: Set(old.keys), new: Set(new.keys), placeholders: Set(new.filter(\.value.isPlaceholder).keys)))
    }

    public var isEmpty: Bool { old.isEmpty && new.isEmpty }

    var phase: AdapterChangeMachine.Phase { machine.withLock { $0.phase } }

    func take<Result>(_ body: (inout AdapterChangeMachine) -> Result) -> Result { machine.withLock { body(&$0) } }

    /// Mirrors, feeds and changes that are still to be sent which end with the generation that goes.
    var ending: [AdapterParts] { old.values.filter { !goesOn($0.declaration.name) }.map(\.parts) }

    /// Whether mirrors and feeds of a name go on from one generation to the next.
    func goesOn(_ name: AdapterName) -> Bool {
        guard let before = old[name], let after = new[name] else { return false }
        return before.hasParts(of: after)
    }
}

/// The steps of a change that are the host's.
public struct AdapterChangeSteps: Sendable {
    /// What tells the feeds of each adapter that has some, until it is cancelled.
    let feeds: [AdapterName: @Sendable () async -> Void]
    /// Waits until the requests that were begun before are over, or until the instant.
    let requestsEnd: @Sendable (ContinuousClock.Instant) async -> Void
    /// The store forgets what only the generations that go declare.
    let settle: @Sendable () async -> Void
    /// Other adapters have taken the places of those that go.
    let whenSettled: @Sendable () -> Void

    /// Creates the steps.
    public init(
        feeds: [AdapterName: @Sendable () async -> Void],
        requestsEnd: @escaping @Sendable (ContinuousClock.Instant) async -> Void,
        settle: @escaping @Sendable () async -> Void, whenSettled: @escaping @Sendable () -> Void
    ) {
        self.feeds = feeds
        self.requestsEnd = requestsEnd
        self.settle = settle
        self.whenSettled = whenSettled
    }
}

extension AdapterSupervisor {
    /// How long requests that were begun before may still write fields that are declared no longer.
    private static let overlap = Duration.seconds(10)
    /// How long requests, and calls of upstreams, that were begun before are waited for.
    public static let longestRequests = Duration.seconds(600)
    /// How long changes of mirrors that are being sent are waited for.
    private static let sending = Duration.seconds(30)

    /// Starts what comes, beside what answers. Throws where one does not start within ``AdapterLimits/start``, and then
    /// nothing is changed and nothing is left of what comes.
    public func prepare(_ change: AdapterChange) async throws {
        await run(change.take { $0.prepare() }, of: change, nil)
        if case .discarded(let reason) = change.phase { throw PorticoError(.adapterUnavailable, reason) }
    }

    /// What was prepared is not wanted, and stopped.
    public func discard(_ change: AdapterChange) async {
        await run(change.take { $0.refuse() }, of: change, nil)
    }

    /// What comes answers from now on. The limits hold for attempts that begin later. Returns what ``finish(_:_:_:)`` begins with.
    public func exchange(_ change: AdapterChange, limits: AdapterLimits) -> ExchangedAdapters {
        let actions = change.take { $0.exchange() }
        use(change.adapters, limits: limits)
        for served in change.new.values { served.takesPlace() }
        for served in change.new.values where served.isPlaceholder { attempt(served) }
        return ExchangedAdapters(change: change, actions: actions)
    }

    /// Drains what goes, activates what comes, and stops what goes after its last request, or without waiting for that where the
    /// task is cancelled.
    public func finish(_ exchanged: ExchangedAdapters, _ steps: AdapterChangeSteps) async {
        let change = exchanged.change
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await self.run(exchanged.actions, of: change, steps) }
            group.addTask {
                if !change.isEmpty { await steps.requestsEnd(.now + Self.overlap) }
                await self.run(change.take { $0.handle(.overlapEnded) }, of: change, steps)
            }
            group.addTask {
                await steps.requestsEnd(.now + Self.longestRequests)
                await self.run(change.take { $0.handle(.requestsEnded) }, of: change, steps)
            }
        }
    }

    /// Does these and what follows from them.
    private func run(
        _ actions: [AdapterChangeMachine.Action], of change: AdapterChange, _ steps: AdapterChangeSteps?
    ) async {
        await withTaskGroup(of: AdapterChangeMachine.Event?.self) { group in
            func add(_ actions: [AdapterChangeMachine.Action]) {
                for action in actions { group.addTask { await self.perform(action, of: change, steps) } }
            }
            add(actions)
            for await event in group { if let event { add(change.take { $0.handle(event) }) } }
        }
    }

    private func perform(
        _ action: AdapterChangeMachine.Action, of change: AdapterChange, _ steps: AdapterChangeSteps?
    ) async -> AdapterChangeMachine.Event? {
        switch action {
        case .start(let name):
            guard let served = change.new[name] else { return nil }
            guard let reason = await startOnce(served, change.start) else { return .started(name) }
            await stop(served)
            return .failed(name, "The adapter \(name) cannot be started: \(reason)")
        case .discard(let name):
            if let served = change.new[name] { await stop(served) }
            return .discarded(name)
        case .drain(let name):
            guard let served = change.old[name] else { return nil }
            if !change.goesOn(name) { await handOver(served.parts, to: change.new[name], steps) }
            await drain(served)
            return .drained(name)
        case .activate(let name):
            guard let served = change.new[name] else { return nil }
            if change.old[name] == nil, let steps { begin(served, steps.feeds) }
            activate(served)
            return .activated(name)
        case .settle:
            if let steps { await settle(change, steps) }
            return .settled
        case .stop(let name):
            if let served = change.old[name] { await stop(served) }
            return .stopped(name)
        }
    }

    /// The host's own work for a generation that goes ends, and that for the one that takes its place begins: never both for one name.
    private func handOver(_ parts: AdapterParts, to next: ServedAdapter?, _ steps: AdapterChangeSteps?) async {
        await feedTasks.end(parts)
        guard let next, let steps else { return }
        await mirrorTasks.refreshes.end(parts)
        begin(next, steps.feeds)
    }

    /// What requests of the generations that go have needed ends, and what of those that come must not be beside it begins.
    private func settle(_ change: AdapterChange, _ steps: AdapterChangeSteps) async {
        await withTaskGroup(of: Void.self) { group in
            for parts in change.ending {
                group.addTask {
                    await parts.finishWrites(within: Self.sending)
                    await self.mirrorTasks.rowsOfCallers.end(parts)
                    await self.mirrorTasks.calls.end(parts)
                    await self.mirrorTasks.refreshes.end(parts)
                }
            }
        }
        if !change.isEmpty { await steps.settle() }
        for served in change.new.values where !change.goesOn(served.declaration.name) {
            mirrorTasks.beginRowsOfCallers(served.parts)
        }
        steps.whenSettled()
    }
}

/// A change that is exchanged, and not finished.
public struct ExchangedAdapters: Sendable {
    let change: AdapterChange
    let actions: [AdapterChangeMachine.Action]
}
