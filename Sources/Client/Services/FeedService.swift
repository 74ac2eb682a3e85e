import ValueTree

/// Property-list feeds, each once. For a copy that stays on the device, ``PlistFeedController``.
public struct FeedService: Sendable {
    private let session: Session

    public init(_ session: Session) {
        self.session = session
    }

    /// A feed's document as it stands.
    ///
    /// - Parameter needsSignIn: off for a feed that everybody may read.
    /// - Throws: ``ClientError``: `refused` with `record.notFound` where there is no such feed.
    public func document(_ name: String, needsSignIn: Bool = true) async throws -> WireDictionary {
        let answer = try await session.value(of: ServerCall(path: ["plists", name], needsSignIn: needsSignIn))
        guard let document = answer.dictionaryValue else {
            throw ClientError.unreadableAnswer("a feed whose root is not a dictionary")
        }
        return document
    }

    /// The same as a type of the app's.
    public func document<Document: Decodable & Sendable>(
        _ name: String, as type: Document.Type, needsSignIn: Bool = true
    ) async throws -> Document {
        try await session.call(ServerCall(path: ["plists", name], needsSignIn: needsSignIn))
    }

    /// Keeps a feed's document on the device, and up to date.
    @MainActor
    public func controller(
        _ name: String, cache: PlistFeedCache, delegate: (any PlistFeedDelegate)? = nil, needsSignIn: Bool = true,
        reachability: AsyncStream<Bool>? = nil
    ) -> PlistFeedController {
        PlistFeedController(
            FeedOfSession(name, of: session, needsSignIn: needsSignIn), cache: cache, delegate: delegate,
            reachability: reachability)
    }
}
