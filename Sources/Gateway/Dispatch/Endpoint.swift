import AdapterKit

/// What answers requests of one route.
///
/// An endpoint is never asked before the caller is known and the access has been checked: it receives an
/// ``AuthenticatedRequest``, and only ``Gateway`` makes one.
protocol Endpoint: Sendable {
    var properties: EndpointProperties { get }

    var description: EndpointDescription { get }

    /// Throws ``PorticoError`` for what the caller should learn.
    func respond(to request: AuthenticatedRequest) async throws -> GatewayResponse

    /// What this request does, where it is not the same for all of them.
    func effect(of request: GatewayRequest) -> Effect

    /// A failure in the shape of the endpoint's contract; nil: in the gateway's.
    func errorResponse(_ error: PorticoError, for request: GatewayRequest) -> GatewayResponse?

    /// Whether ``immediateResponse(to:)`` ever answers: asked first, because the caller is looked for after it.
    var mayRespondImmediately: Bool { get }

    /// The whole answer of ``respond(to:)`` where that takes no wait: it is constant or kept. Runs on an event loop.
    func immediateResponse(to request: AuthenticatedRequest) -> CachedResponse?
}

extension Endpoint {
    func effect(of request: GatewayRequest) -> Effect { properties.effect }

    func errorResponse(_ error: PorticoError, for request: GatewayRequest) -> GatewayResponse? { nil }

    var mayRespondImmediately: Bool { false }

    func immediateResponse(to request: AuthenticatedRequest) -> CachedResponse? { nil }

    var isNegotiatedFirst: Bool {
        properties.effect == .writes
            && description.answers.contains { if case .value = $0.answer { true } else { false } }
    }
}

/// What the gateway decides and writes on an endpoint's behalf. Made once for each endpoint, and only referred to.
final class EndpointProperties: Sendable {
    /// For logs and metrics: `users.list`, `notes.notes.create`.
    let name: String
    let access: Access
    let effect: Effect
    /// The adapter that it belongs to; nil for the gateway's own.
    let adapter: AdapterName?
    let presentation: Presentation
    /// The largest body that is read; nil: the gateway's.
    let bodyLimit: Int?
    /// Whether that adapter can be called.
    let status: AdapterStatus?
    /// Whether writes need a token of the caller even without a session cookie (``HTTPMount/requiresToken``).
    let requiresToken: Bool

    init(
        name: String, access: Access, effect: Effect, adapter: AdapterName? = nil, status: AdapterStatus? = nil,
        presentation: Presentation = Presentation(), bodyLimit: Int? = nil, requiresToken: Bool = false
    ) {
        self.name = name
        self.access = access
        self.effect = effect
        self.adapter = adapter
        self.status = status
        self.presentation = presentation
        self.bodyLimit = bodyLimit
        self.requiresToken = requiresToken
    }
}

/// A request whose caller is known (an anonymous one counts as known) and may call this endpoint.
struct AuthenticatedRequest: Sendable {
    let request: GatewayRequest
    let caller: Caller
    let parameters: [FieldName: String]
}
