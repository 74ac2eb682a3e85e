import AdapterKit
import Gateway
import Logging
import RecordStorage
import SQLiteStore
import Upstream

/// The way from adapters that end to those that take their places: their mirrors, pending writes, feeds and fields.
struct AdapterHandover: Sendable {
    /// How long requests that were begun before may still write fields that are declared no longer.
    private static let overlap = Duration.seconds(10)
    /// How long changes of mirrors that are being sent are waited for.
    private static let sending = Duration.seconds(30)

    let host: Host
    let new: HostGeneration
    let ended: [ServedAdapter]
    let begun: [ServedAdapter]
    let collections: [CollectionDeclaration]

    init(from old: HostGeneration, to new: HostGeneration, collections: [CollectionDeclaration], _ host: Host) {
        func missing(_ adapters: [ServedAdapter], in others: [ServedAdapter]) -> [ServedAdapter] {
            adapters.filter { served in !others.contains { $0.isSame(as: served) } }
        }
        (self.host, self.new, self.collections) = (host, new, collections)
        ended = missing(old.adapters, in: new.adapters)
        begun = missing(new.adapters, in: old.adapters)
    }

    func run(after requests: [RequestsUnderWay]) async {
        guard !ended.isEmpty || !begun.isEmpty else { return }
        for served in ended { await host.feedTasks.end(served.declaration.name) }
        let feeds = new.feeds
        for name in begun.map(\.declaration.name) where feeds.adapters.contains(name) {
            host.feedTasks.begin(name) { await feeds.run(of: name) }
        }
        await beginMirrors()
        let deadline = ContinuousClock.now + Self.overlap
        for requests in requests { await requests.ended(by: deadline) }
        await endMirrors()
        do {
            try await host.store.install(collections)
        } catch {
            host.logger.error(
                "fields that are no longer declared could not be hidden", metadata: ["detail": "\(error)"])
        }
        for served in begun where served.hasMirrors { host.mirrorTasks.beginRowsOfCallers(served) }
    }

    private func successor(of served: ServedAdapter) -> ServedAdapter? {
        begun.first { $0.declaration.name == served.declaration.name }
    }

    /// Requests of both sides are answered from the mirrors that begin: two cannot refresh the same records.
    private func beginMirrors() async {
        for served in ended where served.hasMirrors {
            guard let successor = successor(of: served) else { continue }
            served.handOverMirrors(to: successor)
            await host.mirrorTasks.refreshes.end(served.declaration.name)
        }
        for served in begun where served.hasMirrors { host.mirrorTasks.beginAnswering(served) }
    }

    /// What requests of the adapters that end have needed.
    private func endMirrors() async {
        await withTaskGroup(of: Void.self) { group in
            for served in ended where served.hasMirrors {
                let (name, isReplaced) = (served.declaration.name, successor(of: served) != nil)
                group.addTask {
                    await served.finishWrites(within: Self.sending)
                    await host.mirrorTasks.rowsOfCallers.end(name)
                    await host.mirrorTasks.calls.end(name)
                    if !isReplaced { await host.mirrorTasks.refreshes.end(name) }
                }
            }
        }
    }
}

/// What another configuration has replaced, until it is stopped.
struct Retirement: Sendable {
    /// How long requests that were begun before are waited for.
    static let longest = Duration.seconds(600)
    private static let interval = Duration.milliseconds(50)

    let requests: [RequestsUnderWay]
    let adapters: [AdapterReplacement]
    let upstreams: [HTTPUpstream]
    let supervisor: AdapterSupervisor
    let handover: AdapterHandover

    /// Stops everything after its last request, or at once where the task is cancelled.
    func run() async {
        let deadline = ContinuousClock.now + Self.longest
        for requests in requests { await requests.ended(by: deadline) }
        for adapter in adapters { await supervisor.discard(adapter) }
        for served in handover.ended { await supervisor.stop(served) }
        for upstream in upstreams {
            // Refreshes of mirrors call them too.
            while upstream.status.active > 0, .now < deadline, (try? await Task.sleep(for: Self.interval)) != nil {}
            await upstream.stop()
        }
    }
}

/// Hands retirements to the service that runs them.
final class Retirements: Sendable {
    /// A retirement, and who waits until its adapters are handed over.
    struct Item: Sendable {
        let retirement: Retirement
        fileprivate let caller: CheckedContinuation<Void, Never>

        func handOver() async {
            await retirement.handover.run(after: retirement.requests)
            caller.resume()
        }

        func run() async { await retirement.run() }
    }

    let all: AsyncStream<Item>
    private let continuation: AsyncStream<Item>.Continuation

    init() {
        (all, continuation) = AsyncStream.makeStream()
    }

    /// Returns when other adapters have taken the places of those that end, whether the task is cancelled or not.
    func handOver(_ retirement: Retirement) async {
        await withCheckedContinuation { caller in
            if case .terminated = continuation.yield(Item(retirement: retirement, caller: caller)) { caller.resume() }
        }
    }
}
