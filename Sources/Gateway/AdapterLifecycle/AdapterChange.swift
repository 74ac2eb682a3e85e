import AdapterKit
import Synchronization

/// One change of adapters: the generations that go and those that come, whatever has caused it. ``AdapterSupervisor`` makes it.
public final class AdapterChange: Sendable {
    /// Those that answer afterwards, those that stay among them.
    public let adapters: [ServedAdapter]
    let old: [AdapterName: ServedAdapter]
    let new: [AdapterName: ServedAdapter]
    /// What tells the live feeds of each adapter that has some, until it is cancelled.
    let liveFeeds: [AdapterName: @Sendable () async -> Void]
    /// What an attempt to start one that comes consists of.
    let start: @Sendable (ServedAdapter) async throws -> Void
    /// The store forgets what only the generations that go declare.
    let settle: @Sendable () async -> Void
    private let machine: Mutex<AdapterChangeMachine>
    private let settlement = AsyncStream<Never>.makeStream()

    /// What is in both stays as it is. `liveFeeds`: what tells the live feeds of each adapter that has some, until it is cancelled.
    /// `start`: what an attempt to start one that comes consists of. `settle`: the store forgets what only those that go declare.
    public init(
        from before: [ServedAdapter], to after: [ServedAdapter],
        liveFeeds: [AdapterName: @Sendable () async -> Void] = [:],
        start: @escaping @Sendable (ServedAdapter) async throws -> Void, settle: @escaping @Sendable () async -> Void
    ) {
        func missing(_ adapters: [ServedAdapter], in others: [ServedAdapter]) -> [AdapterName: ServedAdapter] {
            let missing = adapters.filter { served in !others.contains { $0 === served } }
            return Dictionary(missing.map { ($0.declaration.name, $0) }, uniquingKeysWith: { $1 })
        }
        (adapters, self.liveFeeds, self.start, self.settle) = (after, liveFeeds, start, settle)
        (old, new) = (missing(before, in: after), missing(after, in: before))
        machine = Mutex(
            AdapterChangeMachine(
                old: Set(old.keys), new: Set(new.keys), placeholders: Set(new.filter(\.value.isPlaceholder).keys)))
    }

    /// Returns when other adapters have taken the places of those that go, or ``AdapterSupervisor/finish(_:requestsEnd:)`` returns,
    /// whether the task is cancelled or not.
    public func waitUntilSettled() async {
        let settlement = settlement.stream
        await Task { for await _ in settlement {} }.value
    }

    func noteSettled() { settlement.continuation.finish() }

    var isEmpty: Bool { old.isEmpty && new.isEmpty }

    var phase: AdapterChangeMachine.Phase { machine.withLock { $0.phase } }

    func take<Result>(_ body: (inout AdapterChangeMachine) -> Result) -> Result { machine.withLock { body(&$0) } }

    /// Mirrors, live feeds and changes that are still to be sent which end with the generation that goes.
    var ending: [AdapterParts] { old.values.filter { !goesOn($0.declaration.name) }.map(\.parts) }

    /// Whether mirrors and live feeds of a name go on from one generation to the next.
    func goesOn(_ name: AdapterName) -> Bool {
        guard let before = old[name], let after = new[name] else { return false }
        return before.hasParts(of: after)
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
        await run(change.take { $0.prepare() }, of: change)
        if case .discarded(let reason) = change.phase { throw PorticoError(.adapterUnavailable, reason) }
    }

    /// What was prepared is not wanted, and stopped.
    public func discard(_ change: AdapterChange) async { await run(change.take { $0.refuse() }, of: change) }

    /// What was prepared answers from now on. The limits hold for attempts that begin later.
    public func exchange(_ change: AdapterChange, limits: AdapterLimits) {
        guard change.take({ $0.exchange() }) else { return }
        use(change.adapters, limits: limits)
        for served in change.new.values { served.takePlace() }
        for served in change.new.values where served.isPlaceholder { attempt(served) }
    }

