import AdapterKit
import NIOCore
import RecordStorage
import Synchronization
import ValueTree

/// Reads the log once for all streams of one feed and hands each event to the event loops of those whom it concerns.
final class FeedBroadcaster: Sendable {
    let reader: FeedReader
    let settings: FeedSettings
    private let store: any Store
    private let log: Log
    private let subscriptions = Mutex(FeedSubscriptions<FeedSink>())
    private let presence: Mutex<PresenceList>
    private let commits: AsyncStream<Void>

    init(_ reader: FeedReader, store: any Store, settings: FeedSettings, log: Log) {
        self.reader = reader
        self.store = store
        self.settings = settings
        self.log = log
        presence = Mutex(PresenceList(grace: settings.presenceGrace))
        // One pending signal stands for any number of commits.
        let (commits, signal) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        self.commits = commits
        store.observe { _ in signal.yield() }
    }

    /// Until it is cancelled.
    func run() async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask {
                for await _ in self.commits { await self.advance() }
            }
            group.addTask {
                while (try? await Task.sleep(for: .seconds(1))) != nil { self.tellDepartures() }
            }
        }
    }

    /// What a stream has to be told next, by one state of the store: a reader may see commits that ``Store/position`` does
    /// not name yet.
    enum CatchUp {
        /// A stretch of the log, and the account's groups at that moment.
        case page(FeedPage, groups: Set<RecordID>)
        /// The log cannot be gone on with from there; here it ends.
        case beginAgain(at: Revision)
    }

    func catchUp(after position: Revision?, for name: String) async throws -> CatchUp {
        let (reader, limits) = (reader, settings)
        return try await withTaskExecutorPreference(globalConcurrentExecutor) { [store] in
            try await store.withReadSnapshot { snapshot in
                let end = snapshot.position
                guard let position else {
                    let nothing = FeedPage(news: [], through: end, isComplete: true)
                    return .page(nothing, groups: try reader.groups(of: name, at: snapshot))
                }
                guard position >= snapshot.floor, position <= end,
                    end.number - position.number <= Int64(limits.replay)
                else { return .beginAgain(at: end) }
                return .page(
                    try reader.page(after: position, limits: limits, at: snapshot),
                    groups: try reader.groups(of: name, at: snapshot))
            }
        }
    }
}

extension FeedBroadcaster {
    /// False where the stream has to catch up once more.
    func attach(_ number: UInt64, _ name: String, _ groups: Set<RecordID>, at known: Revision, _ sink: FeedSink) -> Bool
    {
        let isAttached = subscriptions.withLock { subscriptions in
            guard subscriptions.attach(number, name, hearing: groups, knowing: known, sink) else { return false }
            sink.attach()
            return true
        }
        guard isAttached else { return false }
        if presence.withLock({ $0.arrive(name, number) }) { tell(name, isOnline: true, in: groups) }
        return true
    }

    func detach(_ number: UInt64) { subscriptions.withLock { _ = $0.detach(number) } }

    /// The stream has ended.
    func leave(_ number: UInt64, _ name: String, _ groups: Set<RecordID>) {
        detach(number)
        presence.withLock { $0.leave(name, number, groups, at: .now) }
    }

    /// A heartbeat that names the log's position, behind every event up to it.
    func beat(_ sink: FeedSink) {
        subscriptions.withLock { subscriptions in
            guard let position = subscriptions.position, let loop = sink.eventLoop else { return }
            let text = EventText.heartbeat(id: FeedPosition.text(position, in: reader.epoch))
            loop.execute { sink.beat(position, text) }
        }
    }

    func signal(_ event: ByteBuffer, to groups: Set<RecordID>, except name: String, atMost limit: Int? = nil) {
        subscriptions.withLock { subscriptions in
            var sinks: [ObjectIdentifier: FeedSink] = [:]
            for group in groups {
                let listeners = subscriptions.listeners(of: group, except: name)
                if let limit, listeners.count > limit { continue }
                for sink in listeners { sinks[ObjectIdentifier(sink)] = sink }
            }
            for sink in sinks.values { sink.eventLoop?.execute { sink.deliver(signal: event) } }
        }
    }

    func names(in group: RecordID) -> Set<String> { subscriptions.withLock { $0.names(in: group) } }
}

extension FeedBroadcaster {
    private func advance() async {
        while let position = subscriptions.withLock({ $0.position }) {
            let end = store.position
            guard store.position(of: reader.adapter) > position else {
                return subscriptions.withLock { $0.pass(to: end) }
            }
            do {
                let (reader, limits) = (reader, settings)
                let page = try await store.withReadSnapshot { try reader.page(after: position, limits: limits, at: $0) }
                subscriptions.withLock { Self.send($0.take(page)) }
                if page.isComplete { return }
            } catch {
                return sendAway(error)
            }
        }
    }

    /// Handed over while the roster is locked, so that events reach each event loop in the log's order.
    private static func send(_ deliveries: [FeedSubscriptions<FeedSink>.Delivery]) {
        var work: [ObjectIdentifier: (loop: any EventLoop, sinks: [ObjectIdentifier: Work])] = [:]
        for delivery in deliveries {
            for sink in delivery.sinks {
                guard let loop = sink.eventLoop else { continue }
                work[ObjectIdentifier(loop), default: (loop, [:])]
                    .sinks[ObjectIdentifier(sink), default: Work(sink: sink)]
                    .events.append((delivery.position, delivery.event))
            }
        }
        for (loop, sinks) in work.values {
            loop.execute { for work in sinks.values { work.sink.deliver(work.events) } }
        }
    }

    private struct Work: Sendable {
        let sink: FeedSink
        var events: [(position: Revision, event: ByteBuffer)] = []
    }

    /// Each stream looks for itself how it can go on.
    private func sendAway(_ error: any Error) {
        log.warning("feed could not be read", ["feed": .text(reader.feed.name.text), "detail": .text("\(error)")])
        for sink in subscriptions.withLock({ $0.detachAll() }) { sink.sendAway() }
    }

    private func tellDepartures() {
        for (name, groups) in presence.withLock({ $0.departed(at: .now) }) { tell(name, isOnline: false, in: groups) }
    }

    private func tell(_ name: String, isOnline: Bool, in groups: Set<RecordID>) {
        guard let event = reader.feed.presence,
            let text = try? EventText.event(
                event.text, id: nil, data: ["user": .string(name), "online": .bool(isOnline)])
        else { return }
        signal(text, to: groups, except: name, atMost: settings.presenceListeners)
    }
}
