import AdapterKit
import Synchronization

/// Tasks that begin and end while the host runs, at most one of each owner: of what single adapters have.
public final class AdapterTasks: Sendable {
    /// Who has a task. Kept until that is ended.
    typealias Owner = AnyObject & Sendable

    private final class Item: Sendable {
        let owner: any Owner
        let body: @Sendable () async -> Void
        let stop = AsyncStream<Void>.makeStream()
        let end = AsyncStream<Void>.makeStream()

        init(_ owner: any Owner, _ body: @escaping @Sendable () async -> Void) {
            self.owner = owner
            self.body = body
        }

        /// Until it returns or is to stop.
        func run() async {
            await withTaskGroup(of: Void.self) { group in
                group.addTask { await self.body() }
                group.addTask { for await _ in self.stop.stream {} }
                await group.next()
                group.cancelAll()
            }
        }
    }

    private struct State {
        /// Those that wait for ``AdapterTasks/run()``, run, or have returned by themselves, until they are ended.
        var items: [ObjectIdentifier: Item] = [:]
        /// Owners whose task runs.
        var running: Set<ObjectIdentifier> = []
    }

    private let state = Mutex(State())
    private let begun = AsyncStream<Item>.makeStream()

    /// There is none.
    public init() {}

    /// Begins the task of an owner that has none, once ``run()`` is called.
    func begin(_ owner: any Owner, _ body: @escaping @Sendable () async -> Void) {
        let item = Item(owner, body)
        state.withLock { $0.items[ObjectIdentifier(owner)] = item }
        begun.continuation.yield(item)
    }

    /// Cancels the owner's task, and returns when it has ended; at once where it has returned by itself, or there is none.
    func end(_ owner: any Owner) async {
        let (item, isRunning) = state.withLock { state in
            (state.items.removeValue(forKey: ObjectIdentifier(owner)), state.running.contains(ObjectIdentifier(owner)))
        }
        guard let item else { return }
        item.stop.continuation.finish()
        guard isRunning else { return }
        for await _ in item.end.stream {}
    }

    /// Runs them until it is cancelled. To be called once.
    public func run() async {
        await withDiscardingTaskGroup { group in
            for await item in begun.stream {
                let owner = ObjectIdentifier(item.owner)
                let isWanted = state.withLock { state in
                    guard state.items[owner] === item else { return false }
                    state.running.insert(owner)
                    return true
                }
                guard isWanted else { continue }
                group.addTask {
                    await item.run()
                    self.state.withLock { _ = $0.running.remove(owner) }
                    item.end.continuation.finish()
                }
            }
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