    /// Drains what goes, activates what comes, and stops what goes after its last request, or without waiting for that where the
    /// task is cancelled. `requestsEnd` waits until the requests that were begun before are over, or until the instant.
    public func finish(
        _ change: AdapterChange, requestsEnd: @escaping @Sendable (ContinuousClock.Instant) async -> Void
    ) async {
        defer { change.noteSettled() }
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await self.run(change.take { $0.handOver() }, of: change) }
            group.addTask {
                if !change.isEmpty { await requestsEnd(.now + Self.overlap) }
                await self.run(change.take { $0.handle(.overlapEnded) }, of: change)
            }
            group.addTask {
                await requestsEnd(.now + Self.longestRequests)
                await self.run(change.take { $0.handle(.requestsEnded) }, of: change)
            }
        }
    }

    /// Does these and what follows from them.
    private func run(_ actions: [AdapterChangeMachine.Action], of change: AdapterChange) async {
        await withTaskGroup(of: AdapterChangeMachine.Event?.self) { group in
            func add(_ actions: [AdapterChangeMachine.Action]) {
                for action in actions { group.addTask { await self.perform(action, of: change) } }
            }
            add(actions)
            for await event in group { if let event { add(change.take { $0.handle(event) }) } }
        }
    }

    private func perform(
        _ action: AdapterChangeMachine.Action, of change: AdapterChange
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
            if !change.goesOn(name) { await handOver(served.parts, to: change.new[name], change.liveFeeds) }
            await drain(served)
            return .drained(name)
        case .activate(let name):
            guard let served = change.new[name] else { return nil }
            if change.old[name] == nil { begin(served, change.liveFeeds) }
            activate(served)
            return .activated(name)
        case .settle:
            await settle(change)
            return .settled
        case .stop(let name):
            if let served = change.old[name] { await stop(served) }
            return .stopped(name)
        }
    }

    /// The host's own work for a generation that goes ends, and that for the one that takes its place begins: never both for one name.
    private func handOver(
        _ parts: AdapterParts, to next: ServedAdapter?, _ liveFeeds: [AdapterName: @Sendable () async -> Void]
    ) async {
        await liveFeedTasks.end(parts)
        guard let next else { return }
        await mirrorTasks.refreshes.end(parts)
        begin(next, liveFeeds)
    }

    /// What requests of the generations that go have needed ends, and what of those that come must not be beside it begins.
    private func settle(_ change: AdapterChange) async {
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
        if !change.isEmpty { await change.settle() }
        for served in change.new.values where !change.goesOn(served.declaration.name) {
            mirrorTasks.beginRowsOfCallers(served.parts)
        }
        change.noteSettled()
    }
}

/// The way from some generations of adapters to others, whatever has caused it. A pure state machine; ``AdapterSupervisor``
/// does what it asks for.
///
/// *Prepare*: what comes is started beside what answers. Where one does not start, all that was started is discarded, and
/// nothing has changed. *Exchange*: from now on what comes answers. It cannot fail. Then what goes is *drained*: what it does
/// beside its calls ends. After that what comes is *activated*: its own begins. Once the requests that were begun before are
/// over, what goes is *stopped*.
struct AdapterChangeMachine: Sendable {
    /// What is to be done. Each is followed by one event.
    enum Action: Sendable, Hashable {
        case start(AdapterName)
        /// Of one that was started and does not come.
        case discard(AdapterName)
        case drain(AdapterName)
        case activate(AdapterName)
        /// No request writes any more as the generations before declare: the store takes up what holds now.
        case settle
        case stop(AdapterName)
    }

    enum Event: Sendable, Equatable {
        case started(AdapterName)
        case failed(AdapterName, String)
        case discarded(AdapterName)
        /// Whether it has ended in time or goes on: that none begins before is seen to by ``AdapterTurn``.
        case drained(AdapterName)
        case activated(AdapterName)
        /// Requests that were begun before have had the time in which they may write.
        case overlapEnded
        case settled
        /// The requests that were begun before are over.
        case requestsEnded
        case stopped(AdapterName)
    }

    enum Phase: Sendable, Equatable {
        case preparing
        /// All that comes is started: it can be exchanged, or refused.
        case prepared
        /// What was started is being discarded, and why.
        case discarding(String)
        /// Nothing has changed, and why.
        case discarded(String)
        case exchanged
    }

