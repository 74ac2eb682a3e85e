import AdapterKit

/// The feeds as they stand: what apps fetch, and what devices sync. Only operations for operators change them.
enum Feeds {
    static let name: FieldName = "name"
    static let title: FieldName = "title"
    static let version: FieldName = "version"
    static let latestVersion: FieldName = "latestVersion"
    static let published: FieldName = "published"
    static let content: FieldName = "content"

    static let entityName: EntityName = "feeds"

    /// The content is here beside the history, so that one record is all that a reader needs and a device gets
    /// (docs/decisions/0041).
    static func entity(readableBy rule: RowRule) -> Entity {
        Entity(
            entityName, summary: "A document that apps fetch, as it stands.", key: EntityKey(name, chosenBy: .caller),
            fields: [
                Field(name, .string(maximumLength: 64), isRequired: true, summary: "The name in the path."),
                Field(title, .string(maximumLength: 200), isRequired: true, summary: "For people."),
                Field(version, Versions.number, isRequired: true, summary: "The version that it shows."),
                Field(latestVersion, Versions.number, isRequired: true, summary: "The last that was published."),
                Field(published, .date, isRequired: true, summary: "Since when it shows this version."),
                Field(content, .object(Self.document), isRequired: true, summary: "The document."),
            ],
            rows: RowRules(read: rule, write: .nobody), writers: .nobody, conflictPolicy: .reject)
    }

    /// A property list's root: a dictionary of anything.
    static let document = ObjectShape("FeedDocument", isOpen: true, members: [])
}

/// Everything that was published, for rolling back. Only the adapter reaches it: what was withdrawn stays withdrawn.
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

/// A feed's record, read.
struct FeedState: Equatable {
    let name: FeedName
    let title: String
    /// Which version it shows.
    let version: Int64
    /// The largest number that was given, so that none is given twice after a roll-back.
    let latestVersion: Int64
    let published: WireDate
    let content: WireDictionary

    var fields: WireDictionary {
        [
            Feeds.name.text: .string(name.text), Feeds.title.text: .string(title),
            Feeds.version.text: .int64(version), Feeds.latestVersion.text: .int64(latestVersion),
            Feeds.published.text: .date(published), Feeds.content.text: .dictionary(content),
        ]
    }

    /// The number alone would not do: a store restored from a backup gives it a second time.
    var validators: Validators {
        let milliseconds = Int64((published.secondsSince1970 * 1_000).rounded())
        return Validators(version: "\(version)-\(milliseconds)", lastModified: published)
    }
}

extension FeedState {
    /// Throws `server.internal` for a record that no publication has written.
    init(_ record: Record) throws(PorticoError) {
        guard let name = FeedName(record.id.text), let title = record[Feeds.title].stringValue,
            let version = record[Feeds.version].int64Value,
            let latestVersion = record[Feeds.latestVersion].int64Value,
            let published = record[Feeds.published].dateValue,
            let content = record[Feeds.content].dictionaryValue
        else {
            throw PorticoError(
                .serverInternal, "The feed cannot be read.", target: record.id.text,
                logDetail: "a field of the feed's record has another type than declared")
        }
        self.init(
            name: name, title: title, version: version, latestVersion: latestVersion, published: published,
            content: content)
    }
}

/// Names a feed in its path and in the configuration: a letter, then letters, digits, `_` and `-`, at most 64
/// characters.
struct FeedName: ValidatedName {
    /// Keys of every adapter beside those of the feeds.
    static let reserved: Set<String> = ["access", "enabled"]

    let text: String

    init(unchecked text: String) {
        self.text = text
    }

    static func isValid(_ text: String) -> Bool {
        EntityName.isValid(text) && !reserved.contains(text)
    }

    /// The feed's record.
    var id: RecordID { RecordID(unchecked: text) }
}
