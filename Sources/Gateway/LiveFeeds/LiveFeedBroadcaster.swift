import AdapterKit
import NIOCore
import RecordStorage
import Synchronization
import ValueTree

/// Reads the log once for all streams of one feed and delivers each event to the event loops of the streams that it
/// concerns.
final class LiveFeedBroadcaster: Sendable {
    let reader: LiveFeedReader
    private let current: Mutex<LiveFeedSettings>
    private let store: any Store
    private let log: Log
    private let subscriptions = Mutex(LiveFeedSubscriptions<LiveFeedSink>())
    private let presence: Mutex<PresenceList>
    private let backlog = Mutex(SignalBacklog())
    private let fanOut: CommitFanOut

    init(_ reader: LiveFeedReader, store: any Store, settings: LiveFeedSettings, log: Log) {
        self.reader = reader
        self.store = store
        current = Mutex(settings)
        self.log = log
        presence = Mutex(PresenceList(grace: settings.presenceGrace))
        fanOut = CommitFanOut(of: store)
    }

    private var settings: LiveFeedSettings { current.withLock { $0 } }

    /// From now on, for streams that are open too. Departures that are due already stay as they are.
    func use(_ settings: LiveFeedSettings) {
        current.withLock { $0 = settings }
        presence.withLock { $0.use(grace: settings.presenceGrace) }
    }

    /// Until it is cancelled.
    func run() async {
        await fanOut.run {
            await self.advance()
        } everySecond: {
            self.sendDepartures()
        }
    }

    /// The next part for a stream, by one snapshot of the store: a reader may see commits that ``Store/position``
    /// does not name yet.
    enum CatchUp {
        /// A stretch of the log, and the account's groups at that moment.
        case page(LiveFeedPage, groups: Set<RecordID>)
        /// The log cannot be gone on with from there; here it ends.
        case restart(at: Revision)
    }

    func catchUp(after position: Revision?, for name: String) async throws -> CatchUp {
        let (reader, limits) = (reader, settings)
        return try await withTaskExecutorPreference(globalConcurrentExecutor) { [store] in
            try await store.withReadSnapshot { snapshot in
                let end = snapshot.position
                guard let position else {
                    let nothing = LiveFeedPage(changes: [], through: end, isComplete: true)
                    return .page(nothing, groups: try reader.groups(of: name, at: snapshot))
                }
                guard position >= snapshot.floor, position <= end,
                    end.number - position.number <= Int64(limits.replay)
                else { return .restart(at: end) }
                return .page(
                    try reader.page(after: position, limits: limits, at: snapshot),
                    groups: try reader.groups(of: name, at: snapshot))
            }
        }
    }
}

extension LiveFeedBroadcaster {
    /// False where the stream has to catch up once more.
    func attach(_ number: UInt64, _ name: String, _ groups: Set<RecordID>, at known: Revision, _ sink: LiveFeedSink)
        -> Bool
    {
        let isAttached = subscriptions.withLock { subscriptions in
            guard subscriptions.attach(number, name, hearing: groups, knowing: known, sink) else { return false }
            sink.attach()
            return true
        }
        guard isAttached else { return false }
        if presence.withLock({ $0.arrive(name, number) }) { deliver(name, isOnline: true, in: groups) }
        return true
    }

    func detach(_ number: UInt64) { subscriptions.withLock { _ = $0.detach(number) } }

    /// The stream has ended.
    func leave(_ number: UInt64, _ name: String, _ groups: Set<RecordID>) {
        detach(number)
        presence.withLock { $0.leave(name, number, groups, at: .now) }
    }

    /// A heartbeat that names the log's position, behind every event up to it.
    func beat(_ sink: LiveFeedSink) {
        subscriptions.withLock { subscriptions in
            guard let position = subscriptions.position, let loop = sink.eventLoop else { return }
            let text = ServerSentEvents.heartbeat(id: LiveFeedPosition.text(position, in: reader.epoch))
            loop.execute { sink.beat(position, text) }
        }
    }

    func signal(_ event: ByteBuffer, to groups: Set<RecordID>, except name: String, atMost limit: Int? = nil) {
        subscriptions.withLock { subscriptions in
            var sinks: [ObjectIdentifier: LiveFeedSink] = [:]
            for group in groups {
                let listeners = subscriptions.listeners(of: group, except: name)
                if let limit, listeners.count > limit { continue }
                for sink in listeners { sinks[ObjectIdentifier(sink)] = sink }
            }
            var byLoop = DeliveriesByLoop<LiveFeedSink>()
            for sink in sinks.values {
                if let loop = sink.eventLoop { byLoop.append(sink, on: loop) }
            }
            for (loop, sinks) in byLoop.all {
                guard backlog.withLock({ $0.begin(sinks.count, on: ObjectIdentifier(loop)) }) else { continue }
                loop.execute {
                    for sink in sinks { sink.deliver(signal: event) }
                    self.backlog.withLock { $0.end(sinks.count, on: ObjectIdentifier(loop)) }
                }
            }
        }
    }

