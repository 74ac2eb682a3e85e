import Gateway
import Logging
import RecordStorage
import SQLiteStore
import Upstream

/// What another configuration has replaced, until it is stopped.
struct Retirement: Sendable {
    let host: Host
    let requests: [RequestsUnderWay]
    let adapters: ExchangedAdapters
    let feeds: FeedServices
    let collections: [CollectionDeclaration]
    let upstreams: [HTTPUpstream]

    /// Hands over what the adapters do, and stops everything after its last request, or at once where the task is cancelled.
    /// `whenSettled`: once other adapters have taken the places of those that go.
    func run(whenSettled: @escaping @Sendable () -> Void) async {
        let (store, logger, requests, collections) = (host.store, host.logger, requests, collections)
        let steps = AdapterChangeSteps(feeds: feeds.tasks) { deadline in
            for requests in requests { await requests.ended(by: deadline) }
        } settle: {
            do { try await store.install(collections) } catch {
                logger.error(
                    "fields that are no longer declared could not be hidden", metadata: ["detail": "\(error)"])
            }
        } whenSettled: {
            whenSettled()
        }
        let deadline = ContinuousClock.now + AdapterSupervisor.longestRequests
        await host.supervisor.finish(adapters, steps)
        // Refreshes of mirrors call them too.
        for upstream in upstreams { await upstream.stop(afterCallsUntil: deadline) }
    }
}

/// Hands retirements to the service that runs them.
final class Retirements: Sendable {
    /// A retirement, and who waits until its adapters have handed over.
    struct Item: Sendable {
        let retirement: Retirement
        fileprivate let caller: CheckedContinuation<Void, Never>

        func run() async { await retirement.run { caller.resume() } }
    }

    let all: AsyncStream<Item>
    private let continuation: AsyncStream<Item>.Continuation

    init() {
        (all, continuation) = AsyncStream.makeStream()
    }

    /// Returns when other adapters have taken the places of those that go, whether the task is cancelled or not.
    func handOver(_ retirement: Retirement) async {
        await withCheckedContinuation { caller in
            if case .terminated = continuation.yield(Item(retirement: retirement, caller: caller)) { caller.resume() }
        }
    }
}
