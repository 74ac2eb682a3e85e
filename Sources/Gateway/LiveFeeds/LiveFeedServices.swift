import AdapterKit
import HTTPTypes
import Identity
import NIOCore
import RecordStorage
import ValueTree

/// Every live feed that adapters declare, for as long as the host runs.
public struct LiveFeedServices: Sendable {
    struct Served: Sendable {
        let adapter: ServedAdapter
        let broadcaster: LiveFeedBroadcaster
    }

    let feeds: [Served]
    let live: LiveBroadcaster

    /// The feeds of these adapters, whose streams are admitted by `sync`. `old`: those of the configuration before; feeds of adapters
    /// that were there (``ServedAdapter/hasParts(of:)``) go on. Throws where a declaration makes no sense.
    public init(
        _ old: LiveFeedServices? = nil, adapters: [ServedAdapter], store: any Store, sync: SyncServices,
        settings: LiveFeedSettings, log: Log
    ) throws {
        live = sync.live
        feeds = try adapters.flatMap { served in
            let known = old?.feeds.filter { $0.adapter.hasParts(of: served) } ?? []
            guard known.isEmpty else { return known.map { Served(adapter: served, broadcaster: $0.broadcaster) } }
            return try served.declaration.liveFeeds.map { feed in
                let reader = try LiveFeedReader(feed, of: served.declaration, epoch: store.epoch)
                return Served(
                    adapter: served,
                    broadcaster: LiveFeedBroadcaster(reader, store: store, settings: settings, log: log))
            }
        }
    }

    /// From now on, for streams that are open too.
    public func use(_ settings: LiveFeedSettings) {
        for feed in feeds { feed.broadcaster.use(settings) }
    }

    /// Tasks that send streams of each adapter's feeds what happens, until they are cancelled. To be called once for each of them.
    public var tasks: [AdapterName: @Sendable () async -> Void] {
        Dictionary(grouping: feeds, by: \.adapter.declaration.name).mapValues { feeds in
            {
                await withTaskGroup(of: Void.self) { group in
                    for feed in feeds { group.addTask { await feed.broadcaster.run() } }
                }
            }
        }
    }

    /// An adapter's way to those who listen to its feeds.
    public func signals(of adapter: AdapterName) -> any LiveSignals {
        let own = feeds.filter { $0.adapter.declaration.name == adapter }
        return LiveFeedSignals(
            hubs: Dictionary(own.map { ($0.broadcaster.reader.feed.name, $0.broadcaster) }, uniquingKeysWith: { $1 }))
    }

    func routes(_ services: GatewayServices, _ identity: Identity) -> [Route] {
        let watch = CredentialWatch(identity: identity, clock: services.clock)
        return feeds.map { feed in
            Route(
                .get, feed.broadcaster.reader.feed.path,
                LiveFeedEndpoint(served: feed.adapter, broadcaster: feed.broadcaster, live: live, credentials: watch))
        }
    }
}

/// One adapter's signals.
private struct LiveFeedSignals: LiveSignals {
    let hubs: [LiveFeedName: LiveFeedBroadcaster]

    func signal(
        _ event: EventName, _ data: WireDictionary, in group: RecordID, of feed: LiveFeedName, from sender: String
    ) {
        guard let broadcaster = hubs[feed],
            let text = try? ServerSentEvents.event(event.text, id: nil, data: .dictionary(data))
        else {
            return
        }
        broadcaster.signal(text, to: [group], except: sender)
    }

    func listeners(in group: RecordID, of feed: LiveFeedName, limit: Int) -> [String] {
        Array((hubs[feed]?.names(in: group) ?? []).sorted().prefix(limit))
    }
}

/// Settings of live feeds, each value by its name in the configuration reference.
public struct LiveFeedSettings: Sendable, Equatable {
    /// `live.limits.page`: log entries looked at for one piece.
    public var page = 500
    /// `live.limits.piece`: bytes after which a piece ends.
    public var pieceBytes = 256 << 10
    /// `live.limits.replay`: how many operations a stream may have missed; more, and its client starts over.
    public var replay = 20_000
    /// `live.limits.presence`: groups with more listeners get no presence events.
    public var presenceListeners = 200
    /// `live.presenceGrace`: how long an account may be away before its departure is announced.
    public var presenceGrace = Duration.seconds(5)

    public init() {}
}

/// The path of an adapter's live feed.
struct LiveFeedEndpoint: Endpoint {
    let served: ServedAdapter
    let broadcaster: LiveFeedBroadcaster
    let live: LiveBroadcaster
    let credentials: CredentialWatch

    var properties: EndpointProperties {
        EndpointProperties(
            name: "\(served.declaration.name).\(broadcaster.reader.feed.name)",
            access: EndpointAccess([served.declaration.access.reading]), effect: .reads,
            adapter: served.declaration.name, status: served.status)
    }

    var description: EndpointDescription {
        EndpointDescription(
            summary: broadcaster.reader.feed.summary, tag: served.declaration.title,
            parameters: [
                .query("after", .string, "The id of the last event that came; `Last-Event-ID` wins over it."),
                .header("Last-Event-ID", "The id of the last event that came."),
            ],
            answers: [(.ok, .document(mediaType: "text/event-stream"))],
            errors: [
                .rateLimited, .overloaded, .stopping, .requestInvalid, .storeUnavailable, .adapterUnavailable,
            ])
    }

    func respond(to request: AuthenticatedRequest) async throws -> GatewayResponse {
        guard !request.request.isPartOfBatch else {
            throw PorticoError(.requestInvalid, "A batch cannot contain a stream.")
        }
        // Groups are joined by account names, so a caller without one has none.
        guard !request.caller.principal.isAnonymous else {
            throw PorticoError(.loginRequired, "This needs a login.")
        }
        let ticket = try live.open(
            for: request.caller.principal, following: [], until: request.caller.expires)
        do {
            let watch = try await credentials.watch(request.caller.authentication) { ticket.cut() }
            var response = GatewayResponse(
                .ok, headers: [.contentType: "text/event-stream", .cacheControl: "no-store", .xAccelBuffering: "no"])
            response.stream = LiveFeedStream(
                broadcaster, for: request.caller,
                after: request.request.headers[.lastEventID] ?? request.request.target["after"],
                ticket: ticket, watch: watch, requestID: request.request.id)
            return response
        } catch {
            ticket.close()
            throw error
        }
    }
}
