import AdapterKit
import RecordStorage
import SyncEngine
import Synchronization

/// Wakes live streams when the records that they follow change.
///
/// A stream that waits is a continuation in ``LiveSubscriptions`` and nothing more: no task, no timer. One loop hears of
/// commits and of silence for all of them. Streams that can be written to are told in rounds (``LiveRound``) and stay
/// asleep; the others are woken and look for themselves.
final class LiveBroadcaster: Sendable {
    let store: any Store
    let pulls: PullMachine
    let heartbeat: Duration
    private let clock: any WallClock
    let subscriptions: Mutex<LiveSubscriptions<LiveWaiter>>
    private let commits: AsyncStream<Void>
    private let signal: AsyncStream<Void>.Continuation
    private let adapters: Mutex<Set<AdapterName>>
    /// What the streams have been told of, as far as it is known.
    private let told: Mutex<Revision>

    init(store: any Store, pulls: PullMachine, limits: LiveLimits, heartbeat: Duration, clock: any WallClock) {
        self.clock = clock
        self.store = store
        self.pulls = pulls
        self.heartbeat = heartbeat
        subscriptions = Mutex(LiveSubscriptions(limits: limits))
        adapters = Mutex([])
        told = Mutex(store.position)
        // One pending signal stands for any number of commits: the loop asks the store how far it is.
        (commits, signal) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let signal = signal
        store.observe { _ in signal.yield() }
    }

    /// How many streams are open.
    var count: Int { subscriptions.withLock { $0.count } }

    /// Until it is cancelled.
    func run() async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask {
                for await _ in self.commits { await self.wakeForChanges() }
            }
            group.addTask {
                while (try? await Task.sleep(for: .seconds(1))) != nil {
                    self.cutExpired()
                    self.wakeForSilence()
                }
            }
        }
    }

    func stop() {
        for waiter in subscriptions.withLock({ $0.stop() }) { waiter.resume(returning: .stopping) }
    }

    /// A stream whose credential ends at `expires` is cut within a second of it, by the clock that was passed in,
    /// whether or not anything happens. Throws `access.rateLimited`, `server.overloaded` or `server.stopping`.
    func open(
        for principal: Principal, following adapters: Set<AdapterName>, interest: SyncInterest? = nil,
        until expires: WireDate? = nil
    ) throws(PorticoError) -> LiveTicket {
        self.adapters.withLock { $0.formUnion(adapters) }
        switch subscriptions.withLock({
            $0.admit(principal.id, following: adapters, interest: interest, until: expires)
        }) {
        case .open(let number): return LiveTicket(number: number, hub: self)
        case .tooMany: throw PorticoError(.overloaded, "Too many live streams are open.", retryAfter: 5)
        case .tooManyOfPrincipal:
            throw PorticoError(.rateLimited, "You have too many live streams open.", retryAfter: 5)
        case .stopping: throw PorticoError(.stopping, "The server is stopping.", retryAfter: 1)
        }
    }

    fileprivate func wait(
        _ number: UInt64, seen: Revision, for time: Duration?, told stream: LiveStream? = nil
    ) async -> LiveWaking {
        let due = ContinuousClock.now + (time ?? heartbeat)
        return await withCheckedContinuation { continuation in
            let waiter = LiveWaiter(number, telling: stream, continuation)
            let reason = subscriptions.withLock { $0.wait(number, waiter, seen: seen, until: due) }
            if let reason { waiter.resume(returning: reason) }
        }
    }

    fileprivate func wake(_ number: UInt64) {
        subscriptions.withLock { $0.wake(number) }?.resume(returning: .changed)
    }

    fileprivate func cut(_ number: UInt64) {
        subscriptions.withLock { $0.cut(number) }?.resume(returning: .cut)
    }

    fileprivate func remove(_ number: UInt64) {
        subscriptions.withLock { $0.remove(number) }?.resume(returning: .cut)
    }

    private func wakeForChanges() async {
        // Read first: what is committed meanwhile is in the news of now or of the next time, and never left out.
        let reached = store.position
        let followed = adapters.withLock { $0 }
        let positions = Dictionary(
            followed.map { ($0, store.position(of: $0)) }, uniquingKeysWith: { $1 })
        let news = await news(whereUnknown: reached)
        await tell(subscriptions.withLock { $0.moved(positions, news) })
    }

    /// One look at what changed, so that only those who are concerned look for themselves.
    private func news(whereUnknown reached: Revision) async -> RowChanges? {
        let since = told.withLock { $0 }
        let found = count > 0 ? try? await store.withReadSnapshot { try RowChanges(since: since, at: $0) } : nil
        told.withLock { $0 = found?.position ?? reached }
        return found
    }

    private func cutExpired() {
        for waiter in subscriptions.withLock({ $0.expired(at: clock.now()) }) { waiter.resume(returning: .cut) }
    }

    private func wakeForSilence() {
        for waiter in subscriptions.withLock({ $0.due(at: .now) }) { waiter.resume(returning: .silence) }
    }
}

/// A place among the live streams.
struct LiveTicket: Sendable {
    let number: UInt64
    fileprivate let hub: LiveBroadcaster

    /// Returns when records changed after `seen`, after that time (nil: the heartbeat's), or when it is over. Changes that
    /// `stream` can be told meanwhile are told it, and the wait goes on for as long again.
    func wait(seen: Revision, for time: Duration? = nil, told stream: LiveStream? = nil) async -> LiveWaking {
        await hub.wait(number, seen: seen, for: time, told: stream)
    }

    /// Returns when somebody called ``wake()``, after the heartbeat's time, or when it is over.
    func wait() async -> LiveWaking { await hub.wait(number, seen: Revision(.max), for: nil) }

    /// Ends a wait, or the next one where nobody waits now.
    func wake() { hub.wake(number) }

    /// Ends it from outside, at once.
    func cut() { hub.cut(number) }

    /// Gives the place back; the second time nothing happens.
    func close() { hub.remove(number) }
}
