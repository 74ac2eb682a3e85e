import AdapterKit
import Synchronization

/// Tasks of single adapters that begin and end while the host runs, at most one of each adapter.
public final class AdapterTasks: Sendable {
    private final class Item: Sendable {
        let name: AdapterName
        let body: @Sendable () async -> Void
        let stop = AsyncStream<Void>.makeStream()
        let end = AsyncStream<Void>.makeStream()

        init(_ name: AdapterName, _ body: @escaping @Sendable () async -> Void) {
            self.name = name
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
        var items: [AdapterName: [Item]] = [:]
        var running: Set<ObjectIdentifier> = []

        mutating func remove(_ item: Item) {
            items[item.name]?.removeAll { $0 === item }
            if items[item.name]?.isEmpty ?? false { items[item.name] = nil }
        }
    }

    private let state = Mutex(State())
    private let begun = AsyncStream<Item>.makeStream()

    /// There is none.
    public init() {}

    /// Begins a task of an adapter, once ``run()`` is called. One that it has already goes on.
    public func begin(_ name: AdapterName, _ body: @escaping @Sendable () async -> Void) {
        let item = Item(name, body)
        state.withLock { $0.items[name, default: []].append(item) }
        begun.continuation.yield(item)
    }

    /// Cancels the task of the adapter that began first, and returns when it has ended; at once where it has returned by
    /// itself, or there is none.
    public func end(_ name: AdapterName) async {
        let (item, isRunning) = state.withLock { state in
            let item = state.items[name]?.first
            if let item { state.remove(item) }
            return (item, item.map { state.running.contains(ObjectIdentifier($0)) } ?? false)
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
                let isWanted = state.withLock { state in
                    guard state.items[item.name]?.contains(where: { $0 === item }) ?? false else { return false }
                    state.running.insert(ObjectIdentifier(item))
                    return true
                }
                guard isWanted else { continue }
                group.addTask {
                    await item.run()
                    self.ended(item)
                }
            }
        }
    }

    private func ended(_ item: Item) {
        state.withLock { state in
            _ = state.running.remove(ObjectIdentifier(item))
        }
        item.end.continuation.finish()
    }
}
