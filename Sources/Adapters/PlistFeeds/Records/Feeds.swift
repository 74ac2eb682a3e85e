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
            rows: RowRules(read: rule, write: .nobody), conflictPolicy: .reject)
    }

    /// A property list's root: a dictionary of anything.
    static let document = ObjectShape("FeedDocument", isOpen: true, members: [])
}
