import AdapterKit
import NIOCore
import RecordStorage
import SyncEngine
import SyncMessages
import Synchronization
import WireFormats

/// Sends changes to live sync streams when the records that they follow change.
///
/// A waiting stream is a continuation in ``LiveSubscriptions``, without a task or timer of its own. One loop observes
/// commits and heartbeats for all streams. Streams whose channels are writable are written to in rounds (``LiveRound``)
/// without being woken; the others are woken and read for themselves.
final class LiveBroadcaster: Sendable {
    let store: any Store
    let pulls: PullMachine
    let heartbeat: Duration
    private let clock: any WallClock
    let subscriptions: Mutex<LiveSubscriptions<LiveWaiter>>
    private let fanOut: CommitFanOut
    private let adapters: Mutex<Set<AdapterName>>
    /// The log position up to which changes were delivered.
    private let delivered: Mutex<Revision>

    init(store: any Store, pulls: PullMachine, limits: LiveLimits, heartbeat: Duration, clock: any WallClock) {
        self.clock = clock
        self.store = store
        self.pulls = pulls
        self.heartbeat = heartbeat
        subscriptions = Mutex(LiveSubscriptions(limits: limits))
        adapters = Mutex([])
        delivered = Mutex(store.position)
        fanOut = CommitFanOut(of: store)
    }

    /// The number of open streams.
    var count: Int { subscriptions.withLock { $0.count } }

    /// Operations of the log that no stream was notified of yet.
    var lag: Int64 { max(0, store.position.number - delivered.withLock { $0 }.number) }

    /// Until it is cancelled.
    func run() async {
        await fanOut.run {
            await self.wakeForChanges()
        } everySecond: {
            self.cutExpired()
            self.wakeForSilence()
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
        case .open(let number): return LiveTicket(number: number, broadcaster: self)
        case .tooMany: throw PorticoError(.overloaded, "Too many live streams are open.", retryAfter: 5)
        case .tooManyOfPrincipal:
            throw PorticoError(.rateLimited, "You have too many live streams open.", retryAfter: 5)
        case .stopping: throw PorticoError(.stopping, "The server is stopping.", retryAfter: 1)
        }
    }

    fileprivate func wait(
        _ number: UInt64, seen: Revision, for time: Duration?, deliveringTo stream: LiveStream? = nil
    ) async -> WakeReason {
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
        // Read the position first: a later commit is in these changes or in the next ones, never lost.
        let reached = store.position
        let followed = adapters.withLock { $0 }
        let positions = Dictionary(
            followed.map { ($0, store.position(of: $0)) }, uniquingKeysWith: { $1 })
        let changes = await changes(whereUnknown: reached)
        await deliver(subscriptions.withLock { $0.noteMoves(positions, changes) })
    }

    /// One look at what changed, so that only those who are concerned look for themselves.
    private func changes(whereUnknown reached: Revision) async -> RowChanges? {
        let since = delivered.withLock { $0 }
        let found =
            count > 0
            ? try? await store.withReadSnapshot(expecting: RowChanges.reads(since: since)) {
                try RowChanges(since: since, at: $0)
            } : nil
        delivered.withLock { $0 = found?.position ?? reached }
        return found
    }

    private func cutExpired() {
        for waiter in subscriptions.withLock({ $0.cutExpired(at: clock.now()) }) { waiter.resume(returning: .cut) }
    }

    private func wakeForSilence() {
        for waiter in subscriptions.withLock({ $0.due(at: .now) }) { waiter.resume(returning: .silence) }
    }
}

/// One registered live stream. Closed once.
struct LiveTicket: Sendable {
    let number: UInt64
    fileprivate let broadcaster: LiveBroadcaster

    /// Returns when records changed after `seen`, after that time (nil: the heartbeat's), or when it is over. Changes that
    /// `stream` can receive meanwhile are sent to it, and the wait goes on for as long again.
    func wait(seen: Revision, for time: Duration? = nil, deliveringTo stream: LiveStream? = nil) async -> WakeReason {
        await broadcaster.wait(number, seen: seen, for: time, deliveringTo: stream)
    }

    /// Returns after a call of ``wake()``, after the heartbeat's time, or when it is over.
    func wait() async -> WakeReason { await broadcaster.wait(number, seen: Revision(.max), for: nil) }

    /// Ends a wait, or the next one where there is no wait now.
    func wake() { broadcaster.wake(number) }

    /// Ends it from outside, at once.
    func cut() { broadcaster.cut(number) }

    /// Gives the place back; the second time nothing happens.
    func close() { broadcaster.remove(number) }
}

extension LiveBroadcaster {
    /// Streams of an event loop that are written to in one go; other work gets its turn in between.
    private static let portion = 128

    /// Delivers to those that wait for nothing but their place in a round, by event loop; the others are woken.
    func deliver(_ waiters: [LiveWaiter]) async {
        var byLoop = DeliveriesByLoop<LiveWaiter>()
        for waiter in waiters {
            guard let loop = waiter.target?.loop else {
                waiter.resume(returning: .changed)
                continue
            }
            byLoop.append(waiter, on: loop)
        }
        await withTaskGroup(of: Void.self) { group in
            for (_, waiters) in byLoop.all { group.addTask { await self.deliverInBatches(waiters) } }
        }
    }

    /// The next commit waits for the round; commits in the meantime are delivered together.
    private func deliverInBatches(_ waiters: [LiveWaiter]) async {
        var round = LiveRound(pulls: pulls, store: store)
        var rest = waiters[...]
        while let loop = rest.first?.target?.loop {
            let portion = Array(rest.prefix(Self.portion))
            rest = rest.dropFirst(portion.count)
            let queries = portion.compactMap { $0.target?.stream.query }
            let answers = queries.count == portion.count ? await round.respond(to: queries) : []
            do {
                try await loop.submit { self.deliver(portion, answers) }.get()
            } catch {
                for waiter in portion { waiter.resume(returning: .changed) }
            }
        }
    }

