import AdapterKit

/// What operators ask for.
struct FeedAdministration {
    static let maximumListed = 1_000

    let context: AdapterContext
    let access: FeedAccess

    private var publisher: Publisher { Publisher(records: context.records, clock: context.clock) }

    func publish(_ call: Call) async throws -> OperationResult {
        let name = try Self.newName(call)
        let content = try FeedContent(call[FeedOperations.content])
        let publication = try await publisher.publish(
            content, as: name, title: call[FeedOperations.title].stringValue, by: call.caller.name)
        log("feed published", publication, call)
        return Self.answer(publication)
    }

    func rollBack(_ call: Call) async throws -> OperationResult {
        let publication = try await publisher.rollBack(
            Self.knownName(call), to: call[FeedOperations.version].int64Value ?? 0)
        log("feed rolled back", publication, call)
        return Self.answer(publication)
    }

    func list() async throws -> OperationResult {
        let feeds = try await states().map { state -> WireValue in
            [
                "name": .string(state.name.text), "title": .string(state.title), "version": .int64(state.version),
                "published": .date(state.published), "access": .string(access[state.name].words),
            ]
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
        return .value(["versions": .array(versions.map { Self.told($0, shown: feed[Feeds.version]) })])
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

    private static func answer(_ publication: Publication) -> OperationResult {
        let state = publication.state
        return .value([
            "name": .string(state.name.text), "version": .int64(state.version), "published": .date(state.published),
            "changed": .bool(publication.changesAnything),
        ])
    }

    private static func told(_ version: Record, shown: WireValue) -> WireValue {
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
        case .publicRead: "public-read"
        case .public: "public"
        case .login: "login"
        case .roles(let roles): "roles: " + roles.sorted().map(\.text).joined(separator: ", ")
        }
    }
}
