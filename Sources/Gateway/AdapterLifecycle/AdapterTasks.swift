import AdapterKit
import Synchronization

/// Tasks that begin and end while the host runs, at most one of each owner: of what single adapters have.
public final class AdapterTasks: Sendable {
    /// Who has a task. Kept until that is ended.
    typealias Owner = AnyObject & Sendable

    private enum Work: Sendable {
        /// Until ``AdapterTasks/run()`` is called.
        case waiting(any Owner, @Sendable () async -> Void)
        /// Or has returned by itself.
        case running(any Owner, Task<Void, Never>)

        /// Detached, so that nothing of the request that has caused it goes on in it.
        var begun: Work {
            guard case .waiting(let owner, let body) = self else { return self }
            return .running(owner, Task.detached { await body() })
        }

        /// Cancels it, and returns when it has ended.
        func end() async {
            guard case .running(_, let task) = self else { return }
            task.cancel()
            await task.value
        }
    }

    private struct State {
        var work: [ObjectIdentifier: Work] = [:]
        var isRunning = false
        var hasEnded = false
    }

    private let state = Mutex(State())

    /// There is none.
    public init() {}

    /// Begins the task of an owner that has none, once ``run()`` is called.
    func begin(_ owner: any Owner, _ body: @escaping @Sendable () async -> Void) {
        state.withLock { state in
            guard !state.hasEnded else { return }
            let work = Work.waiting(owner, body)
            state.work[ObjectIdentifier(owner)] = state.isRunning ? work.begun : work
        }
    }

    /// Cancels the owner's task, and returns when it has ended; at once where it has returned by itself, or there is none.
    func end(_ owner: any Owner) async {
        await state.withLock { $0.work.removeValue(forKey: ObjectIdentifier(owner)) }?.end()
    }

    /// Runs them until it is cancelled. To be called once.
    public func run() async {
        state.withLock { state in
            state.isRunning = true
            state.work = state.work.mapValues(\.begun)
        }
        while (try? await Task.sleep(for: .seconds(3_600))) != nil {}
        let all = state.withLock { state in
            state.hasEnded = true
            defer { state.work = [:] }
            return state.work.values
        }
        await withTaskGroup(of: Void.self) { group in
            for work in all { group.addTask { await work.end() } }
        }
    }
}

/// What the adapters' mirrors need to run, in parts that are handed over one by one.
public struct MirrorTasks: Sendable {
    let refreshes = AdapterTasks()
    let calls = AdapterTasks()
    let rowsOfCallers = AdapterTasks()

    func beginAnswering(_ parts: AdapterParts) {
        if !parts.mirrors.isEmpty { refreshes.begin(parts) { await parts.keepMirrors() } }
        if !parts.callsThrough.isEmpty { calls.begin(parts) { await parts.keepCalls() } }
    }

    func beginRowsOfCallers(_ parts: AdapterParts) {
        guard !(parts.callerMirrors.isEmpty && parts.writes.isEmpty) else { return }
        rowsOfCallers.begin(parts) { await parts.keepRowsOfCallers() }
    }

    /// Until it is cancelled.
    public func run() async {
        await withTaskGroup(of: Void.self) { group in
            for tasks in [refreshes, calls, rowsOfCallers] { group.addTask { await tasks.run() } }
        }
    }
}
