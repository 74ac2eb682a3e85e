import AdapterKit

/// The one operation that apps call, and those of operators.
enum FeedOperations {
    static let all = [feed, list, publish, versions, rollBack]

    /// Each feed has an access of its own, so the operation admits. The answer depends on the records and, by that
    /// admission, on the caller's roles alone.
    static let feed = Operation(
        "feed", summary: "A feed's document, as it stands.", effect: .reads, input: named("FeedKey"),
        output: .object(Feeds.document), authorization: .byOperation, caching: .untilRecordsChange,
        bindings: [
            HTTPBinding(
                .get, "/plists/{name}",
                presentation: Presentation(defaultFormat: "plist", textXMLIsPropertyList: true))
        ])

    static let list = Operation(
        "list", summary: "Every feed, and who may read it.", effect: .reads,
        output: .object(
            ObjectShape("FeedList", members: [Member("feeds", .list(of: .object(listed)), isRequired: true)])),
        audience: .operators)

    static let publish = Operation(
        "publish", summary: "Makes a document the newest version of a feed, and shows it.", effect: .writes,
        isIdempotent: true,
        input: named(
            "Publication",
            and: [
                Member(content, .any, isRequired: true, summary: "A property list; its root is a dictionary."),
                Member(title, .string(TextLimits(minimumLength: 1, maximumLength: 200)), summary: "For people."),
            ]), output: .object(published), audience: .operators)

    static let versions = Operation(
        "versions", summary: "What was published of a feed, the newest first.", effect: .reads,
        input: named("VersionsOf"),
        output: .object(
            ObjectShape(
                "FeedVersions", members: [Member("versions", .list(of: .object(listedVersion)), isRequired: true)])),
        audience: .operators)

    static let rollBack = Operation(
        "rollback", summary: "Shows a version of a feed that was published before.", effect: .writes,
        isIdempotent: true,
        input: named("RollBack", and: [Member(version, Versions.number, isRequired: true, acceptsText: true)]),
        output: .object(published), audience: .operators)

    static let name: FieldName = "name"
    static let title: FieldName = "title"
    static let version: FieldName = "version"
    static let content: FieldName = "content"

    private static func named(_ shape: String, and others: [Member] = []) -> ObjectShape {
        ObjectShape(
            shape, members: [Member(name, .string(maximumLength: 255), isRequired: true, summary: "The feed.")] + others
        )
    }

    private static let listed = ObjectShape(
        "FeedSummary",
        members: [
            Member(name, .string, isRequired: true), Member(title, .string, isRequired: true),
            Member(version, .integer, isRequired: true), Member("published", .date, isRequired: true),
            Member("access", .string, isRequired: true),
        ])

    private static let listedVersion = ObjectShape(
        "FeedVersion",
        members: [
            Member(version, .integer, isRequired: true), Member("published", .date, isRequired: true),
            Member("publishedBy", .string, isRequired: true), Member("current", .bool, isRequired: true),
        ])

    private static let published = ObjectShape(
        "Published",
        members: [
            Member(name, .string, isRequired: true), Member(version, .integer, isRequired: true),
            Member("published", .date, isRequired: true),
            Member("changed", .bool, isRequired: true, summary: "Whether readers get anything new."),
        ])
}
