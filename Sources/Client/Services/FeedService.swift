import ValueTree
import WireFormats

/// Property-list feeds, each once. For a copy that stays on the device, ``PlistFeedController``.
public struct FeedService: Sendable {
    private let session: Session

    /// Calls the gateway with that sign-in.
    public init(_ session: Session) {
        self.session = session
    }

    /// A feed's document as it stands.
    ///
    /// - Parameter needsSignIn: off for a feed that everyone may read.
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

/// The gateway's services, typed: `session.employees.search(name: "Jo")`.
extension Session {
    /// The employee search.
    public nonisolated var employees: EmployeeDirectory { EmployeeDirectory(self) }
    /// The users.
    public nonisolated var users: UserDirectory { UserDirectory(self) }
    /// The property-list feeds.
    public nonisolated var feeds: FeedService { FeedService(self) }
    /// The notes.
    public nonisolated var notes: NoteService { NoteService(self) }
}

/// Calls of typed services: business objects in and out. Generated services are built on these too.
extension Session {
    /// Sends `call` with `input` as its body and reads the answer as an `Output`.
    ///
    /// - Throws: ``ClientError``: `unreadableAnswer` where the answer is not what `Output` says.
    public func call<Output: Decodable & Sendable>(
        _ call: ServerCall, with input: some Encodable & Sendable, returning: Output.Type = Output.self
    ) async throws -> Output {
        try await self.call(call.carrying(input))
    }

    /// The same for a call without a body.
    public func call<Output: Decodable & Sendable>(
        _ call: ServerCall, returning: Output.Type = Output.self
    ) async throws -> Output {
        try await answer(to: call).value().read(as: Output.self)
    }

    /// The same for a call without an answer.
    public func perform(_ call: ServerCall, with input: some Encodable & Sendable) async throws {
        _ = try await answer(to: call.carrying(input))
    }

    /// The same for a call without a body and without an answer.
    public func perform(_ call: ServerCall) async throws {
        _ = try await answer(to: call)
    }
}

extension ServerCall {
    func carrying(_ input: some Encodable) throws -> ServerCall {
        var call = self
        do {
            call.body = .value(try WireEncoder().encode(input))
        } catch {
            throw ClientError.unreadableAnswer("an input that cannot be sent: \(error)")
        }
        return call
    }
}

extension WireValue {
    func read<Output: Decodable>(as type: Output.Type) throws -> Output {
        do {
            return try WireDecoder().decode(type, from: self)
        } catch {
            throw ClientError.unreadableAnswer("\(type): \(error)")
        }
    }
}
