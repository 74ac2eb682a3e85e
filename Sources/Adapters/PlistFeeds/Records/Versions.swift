import AdapterKit

/// Everything that was published, for rolling back. Nobody but the adapter reaches it: what was withdrawn stays withdrawn.
enum Versions {
    /// Older ones leave when a new one is published, except the one that the feed shows.
    static let kept: Int64 = 100

    static let id: FieldName = "id"
    static let feed: FieldName = "feed"
    static let version: FieldName = "version"
    static let published: FieldName = "published"
    static let publishedBy: FieldName = "publishedBy"
    static let content: FieldName = "content"

    static let number = Shape.integer(IntegerRange(1...Int64(Int32.max)))

    static let entity = Entity(
        "versions", summary: "A state of a feed, as it was published.", key: EntityKey(id, chosenBy: .caller),
        fields: [
            Field(id, .string(maximumLength: 80), isRequired: true, summary: "The feed's name, @, the number."),
            Field(feed, .string(maximumLength: 64), isRequired: true, summary: "The feed's name."),
            Field(version, number, isRequired: true, summary: "Counted from 1 for each feed."),
            Field(published, .date, isRequired: true, summary: "When."),
            Field(publishedBy, .string(maximumLength: 200), isRequired: true, summary: "By which account."),
            Field(content, .object(Feeds.document), isRequired: true, summary: "The document."),
        ],
        indexes: [Index([feed, version], isUnique: true)], rows: RowRules(read: .everyone, write: .everyone),
        conflictPolicy: .reject, exposure: .adapterOnly)

    static func id(of version: Int64, of feed: FeedName) -> RecordID {
        RecordID(unchecked: "\(feed)@\(version)")
    }
}
