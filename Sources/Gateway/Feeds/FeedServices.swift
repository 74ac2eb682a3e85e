import AdapterKit
import HTTPTypes
import Identity
import NIOCore
import RecordStorage

/// Every live feed that adapters declare, for as long as the host runs.
public struct FeedServices: Sendable {
    struct Served: Sendable {
        let adapter: ServedAdapter
        let hub: FeedBroadcaster
    }

    let feeds: [Served]
    let live: LiveBroadcaster

    /// Throws where a declaration makes no sense.
    public init(
        adapters: [ServedAdapter], store: any Store, sync: SyncServices, settings: FeedSettings, log: Log
    ) throws {
        live = sync.live
        feeds = try adapters.flatMap { served in
            try served.declaration.liveFeeds.map { feed in
                let reader = try FeedReader(feed, of: served.declaration, epoch: store.epoch)
                return Served(adapter: served, hub: FeedBroadcaster(reader, store: store, settings: settings, log: log))
            }
        }
    }

    /// Tells streams what happens, until it is cancelled.
    public func run() async {
        await withTaskGroup(of: Void.self) { group in
            for feed in feeds { group.addTask { await feed.hub.run() } }
        }
    }

    /// An adapter's way to those who listen to its feeds.
    public func signals(of adapter: AdapterName) -> any LiveSignals {
        let own = feeds.filter { $0.adapter.declaration.name == adapter }
        return FeedSignals(
            hubs: Dictionary(own.map { ($0.hub.reader.feed.name, $0.hub) }, uniquingKeysWith: { $1 }))
    }

    func routes(_ services: GatewayServices, _ identity: Identity) -> [Route] {
        let watch = CredentialWatch(identity: identity, clock: services.clock)
        return feeds.map { feed in
            Route(
                .get, feed.hub.reader.feed.path,
                FeedEndpoint(served: feed.adapter, hub: feed.hub, live: live, credentials: watch))
        }
    }
}

/// One adapter's signals.
private struct FeedSignals: LiveSignals {
    let hubs: [LiveFeedName: FeedBroadcaster]

    func signal(
        _ event: EventName, _ data: WireDictionary, in group: RecordID, of feed: LiveFeedName, from sender: String
    ) {
        guard let hub = hubs[feed], let text = try? EventText.event(event.text, id: nil, data: .dictionary(data)) else {
            return
        }
        hub.signal(text, to: [group], except: sender)
    }

    func listeners(in group: RecordID, of feed: LiveFeedName, limit: Int) -> [String] {
        Array((hubs[feed]?.names(in: group) ?? []).sorted().prefix(limit))
    }
}

/// How live feeds are served, each value by its name in the configuration reference.
public struct FeedSettings: Sendable, Equatable {
    /// `live.limits.page`: log entries looked at for one piece.
    public var page = 500
    /// `live.limits.piece`: bytes after which a piece ends.
    public var pieceBytes = 256 << 10
    /// `live.limits.replay`: how many operations a stream may have missed; more, and its client starts over.
    public var replay = 20_000
    /// `live.limits.presence`: in groups with more listeners nobody is told who comes and goes.
    public var presenceListeners = 200
    /// `live.presenceGrace`: how long somebody may be away without being told as gone.
    public var presenceGrace = Duration.seconds(5)

    public init() {}
}