    func names(in group: RecordID) -> Set<String> { subscriptions.withLock { $0.names(in: group) } }
}

extension LiveFeedBroadcaster {
    private func advance() async {
        while let position = subscriptions.withLock({ $0.position }) {
            let end = store.position
            guard store.position(of: reader.adapter) > position else {
                return subscriptions.withLock { $0.pass(to: end) }
            }
            do {
                let (reader, limits) = (reader, settings)
                let page = try await store.withReadSnapshot(
                    expecting: [.changes(after: position, limit: limits.page)]
                ) { try reader.page(after: position, limits: limits, at: $0) }
                subscriptions.withLock { Self.send($0.take(page)) }
                if page.isComplete { return }
            } catch {
                return invalidate(error)
            }
        }
    }

    /// Handed over while the subscriptions are locked, so that events reach each event loop in the log's order.
    private static func send(_ deliveries: [LiveFeedSubscriptions<LiveFeedSink>.Delivery]) {
        var eventsOfSinks: [ObjectIdentifier: SinkEvents] = [:]
        for delivery in deliveries {
            for sink in delivery.sinks {
                eventsOfSinks[ObjectIdentifier(sink), default: SinkEvents(sink: sink)]
                    .events.append((delivery.position, delivery.event))
            }
        }
        var byLoop = DeliveriesByLoop<SinkEvents>()
        for events in eventsOfSinks.values {
            if let loop = events.sink.eventLoop { byLoop.append(events, on: loop) }
        }
        for (loop, deliveries) in byLoop.all {
            loop.execute { for delivery in deliveries { delivery.sink.deliver(delivery.events) } }
        }
    }

    private struct SinkEvents: Sendable {
        let sink: LiveFeedSink
        var events: [(position: Revision, event: ByteBuffer)] = []
    }

    /// Each stream looks for itself how it can go on.
    private func invalidate(_ error: any Error) {
        log.warning("feed could not be read", ["feed": .text(reader.feed.name.text), "detail": .text("\(error)")])
        for sink in subscriptions.withLock({ $0.detachAll() }) { sink.invalidate() }
    }

    private func sendDepartures() {
        for (name, groups) in presence.withLock({ $0.takeDeparted(at: .now) }) {
            deliver(name, isOnline: false, in: groups)
        }
    }

    private func deliver(_ name: String, isOnline: Bool, in groups: Set<RecordID>) {
        guard let event = reader.feed.presence,
            let text = try? ServerSentEvents.event(
                event.text, id: nil, data: ["user": .string(name), "online": .bool(isOnline)])
        else { return }
        signal(text, to: groups, except: name, atMost: settings.presenceListeners)
    }
}

/// Signals that each event loop has not written yet. Signals are lost where there are too many: an event loop that falls
/// behind would keep all its connections waiting. A state machine.
struct SignalBacklog {
    /// Signals of one event loop, counted once for each stream.
    static let maximum = 4_096

    private var pending: [ObjectIdentifier: Int] = [:]

    /// False where the signal is lost. One that goes to more streams is taken where nothing else waits.
    mutating func begin(_ streams: Int, on loop: ObjectIdentifier) -> Bool {
        let before = pending[loop, default: 0]
        guard before == 0 || before + streams <= Self.maximum else { return false }
        pending[loop] = before + streams
        return true
    }

    mutating func end(_ streams: Int, on loop: ObjectIdentifier) {
        let left = pending[loop, default: 0] - streams
        pending[loop] = left > 0 ? left : nil
    }
}

/// The streams of a live feed that are up to date, and the groups of each. The state machine behind ``LiveFeedBroadcaster``,
/// without effects.
///
/// Every stream in it has sent all that concerns it up to ``position``, or will by what ``take(_:)`` returned.
struct LiveFeedSubscriptions<Sink> {
    /// One event and the streams that it reaches.
    struct Delivery {
        let position: Revision
        let event: ByteBuffer
        let sinks: [Sink]
    }

    private struct Stream {
        let name: String
        let sink: Sink
        /// The position up to which it has found out for itself what happened.
        let since: Revision
        var groups: Set<RecordID>
    }

    private var streams: [UInt64: Stream] = [:]
    private var byName: [String: Set<UInt64>] = [:]
    private var byGroup: [RecordID: [UInt64: Sink]] = [:]
    /// The position up to which the log was read; nil while no stream is open.
    private(set) var position: Revision?

