import AdapterKit
import NIOCore
import RecordStorage

/// Which streams of a feed are up to date, and which groups each of them hears: the state machine behind ``FeedBroadcaster``.
/// Does nothing itself.
///
/// Every stream in it has been told all that concerns it up to ``position``, or will be by what ``take(_:)`` returned.
struct FeedSubscriptions<Sink> {
    /// One event and everybody whom it reaches.
    struct Delivery {
        let position: Revision
        let event: ByteBuffer
        let sinks: [Sink]
    }

    private struct Stream {
        let name: String
        let sink: Sink
        /// What happened up to here it has found out for itself.
        let since: Revision
        var groups: Set<RecordID>
    }

    private var streams: [UInt64: Stream] = [:]
    private var byName: [String: Set<UInt64>] = [:]
    private var byGroup: [RecordID: [UInt64: Sink]] = [:]
    /// How far the log was read; nil while nobody listens.
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
    mutating func take(_ page: FeedPage) -> [Delivery] {
        guard position != nil else { return [] }
        defer { pass(to: page.through) }
        return page.news.flatMap { take($0) }
    }

    /// Everybody who hears a group now, but for the streams of one account.
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

extension FeedSubscriptions {
    private mutating func take(_ news: FeedChanges) -> [Delivery] {
        guard let membership = news.membership else { return [delivery(news, news.event)] }
        for number in streams(of: membership.joined, before: news.position) { hear(news.group, number) }
        var gone: [Sink] = []
        for number in streams(of: membership.left, before: news.position) {
            guard let stream = streams[number], stream.groups.contains(news.group) else { continue }
            gone.append(stream.sink)
            streams[number]?.groups.remove(news.group)
            silence(news.group, number)
        }
        let farewell = Delivery(position: news.position, event: membership.farewell, sinks: gone)
        return [delivery(news, news.event), farewell]
    }

    private func delivery(_ news: FeedChanges, _ event: ByteBuffer) -> Delivery {
        Delivery(position: news.position, event: event, sinks: byGroup[news.group].map { Array($0.values) } ?? [])
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
