import AdapterKit
import Synchronization

/// The weather of the regions that one follows, out of a weather service, as it changes.
public enum WeatherModule: AdapterModule {
    public static let name: AdapterName = "weather"

    public static let options = [
        ConfigurationOption("upstream", .upstream, summary: "The weather service."),
        ConfigurationOption(
            "refresh", .duration, defaultValue: 300, summary: "How long after a fetch the next one begins."),
    ]

    public static func declare(_ configuration: AdapterConfiguration) throws -> AdapterDeclaration {
        guard let upstream = configuration["upstream"]?.stringValue.flatMap({ UpstreamName($0) }) else {
            throw ConfigurationProblem("upstream", "Name the weather service here, and describe it below `upstreams`.")
        }
        let refresh = configuration["refresh"]?.doubleValue ?? 300
        return AdapterDeclaration(
            name: name, title: "Weather", summary: "The weather of the regions that one follows.", version: "1.0.0",
            entities: [Region.entity, Observation.entity], operations: Following.allCases.map(\.operation),
            liveFeeds: [feed],
            mirrors: [
                MirrorSource(
                    Observation.entityName, of: upstream,
                    settings: MirrorSettings(
                        freshFor: .seconds(refresh), staleFor: .seconds(max(refresh, 86_400)),
                        refresh: .seconds(refresh),
                        // Every observation changes each time. So the host holds no refresh back for changing many.
                        guard: MirrorSettings.Guard(share: 1)))
            ])
    }

    /// Observations of followed regions, as they change.
    private static let feed = LiveFeed(
        "live", summary: "The weather of the regions that the caller follows, as server-sent events.",
        path: "/weather/live",
        group: LiveFeed.Group(
            Region.entityName, members: Region.Fields.followers, membership: "membership", changed: "region",
            fields: [Region.Fields.id]),
        sources: [
            LiveFeed.Source(
                Observation.entityName, group: Observation.Fields.region, created: "observation",
                changed: "observation", removed: "removal", fields: Observation.entity.fields.map(\.name))
        ])

    public static func make(_ configuration: AdapterConfiguration) throws -> any Adapter {
        WeatherAdapter()
    }
}

/// Keeps what the host gave it at the start, and answers with it.
final class WeatherAdapter: Adapter {
    private let context = Mutex<AdapterContext?>(nil)

    func start(_ context: AdapterContext) { self.context.withLock { $0 = context } }

    func handle(_ call: Call) async throws -> OperationResult {
        guard let following = Following(rawValue: call.operation.text) else {
            throw PorticoError(.routeNotFound, "There is no operation \(call.operation).")
        }
        return .value(try await following.run(call, on: started().records))
    }

    func readMirror(_ request: MirrorRequest) async throws -> MirrorPage {
        let context = try started()
        guard let upstream = context.upstream else {
            throw PorticoError(.adapterUnavailable, "The weather service is not configured.")
        }
        let page = try await WeatherService(upstream: upstream).page(request)
        context.metrics.increment("observations_fetched", by: page.rows.count)
        return page
    }

    func frontPageEntries() async throws -> [FrontPageEntry] {
        [
            FrontPageEntry(
                title: "Weather", path: "/api/v1/weather/observations",
                summary: "The weather of the regions that one follows.")
        ]
    }

    private func started() throws -> AdapterContext {
        guard let context = context.withLock({ $0 }) else {
            throw PorticoError(.adapterUnavailable, "The weather has not started.", retryAfter: 1)
        }
        return context
    }
}