    /// False where the log has been read further than the stream knows: it has to look again.
    mutating func attach(
        _ number: UInt64, _ name: String, hearing groups: Set<RecordID>, knowing known: Revision, _ sink: Sink
    ) -> Bool {
        guard position ?? known <= known else { return false }
        if position == nil { position = known }
        streams[number] = Stream(name: name, sink: sink, since: known, groups: groups)
        byName[name, default: []].insert(number)
        for group in groups { byGroup[group, default: [:]][number] = sink }
        return true
    }

    @discardableResult
    mutating func detach(_ number: UInt64) -> Sink? {
        guard let stream = streams.removeValue(forKey: number) else { return nil }
        byName[stream.name]?.remove(number)
        if byName[stream.name]?.isEmpty == true { byName[stream.name] = nil }
        for group in stream.groups { silence(group, number) }
        if streams.isEmpty { position = nil }
        return stream.sink
    }

    /// Nothing of the feed's happened up to there.
    mutating func pass(to reached: Revision) {
        if let position, reached > position { self.position = reached }
    }

    /// The next stretch of the log.
    mutating func take(_ page: LiveFeedPage) -> [Delivery] {
        guard position != nil else { return [] }
        defer { pass(to: page.through) }
        return page.changes.flatMap { take($0) }
    }

    /// The open streams of a group's members, but for the streams of one account.
    func listeners(of group: RecordID, except name: String) -> [Sink] {
        let own = byName[name] ?? []
        return (byGroup[group] ?? [:]).filter { !own.contains($0.key) }.map(\.value)
    }

    /// The accounts that hear a group now, each once.
    func names(in group: RecordID) -> Set<String> {
        Set((byGroup[group] ?? [:]).keys.compactMap { streams[$0]?.name })
    }

    mutating func detachAll() -> [Sink] { Array(streams.keys).compactMap { detach($0) } }
}

extension LiveFeedSubscriptions {
    private mutating func take(_ changes: LiveFeedChanges) -> [Delivery] {
        guard let membership = changes.membership else { return [delivery(changes, changes.event)] }
        for number in streams(of: membership.joined, before: changes.position) { hear(changes.group, number) }
        var gone: [Sink] = []
        for number in streams(of: membership.left, before: changes.position) {
            guard let stream = streams[number], stream.groups.contains(changes.group) else { continue }
            gone.append(stream.sink)
            streams[number]?.groups.remove(changes.group)
            silence(changes.group, number)
        }
        let departureEvent = Delivery(position: changes.position, event: membership.departureEvent, sinks: gone)
        return [delivery(changes, changes.event), departureEvent]
    }

    private func delivery(_ changes: LiveFeedChanges, _ event: ByteBuffer) -> Delivery {
        Delivery(position: changes.position, event: event, sinks: byGroup[changes.group].map { Array($0.values) } ?? [])
    }

    /// Streams that do not know of the change yet.
    private func streams(of names: [String], before position: Revision) -> [UInt64] {
        names.flatMap { byName[$0] ?? [] }.filter { streams[$0].map { $0.since < position } ?? false }
    }

    private mutating func hear(_ group: RecordID, _ number: UInt64) {
        guard let sink = streams[number]?.sink else { return }
        streams[number]?.groups.insert(group)
        byGroup[group, default: [:]][number] = sink
    }

    private mutating func silence(_ group: RecordID, _ number: UInt64) {
        byGroup[group]?[number] = nil
        if byGroup[group]?.isEmpty == true { byGroup[group] = nil }
    }
}

/// The accounts that listen to a feed. A return within the grace period is no departure, so a reconnect causes no
/// event.
struct PresenceList {
    private struct Departure {
        let due: ContinuousClock.Instant
        let groups: Set<RecordID>
    }

    private var grace: Duration
    private var streams: [String: Set<UInt64>] = [:]
    private var leaving: [String: Departure] = [:]

    init(grace: Duration) {
        self.grace = grace
    }

    mutating func use(grace: Duration) { self.grace = grace }

    /// Whether the account was away until now.
    mutating func arrive(_ name: String, _ stream: UInt64) -> Bool {
        let wasHere = streams[name] != nil || leaving.removeValue(forKey: name) != nil
        streams[name, default: []].insert(stream)
        return !wasHere
    }

    mutating func leave(_ name: String, _ stream: UInt64, _ groups: Set<RecordID>, at now: ContinuousClock.Instant) {
        guard streams[name]?.remove(stream) != nil, streams[name]?.isEmpty == true else { return }
        streams[name] = nil
        leaving[name] = Departure(due: now + grace, groups: groups)
    }

    /// The accounts that stayed away, each announced once.
    mutating func takeDeparted(at now: ContinuousClock.Instant) -> [(name: String, groups: Set<RecordID>)] {
        let gone = leaving.filter { $0.value.due <= now }
        for name in gone.keys { leaving[name] = nil }
        return gone.map { ($0.key, $0.value.groups) }
    }
}
