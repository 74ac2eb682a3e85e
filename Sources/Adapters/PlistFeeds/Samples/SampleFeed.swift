import AdapterKit

/// The feed `sonnets` with a few of Shakespeare's, published once.
enum SampleFeed {
    /// 2026-01-01T00:00:00Z: samples are the same whenever they are loaded.
    private static let published = WireDate(secondsSince1970: 1_767_225_600)

    private static let state = FeedState(
        name: "sonnets", title: "Shakespeare's sonnets", version: 1, latestVersion: 1, published: published,
        content: [
            "title": "Sonnets", "author": "William Shakespeare",
            "verses": .array(SampleSonnets.all.map { [.string($0.numeral), .string($0.text)] }),
        ])

    static let records = [
        SampleRecords(Feeds.entityName, [state.fields]),
        SampleRecords(Versions.entity.name, [state.versionFields("sample")]),
    ]
}
