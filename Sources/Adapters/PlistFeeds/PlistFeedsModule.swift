import AdapterKit
import Synchronization

/// Documents that apps fetch as property lists, published by operators without an app release
/// (docs/adapters/feeds.md).
public enum PlistFeedsModule: AdapterModule {
    public static let name: AdapterName = "feeds"

    public static let options = [
        ConfigurationOption(
            "*.access", .access, summary: "Who may read this feed; without it, what adapters.feeds.access says.")
    ]

    public static func declare(_ configuration: AdapterConfiguration) throws -> AdapterDeclaration {
        let access = try FeedAccess(configuration)
        return AdapterDeclaration(
            name: name, title: "Feeds", summary: "Property lists that apps fetch, with versions.", version: "1.0",
            entities: [Feeds.entity(readableBy: access.rule), Versions.entity], operations: FeedOperations.all)
    }

    public static func make(_ configuration: AdapterConfiguration) throws -> any Adapter {
        PlistFeedsAdapter(access: try FeedAccess(configuration))
    }
}

final class PlistFeedsAdapter: Adapter {
    private let access: FeedAccess
    private let context = Mutex<AdapterContext?>(nil)

    init(access: FeedAccess) {
        self.access = access
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
        SampleFeed.records
    }

    /// A caller that may not read a feed is refused before the feed is looked up, and learns nothing about which feeds exist.
    private func feed(_ call: Call) async throws -> OperationResult {
        guard let name = FeedName(call[FeedOperations.name].stringValue ?? "") else {
            throw PorticoError(.recordNotFound, "There is no such feed.", target: FeedOperations.name.text)
        }
        try access[name].authorize(call.caller, effect: .reads)
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
        return FeedAdministration(context: context, access: access)
    }
}
