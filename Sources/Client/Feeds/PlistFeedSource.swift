import ValueTree

/// Where a feed is downloaded from.
public protocol PlistFeedSource: Sendable {
    /// Absolute; names the feed on this device and in errors.
    var url: String { get }

    /// One download, of ``PlistFeedController/deadline`` at most. Throws nothing but what is meant for the controller.
    ///
    /// - Throws: ``ClientError``, ``TransportError``, or `CancellationError`.
    func answer(headers: [Header]) async throws -> TransportResponse
}

/// What the server said of a version of the document (RFC 9110, section 8.8), to be asked with the next time.
public struct PlistFeedValidators: Sendable, Equatable {
    public var etag: String?
    public var lastModified: String?

    var headers: [Header] {
        let conditions = [("If-None-Match", etag), ("If-Modified-Since", lastModified)]
        return conditions.compactMap { name, value in value.map { Header(name, $0) } }
    }
}

/// A feed of a gateway, read with a sign-in, or without where the feed is public and nobody is signed in.
public struct FeedOfSession: PlistFeedSource {
    private let session: Session
    private let call: ServerCall

    /// - Parameter needsSignIn: off for a feed that everybody may read.
    public init(_ name: String, of session: Session, needsSignIn: Bool = true) {
        self.session = session
        call = ServerCall(
            path: ["plists", name], deadline: PlistFeedController.deadline, needsSignIn: needsSignIn)
    }

    public var url: String { session.server.text + call.target }

    public func answer(headers: [Header]) async throws -> TransportResponse {
        var call = call
        call.headers = headers
        return try await session.answer(to: call)
    }
}

/// A feed at any address, of whatever server.
public struct FeedAtAddress: PlistFeedSource {
    public let url: String
    private let transport: any Transport

    public init(_ url: String, transport: any Transport) {
        self.url = url
        self.transport = transport
    }

    public func answer(headers: [Header]) async throws -> TransportResponse {
        try await transport.send(
            TransportRequest(url: url, headers: headers, deadline: PlistFeedController.deadline))
    }
}

extension PlistFeedSource {
    func download(validators: PlistFeedValidators) async -> PlistFeedAnswer {
        do {
            let response = try await answer(headers: [Header("Accept", "application/x-plist")] + validators.headers)
            return meaning(of: response, isConditional: validators != PlistFeedValidators())
        } catch {
            return .failed(PlistFeedFailure(error))
        }
    }

    private func meaning(of response: TransportResponse, isConditional: Bool) -> PlistFeedAnswer {
        if response.status == 304, isConditional { return .unchanged }
        guard (200..<300).contains(response.status) else {
            let reason = "the server answered \(response.status)"
            return .failed(PlistFeedFailure(code: .connectionFailed, reason: reason, status: response.status))
        }
        let validators = PlistFeedValidators(
            etag: response.header("ETag"), lastModified: response.header("Last-Modified"))
        return .document(response.body, validators)
    }
}

extension PlistFeedFailure {
    init(_ error: any Error) {
        switch error {
        case TransportError.invalidAddress(let reason), ClientError.server(let reason):
            self.init(code: .cannotInitiate, reason: reason)
        case ClientError.notSignedIn: self.init(code: .cannotInitiate, reason: "nobody is signed in")
        case ClientError.refused(let refusal):
            self.init(code: .connectionFailed, reason: refusal.message, status: refusal.status)
        default: self.init(code: .connectionFailed, reason: "\(error)")
        }
    }
}
