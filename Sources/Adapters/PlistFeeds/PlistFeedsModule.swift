import AdapterKit

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
