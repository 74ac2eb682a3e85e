import AdapterKit

/// The one operation that apps call, and those of operators.
enum FeedOperations {
    static let all = [feed, list, publish, versions, rollBack]

    /// Each feed has an access of its own, so the operation admits. The answer depends on the records and, by that
    /// admission, on the caller's roles alone.
    static let feed = Operation(
        "feed", summary: "A feed's document, as it stands.", effect: .reads, input: named("FeedKey"),
        output: .object(Feeds.document), authorization: .byOperation, caching: .untilRecordsChange,
        mirrorParameter: name,
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
            Member(
                "upstream", .string, summary: "The system that has the document, where operators do not publish it."),
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

/// Operators' requests about feeds.
struct FeedAdministration {
    static let maximumListed = 1_000

    let context: AdapterContext
    let access: FeedAccess
    let fetched: [FeedName: UpstreamFeed]

    var publisher: Publisher { Publisher(records: context.records, clock: context.clock) }

    func publish(_ call: Call) async throws -> OperationResult {
        let name = try Self.newName(call)
        if let feed = fetched[name] {
            throw PorticoError(
                .recordConflict, "The feed \(name) is what the system \(feed.upstream) has, and is not published here.",
                target: FeedOperations.name.text)
        }
        let content = try FeedContent(call[FeedOperations.content])
        let publication = try await publisher.publish(
            content, as: name, title: call[FeedOperations.title].stringValue, by: call.caller.name)
        log("feed published", publication, call)
        return Self.result(publication)
    }

    func rollBack(_ call: Call) async throws -> OperationResult {
        let publication = try await publisher.rollBack(
            Self.knownName(call), to: call[FeedOperations.version].int64Value ?? 0)
        log("feed rolled back", publication, call)
        return Self.result(publication)
    }

    func list() async throws -> OperationResult {
        let feeds = try await states().map { state -> WireValue in
            var feed: WireDictionary = [
                "name": .string(state.name.text), "title": .string(state.title), "version": .int64(state.version),
                "published": .date(state.published), "access": .string(access[state.name].words),
            ]
            if let upstream = fetched[state.name]?.upstream { feed["upstream"] = .string(upstream.text) }
            return .dictionary(feed)
        }
        return .value(["feeds": .array(feeds)])
    }

    func versions(_ call: Call) async throws -> OperationResult {
        let name = try Self.knownName(call)
        guard let feed = try await context.records.record(name.id, in: Feeds.entityName) else {
            throw PorticoError.noFeed(name)
        }
        let query = Query(
            .compare(Versions.feed, .equal, .string(name.text)),
            order: [SortKey(Versions.version, descending: true)], limit: Int(Versions.kept) + 1)
        let versions = try await context.records.query(query, in: Versions.entity.name).records
        return .value(["versions": .array(versions.map { Self.value($0, shown: feed[Feeds.version]) })])
    }

    /// The first ``maximumListed`` feeds by name.
    func states() async throws -> [FeedState] {
        let query = Query(order: [SortKey(Feeds.name)], limit: Self.maximumListed)
        return try await context.records.query(query, in: Feeds.entityName).records.map { try FeedState($0) }
    }
}

extension FeedAdministration {
    private static func newName(_ call: Call) throws -> FeedName {
        guard let name = FeedName(call[FeedOperations.name].stringValue ?? "") else {
            throw PorticoError(
                .requestInvalid,
                "A feed's name begins with a letter and holds letters, digits, _ and -, at most 64 in all.",
                target: FeedOperations.name.text)
        }
        return name
    }

    private static func knownName(_ call: Call) throws -> FeedName {
        guard let name = FeedName(call[FeedOperations.name].stringValue ?? "") else {
            throw PorticoError(.recordNotFound, "There is no such feed.", target: FeedOperations.name.text)
        }
        return name
    }

    private static func result(_ publication: Publication) -> OperationResult {
        let state = publication.state
        return .value([
            "name": .string(state.name.text), "version": .int64(state.version), "published": .date(state.published),
            "changed": .bool(publication.changesAnything),
        ])
    }

    private static func value(_ version: Record, shown: WireValue) -> WireValue {
        [
            "version": version[Versions.version], "published": version[Versions.published],
            "publishedBy": version[Versions.publishedBy], "current": .bool(version[Versions.version] == shown),
        ]
    }

    private func log(_ message: StaticString, _ publication: Publication, _ call: Call) {
        call.log.info(
            message,
            [
                "feed": .text(publication.state.name.text), "version": .number(publication.state.version),
                "changed": .flag(publication.changesAnything),
            ])
    }
}

extension Access {
    /// As an operator reads it.
    fileprivate var words: String {
        switch self {
        case .nobody: "none"
        case .public: "public-read"
        case .login: "login"
        case .roles(let roles): "roles: " + roles.sorted().map(\.text).joined(separator: ", ")
        }
    }
}