    enum Old: Sendable { case answering, draining, drained, stopping, stopped }

    enum New: Sendable { case starting, started, discarding, discarded, answering, activating, active }

    private(set) var phase = Phase.preparing
    /// What goes.
    private(set) var old: [AdapterName: Old]
    /// What comes.
    private(set) var new: [AdapterName: New]
    private var isOverlapOver = false
    private var isSettling = false
    private(set) var isSettled = false
    private var areRequestsOver = false

    /// `old`: what goes. `new`: what comes; a name in both gives way to itself. `placeholders`: those of what comes that are
    /// exchanged without having been started.
    init(old: Set<AdapterName>, new: Set<AdapterName>, placeholders: Set<AdapterName> = []) {
        self.old = Dictionary(old.map { ($0, .answering) }, uniquingKeysWith: { $1 })
        self.new = Dictionary(
            new.map { ($0, placeholders.contains($0) ? .started : .starting) }, uniquingKeysWith: { $1 })
    }

    mutating func prepare() -> [Action] {
        let actions = names(new, in: .starting).map(Action.start)
        if actions.isEmpty { phase = .prepared }
        return actions
    }

    /// What was prepared is not wanted.
    mutating func refuse() -> [Action] { phase == .prepared ? discard("It is not wanted.") : [] }

    /// From now on what comes answers. Whether it does: it is prepared.
    mutating func exchange() -> Bool {
        guard phase == .prepared else { return false }
        phase = .exchanged
        for name in old.keys { old[name] = .draining }
        for name in new.keys { new[name] = old[name] == nil ? .activating : .answering }
        return true
    }

    /// What goes gives way to what comes. To be called once.
    func handOver() -> [Action] {
        guard phase == .exchanged else { return [] }
        return old.keys.sorted().map(Action.drain) + names(new, in: .activating).map(Action.activate)
    }

    mutating func handle(_ event: Event) -> [Action] {
        switch event {
        case .started(let name): return noteStart(name)
        case .failed(let name, let reason):
            new[name] = .discarded
            return phase == .preparing ? discard(reason) : endDiscarding()
        case .discarded(let name):
            new[name] = .discarded
            return endDiscarding()
        case .drained(let name):
            old[name] = .drained
            let next = new[name] == nil ? [] : [Action.activate(name)]
            if !next.isEmpty { new[name] = .activating }
            return next + settle()
        case .activated(let name):
            new[name] = .active
            return settle()
        case .overlapEnded:
            isOverlapOver = true
            return settle()
        case .settled:
            isSettled = true
            return stop()
        case .requestsEnded:
            areRequestsOver = true
            return stop()
        case .stopped(let name):
            old[name] = .stopped
            return []
        }
    }

    private mutating func noteStart(_ name: AdapterName) -> [Action] {
        guard phase == .preparing else {
            new[name] = .discarding
            return [.discard(name)]
        }
        new[name] = .started
        if !new.values.contains(.starting) { phase = .prepared }
        return []
    }

    private mutating func discard(_ reason: String) -> [Action] {
        phase = .discarding(reason)
        let started = names(new, in: .started)
        for name in started { new[name] = .discarding }
        return started.map(Action.discard) + endDiscarding()
    }

    private mutating func endDiscarding() -> [Action] {
        if case .discarding(let reason) = phase, new.values.allSatisfy({ $0 == .discarded }) {
            phase = .discarded(reason)
        }
        return []
    }

    private mutating func settle() -> [Action] {
        guard phase == .exchanged, isOverlapOver, !isSettling, !old.values.contains(.draining),
            new.values.allSatisfy({ $0 == .active })
        else { return [] }
        isSettling = true
        return [.settle]
    }

    private mutating func stop() -> [Action] {
        guard isSettled, areRequestsOver else { return [] }
        let going = old.filter { $0.value == .drained }.keys.sorted()
        for name in going { old[name] = .stopping }
        return going.map(Action.stop)
    }

    private func names(_ all: [AdapterName: New], in state: New) -> [AdapterName] {
        all.filter { $0.value == state }.keys.sorted()
    }
}
