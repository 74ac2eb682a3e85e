import SyncDevice
import SyncMessages
import WireFormats

/// The requests of `docs/protocol/sync.md`, and what their answers mean for the device.
struct SyncServer: Sendable {
    let session: Session
    let limits: SyncLimits

    func pull(_ request: PullRequest) async -> (reply: PullReply, error: ClientError?) {
        do {
            let tape = try await session.answer(to: call("pull", request.wireValue)).tape()
            return (.page(try PullPage(reading: tape)), nil)
        } catch {
            let error = ClientError(meaning: error)
            if error.endsSignIn { return (.unauthorized, error) }
            if case .refused(let refusal) = error, refusal.status == 410 { return (.fetchAgain, nil) }
            return (.unavailable, error)
        }
    }

    enum PushResult {
        case reply(PushReply, ClientError?)
        /// The client id belongs to somebody else: nothing was made, and nothing ever will be under that id.
        case clientIsForeign(ClientError)
    }

    func push(_ request: PushRequest) async -> PushResult {
        do {
            let value = try await value("push", request.wireValue)
            return .reply(.answer(try PushResponse(from: value)), nil)
        } catch {
            let error = ClientError(meaning: error)
            if error.endsSignIn { return .reply(.unauthorized, error) }
            guard case .refused(let refusal) = error else { return .reply(.unavailable, error) }
            switch refusal.status {
            case 403: return .clientIsForeign(error)
            case 410: return .reply(.fetchAgain, nil)
            case 400, 413: return .reply(.refused(refusal.code), error)
            default: return .reply(.unavailable, error)
            }
        }
    }

    /// Waits until there is something after the checkpoint, or the time is over.
    func hasNews(after checkpoint: String, collections: [String]?) async throws -> Bool {
        var query = [
            (name: "checkpoint", value: checkpoint), (name: "limit", value: "1"),
            (name: "wait", value: "\(limits.livePoll.components.seconds)"),
        ]
        if let collections { query.append((name: "collections", value: collections.joined(separator: ","))) }
        let call = ServerCall(
            path: ["sync", "v1", "live"], query: query, deadline: limits.livePoll + limits.deadline,
            largestAnswer: limits.largestAnswer)
        return try PullPage(from: try await session.value(of: call)).isNews
    }

    private func value(_ name: String, _ body: WireValue) async throws -> WireValue {
        try await session.value(of: call(name, body))
    }

    private func call(_ name: String, _ body: WireValue) -> ServerCall {
        ServerCall(
            "POST", path: ["sync", "v1", name], body: .value(body), deadline: limits.deadline,
            largestAnswer: limits.largestAnswer)
    }
}

extension ClientError {
    /// Any error of an exchange; a cancelled one got no answer.
    init(meaning error: any Error) {
        switch error {
        case let error as ClientError: self = error
        case let error as MessageError: self = .unreadableAnswer(error.description)
        case is CancellationError: self = .unreachable("cancelled")
        default: self = .unreadableAnswer("\(error)")
        }
    }

    var endsSignIn: Bool {
        switch self {
        case .notSignedIn, .signInEnded: true
        case .refused(let refusal): refusal.status == 401
        default: false
        }
    }
}