    /// On the event loop. Streams that were cut in the meantime get nothing.
    private func deliver(_ waiters: [LiveWaiter], _ answers: [LiveResponse?]) {
        let isOpen = subscriptions.withLock { subscriptions in waiters.map { subscriptions.isOpen($0.number) } }
        var waiting: [LiveWaiter] = []
        for (index, waiter) in waiters.enumerated() {
            guard isOpen[index] else {
                waiting.append(waiter)
                continue
            }
            if index < answers.count, let answer = answers[index], waiter.target?.stream.deliver(answer) == true {
                waiting.append(waiter)
            } else {
                waiter.resume(returning: .changed)
            }
        }
        keepWaiting(waiting)
    }

    private func keepWaiting(_ waiters: [LiveWaiter]) {
        let due = ContinuousClock.now + heartbeat
        let reasons = subscriptions.withLock { subscriptions in
            waiters.map { subscriptions.wait($0.number, $0, seen: $0.target?.stream.seen ?? Revision(0), until: due) }
        }
        for (waiter, reason) in zip(waiters, reasons) {
            if let reason { waiter.resume(returning: reason) }
        }
    }
}

/// A stream's task that sleeps. Rounds pass it about, so it is one reference.
final class LiveWaiter: Sendable {
    let number: UInt64
    /// Whom to tell without waking its task, and where; nil: it is to look for itself.
    let target: (stream: LiveStream, loop: any EventLoop)?
    private let continuation: CheckedContinuation<WakeReason, Never>

    init(_ number: UInt64, telling stream: LiveStream?, _ continuation: CheckedContinuation<WakeReason, Never>) {
        self.number = number
        target = stream.flatMap { stream in stream.eventLoop.map { (stream, $0) } }
        self.continuation = continuation
    }

    func resume(returning reason: WakeReason) { continuation.resume(returning: reason) }
}

/// Answers many streams after one commit: what several ask alike is read, decided and written once.
struct LiveRound {
    /// Bytes of events that are kept for those who come later in the round.
    private static let most = 4 << 20

    private let pulls: PullMachine
    private let store: any Store
    private var answers: [LiveQuery: LiveResponse] = [:]

    init(pulls: PullMachine, store: any Store) {
        self.pulls = pulls
        self.store = store
    }

    /// In the questions' order; nil where the stream has to look for itself, and to learn what is wrong.
    mutating func respond(to queries: [LiveQuery]) async -> [LiveResponse?] {
        if size > Self.most { answers = [:] }
        var known = queries.map { answers[$0] }
        let unknown = queries.indices.filter { known[$0] == nil }
        guard !unknown.isEmpty else { return known }
        answers.merge(await find(Set(unknown.map { queries[$0] }))) { $1 }
        for index in unknown { known[index] = answers[queries[index]] }
        return known
    }

    private var size: Int { answers.values.reduce(0) { $0 + ($1.event?.readableBytes ?? 0) } }

    /// All or none: a store may break a read off and begin it again.
    private func find(_ queries: Set<LiveQuery>) async -> [LiveQuery: LiveResponse] {
        let pulls = pulls
        let found = try? await store.withReadSnapshot { snapshot in
            let snapshot = CachingSnapshot(snapshot)
            return try queries.reduce(into: [LiveQuery: LiveResponse]()) { answers, query in
                answers[query] = try pulls.respond(to: query, at: snapshot)
            }
        }
        return found ?? [:]
    }
}

/// The query of a live stream after a change. Streams with equal queries get the same bytes.
struct LiveQuery: Sendable, Hashable {
    /// Where the stream is; its seal names whose stream it is.
    let checkpoint: String
    let subject: LiveSubject

    static func == (one: LiveQuery, two: LiveQuery) -> Bool {
        one.checkpoint == two.checkpoint && one.subject.isSame(as: two.subject)
    }

    /// Few streams are at the same checkpoint and differ otherwise.
    func hash(into hasher: inout Hasher) { hasher.combine(checkpoint) }

    var request: PullRequest {
        PullRequest(checkpoint: checkpoint, collections: subject.request.collections, limit: subject.request.limit)
    }
}

/// The part of a stream that does not change while it goes on.
final class LiveSubject: Sendable {
    /// As it was made.
    let request: PullRequest
    let caller: SyncCaller
    let format: any WireFormat

    init(_ request: PullRequest, for caller: SyncCaller, as format: any WireFormat) {
        self.request = request
        self.caller = caller
        self.format = format
    }

    func isSame(as other: LiveSubject) -> Bool {
        self === other
            || request.collections == other.request.collections && request.limit == other.request.limit
                && format.name == other.format.name && caller.seesTheSame(as: other.caller)
    }
}

/// The next page of a live query.
struct LiveResponse: Sendable {
    /// Nil where there is nothing to tell.
    let event: ByteBuffer?
    /// Where the stream is then.
    let checkpoint: String
    /// Nil: more pages follow.
    let seen: Revision?
}

extension PullMachine {
    func respond(to query: LiveQuery, at snapshot: any StoreSnapshot) throws -> LiveResponse {
        let page = try page(query.request, for: query.subject.caller, at: snapshot)
        let checkpoint = page.token ?? query.checkpoint
        return LiveResponse(
            event: page.hasChanges ? try ServerSentEvents.page(page, id: checkpoint, as: query.subject.format) : nil,
            checkpoint: checkpoint, seen: page.isComplete ? snapshot.position : nil)
    }
}
