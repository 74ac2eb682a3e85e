import AdapterKit
import Synchronization

/// Documents that apps fetch as property lists, published by operators without an app release
/// (docs/adapters/feeds.md).
public enum PlistFeedsModule: AdapterModule {
    public static let name: AdapterName = "feeds"

    public static let options =
        [
            ConfigurationOption(
                "*.access", .access, summary: "Who may read this feed; without it, what adapters.feeds.access says.")
        ] + UpstreamFeed.options

    public static func declare(_ configuration: AdapterConfiguration) throws -> AdapterDeclaration {
        let access = try FeedAccess(configuration)
        let fetched = try UpstreamFeed.all(configuration).values.sorted { $0.name < $1.name }
        return AdapterDeclaration(
            name: name, title: "Feeds", summary: "Property lists that apps fetch, with versions.", version: "1.0",
            entities: [Feeds.entity(readableBy: access.rule), Versions.entity] + fetched.map(\.entity),
            operations: FeedOperations.all, mirrors: fetched.map(\.mirror))
    }

    public static func make(_ configuration: AdapterConfiguration) throws -> any Adapter {
        PlistFeedsAdapter(access: try FeedAccess(configuration), fetched: try UpstreamFeed.all(configuration))
    }
}

final class PlistFeedsAdapter: Adapter {
    private let access: FeedAccess
    /// The feeds that other systems have.
    private let fetched: [FeedName: UpstreamFeed]
    private let context = Mutex<AdapterContext?>(nil)

    init(access: FeedAccess, fetched: [FeedName: UpstreamFeed]) {
        self.access = access
        self.fetched = fetched
    }

    func start(_ context: AdapterContext) {
        self.context.withLock { $0 = context }
    }

    func handle(_ call: Call) async throws -> OperationResult {
        switch call.operation {
        case FeedOperations.feed.name: try await feed(call)
        case FeedOperations.list.name: try await handler().list()
        case FeedOperations.publish.name: try await handler().publish(call)
        case FeedOperations.versions.name: try await handler().versions(call)
        case FeedOperations.rollBack.name: try await handler().rollBack(call)
        default: throw PorticoError(.routeNotFound, "There is no such operation.", target: call.operation.text)
        }
    }

    /// The feeds that every caller may read.
    func frontPageEntries() async throws -> [FrontPageEntry] {
        try await handler().states().filter { access.isPublic($0.name) }.map { state in
            FrontPageEntry(title: state.title, path: "/plists/\(state.name)", summary: "Version \(state.version).")
        }
    }

    func sampleRecords() -> [SampleRecords] {
        fetched[SampleFeed.name] == nil ? SampleFeed.records : []
    }

    func readMirror(_ request: MirrorRequest) async throws -> MirrorPage {
        let administration = try handler()
        let context = administration.context
        guard let feed = fetched.values.first(where: { $0.mirror.entity == request.entity }),
            let upstream = context.upstreams[feed.upstream]
        else { throw PorticoError(.adapterUnavailable, "No upstream is configured.") }
        return try await FeedSource(
            feed: feed, upstream: upstream, records: context.records, publisher: administration.publisher,
            log: context.log
        ).page()
    }

    /// A caller that may not read a feed is refused before the feed is looked up, and learns nothing about which feeds exist.
    private func feed(_ call: Call) async throws -> OperationResult {
        guard let name = FeedName(call[FeedOperations.name].stringValue ?? "") else {
            throw PorticoError(.recordNotFound, "There is no such feed.", target: FeedOperations.name.text)
        }
        try access[name].authorize(call.caller)
        guard let record = try await call.records.record(name.id, in: Feeds.entityName) else {
            throw PorticoError.noFeed(name)
        }
        let state = try FeedState(record)
        return .value(.dictionary(state.content), validators: state.validators)
    }

    private func handler() throws -> FeedAdministration {
        guard let context = context.withLock({ $0 }) else {
            throw PorticoError(.adapterUnavailable, "The feeds are not there yet.", retryAfter: 1)
        }
        return FeedAdministration(context: context, access: access, fetched: fetched)
    }
}
