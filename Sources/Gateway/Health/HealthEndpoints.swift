import AdapterKit
import HTTPTypes
import SyncEngine
import Synchronization

/// Whether the gateway should get requests: from the moment everything runs until the stop begins.
public final class Readiness: Sendable {
    private let ready = Atomic<Bool>(false)

    public init() {}

    public var isReady: Bool {
        get { ready.load(ordering: .relaxed) }
        set { ready.store(newValue, ordering: .relaxed) }
    }
}

/// `GET /health/live`: the process answers.
struct LiveEndpoint: Endpoint {
    let properties = EndpointProperties(name: "health.live", access: .public, effect: .reads)
    let description = EndpointDescription(
        summary: "Whether the process answers.", tag: "Health",
        answers: [(.ok, .document(mediaType: "application/json"))])

    func respond(to request: AuthenticatedRequest) async throws -> GatewayResponse {
        Self.live.response
    }

    var mayAnswerAtHand: Bool { true }

    func answerAtHand(to request: AuthenticatedRequest) -> KeptAnswer? { Self.live }

    private static let live = KeptAnswer(.health(.ok, "live"))
}

/// `GET /health/ready`: requests are welcome.
struct ReadyEndpoint: Endpoint {
    let readiness: Readiness
    let properties = EndpointProperties(name: "health.ready", access: .public, effect: .reads)
    let description = EndpointDescription(
        summary: "Whether requests are welcome.", tag: "Health",
        answers: [
            (.ok, .document(mediaType: "application/json")),
            (.serviceUnavailable, .document(mediaType: "application/json")),
        ])

    func respond(to request: AuthenticatedRequest) async throws -> GatewayResponse {
        current.response
    }

    var mayAnswerAtHand: Bool { true }

    func answerAtHand(to request: AuthenticatedRequest) -> KeptAnswer? { current }

    private var current: KeptAnswer { readiness.isReady ? Self.ready : Self.notReady }

    private static let ready = KeptAnswer(.health(.ok, "ready"))
    private static let notReady = KeptAnswer(.health(.serviceUnavailable, "not ready"))
}

extension GatewayResponse {
    fileprivate static func health(_ status: HTTPResponse.Status, _ word: StaticString) -> GatewayResponse {
        GatewayResponse(
            status, headers: [.contentType: "application/json", .cacheControl: "no-store"],
            body: Array("{\"status\":\"\(word)\"}".utf8))
    }
}
