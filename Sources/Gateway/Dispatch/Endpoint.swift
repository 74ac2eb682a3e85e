import AdapterKit
import HTTPTypes
import Identity
import MirrorEngine
import Synchronization

/// Answers the requests of one route.
///
/// ``Gateway`` calls it after the caller is known and access is checked: it receives an ``AuthenticatedRequest``, which
/// only ``Gateway`` creates. The caller may be anonymous.
protocol Endpoint: Sendable {
    var properties: EndpointProperties { get }

    var description: EndpointDescription { get }

    /// Throws ``PorticoError`` for what the caller should learn.
    func respond(to request: AuthenticatedRequest) async throws -> GatewayResponse

    /// The mirrors that the answer to this request is made of, among those of its properties.
    func mirrors(of request: AuthenticatedRequest) -> ReadMirrors

    /// Whether the endpoint itself may refuse the caller. Mirrors are asked for the caller's sake when it reads records
    /// (``AuthenticatedRequest/mirrors``), otherwise before it is asked.
    var decidesItself: Bool { get }

    /// What this request does, where it is not the same for all of them.
    func effect(of request: GatewayRequest) -> Effect

    /// What its requests of a method do, where it is not the same for all methods; for descriptions.
    func effect(of method: HTTPRequest.Method) -> Effect

    /// A failure in the shape of the endpoint's contract; nil: in the gateway's.
    func errorResponse(_ error: PorticoError, for request: GatewayRequest) -> GatewayResponse?

    /// As ``errorResponse(_:for:)``, where that has to be waited for; nil: it has not.
    func awaitedErrorResponse(
        _ error: PorticoError, for request: GatewayRequest
    ) -> (@Sendable () async -> GatewayResponse?)?

    /// Whether ``lookUpResponse(to:)`` ever finds one.
    var mayRespondImmediately: Bool { get }

    /// The whole answer of ``respond(to:)`` where that takes no wait: it is constant or kept. Runs on an event loop.
    func lookUpResponse(to request: AuthenticatedRequest) -> CacheLookup
}

/// What a look-up without waiting found.
enum CacheLookup: Sendable {
    case found(CachedResponse)
    /// The key under which the answer will be kept; nil where it cannot be known yet.
    case missing(ResponseCache.Key?)
}

extension Endpoint {
    func mirrors(of request: AuthenticatedRequest) -> ReadMirrors { properties.mirrors }

    var decidesItself: Bool { false }

    func effect(of request: GatewayRequest) -> Effect { properties.effect }

    func effect(of method: HTTPRequest.Method) -> Effect { properties.effect }

    func errorResponse(_ error: PorticoError, for request: GatewayRequest) -> GatewayResponse? { nil }

    func awaitedErrorResponse(
        _ error: PorticoError, for request: GatewayRequest
    ) -> (@Sendable () async -> GatewayResponse?)? { nil }

    var mayRespondImmediately: Bool { false }

    func lookUpResponse(to request: AuthenticatedRequest) -> CacheLookup { .missing(nil) }

    var isNegotiatedFirst: Bool {
        properties.effect == .writes
            && description.answers.contains { if case .value = $0.answer { true } else { false } }
    }
}

/// What the gateway decides and writes on an endpoint's behalf. Made once for each endpoint, and only referred to.
final class EndpointProperties: Sendable {
    /// For logs and metrics: `users.list`, `notes.notes.create`.
    let name: String
    /// Who may call.
    let access: EndpointAccess
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
    /// The mirrors that answers to reads are made of.
    let mirrors: ReadMirrors
    /// Where its requests are counted; set once by the ``Gateway`` that serves it.
    let instruments = AtomicLazyReference<RequestInstruments>()
    /// What an operator needs to be; nil at the public listener, where there are none.
    let adminRole: AdminRole?
    /// Whether who signed in at the console shows the password again for it.
    let isConfirmed: Bool
    /// Whether another generation of gateways waits for requests that are under way (``RequestsUnderWay``). One that makes
    /// the other generation itself waits for that, and must not be waited for by it.
    let isAwaited: Bool
    /// Whether what it did stands in the audit log. A part of what another endpoint began and ends does not; what is
    /// refused always does.
    let isAudited: Bool
    /// Whether its requests consist of calls, each a request of its own.
    let hasCalls: Bool
    /// What its requests read or change, for those who may not: an entity. Nil: it is called.
    let subject: String?
    /// Why no caller may write here, as a sentence for those who try; nil: it depends on the caller.
    let writeRefusal: String?

    init(
        name: String, access: EndpointAccess, effect: Effect, adapter: AdapterName? = nil, status: AdapterStatus? = nil,
        presentation: Presentation = Presentation(), bodyLimit: Int? = nil, requiresToken: Bool = false,
        mirrors: ReadMirrors = ReadMirrors(), adminRole: AdminRole? = nil, isConfirmed: Bool = false,
        isAwaited: Bool = true,
        isAudited: Bool = true, hasCalls: Bool = false, subject: String? = nil, writeRefusal: String? = nil
    ) {
        self.name = name
        self.access = access
        self.effect = effect
        self.adapter = adapter
        self.status = status
        self.presentation = presentation
        self.bodyLimit = bodyLimit
        self.requiresToken = requiresToken
        self.mirrors = mirrors
        self.adminRole = adminRole
        self.isConfirmed = isConfirmed
        self.isAwaited = isAwaited
        self.isAudited = isAudited
        self.hasCalls = hasCalls
        self.subject = subject
        self.writeRefusal = writeRefusal
    }

    /// Which right a caller lacks who may not make a request of this effect.
    func refusal(of effect: Effect) -> String {
        if effect == .writes, let writeRefusal { return writeRefusal }
        guard let subject else { return "You may not call \(name)." }
        return "You may not \(effect == .reads ? "read" : "change") \(subject)."
    }
}

/// Who may call an endpoint, by what a request does. All of the accesses hold.
struct EndpointAccess: Sendable, Equatable {
    let reads: [Access]
    let writes: [Access]

    init(reads: [Access], writes: [Access]) {
        (self.reads, self.writes) = (reads, writes)
    }

    /// Those who may, whatever a request does.
    init(_ accesses: [Access]) { self.init(reads: accesses, writes: accesses) }

    /// Every caller.
    static let `public` = EndpointAccess([])
    /// Every caller with a login.
    static let login = EndpointAccess([.login])

    subscript(effect: Effect) -> [Access] { effect == .reads ? reads : writes }

    /// Throws `auth.required` or `access.denied` unless the principal may call.
    func require(_ principal: Principal, effect: Effect) throws(PorticoError) {
        for access in self[effect] { try access.authorize(principal) }
    }

    /// Whether a caller without a login may call.
    func isPublic(_ effect: Effect) -> Bool { self[effect].allSatisfy { $0 == .public } }
}

/// A request whose caller is known (an anonymous one counts as known) and may call this endpoint.
struct AuthenticatedRequest: Sendable {
    let request: GatewayRequest
    let caller: Caller
    let parameters: [FieldName: String]
    /// Of the response that admission has not found in the cache; nil where it did not look.
    var cacheKey: ResponseCache.Key?
    /// Those that are asked before records are read; nil: they have been, or there are none.
    var mirrors: MirrorReading?
}

/// What an endpoint takes and answers: the source of every description, and of nothing else.
struct EndpointDescription: Sendable {
    struct Parameter: Sendable {
        enum Location: String, Sendable {
            case path
            case query
            case header
        }

        let name: String
        let location: Location
        let shape: Shape
        let isRequired: Bool
        let summary: String
        /// Of one that many routes have alike: what descriptions, which have it once, call it.
        var sharedName: String?
    }

    enum Answer: Sendable {
        case nothing
        case value(Shape)
        /// Bytes of one type, no format negotiated.
        case document(mediaType: String)
    }

    let summary: String
    let tag: String
    var parameters: [Parameter] = []
    var body: ObjectShape?
    /// Whether a request without a body is an error; otherwise it means a body without members.
    var needsBody = true
    /// Successful statuses and what comes with them. One status may have several: of other media types.
    var answers: [(status: HTTPResponse.Status, answer: Answer)] = [(.ok, .value(.any))]
    /// Whether a record that is answered has an `ETag`.
    var tagsAnswers = false
    /// Beyond those that every endpoint of its kind may answer.
    var errors: Set<ErrorCode> = []
    /// The type of failures in a shape of the endpoint's own; nil: the gateway's shape.
    var ownFailures: String?
    /// Whether others of its kind have the same failures, so that descriptions have them once.
    var areFailuresOfKind = false
    /// What the endpoint itself asks for beyond its properties; of an effect that is not there it is not said.
    var access: EndpointAccess?
    /// Whether the operation looks at the caller itself, where an anonymous one is not refused before.
    var isDecidedByOperation = false
}

extension EndpointDescription.Parameter {
    static func path(_ name: String, _ shape: Shape = .string, _ summary: String = "") -> Self {
        .init(name: name, location: .path, shape: shape, isRequired: true, summary: summary)
    }

    static func query(_ name: String, _ shape: Shape, _ summary: String, isRequired: Bool = false) -> Self {
        .init(name: name, location: .query, shape: shape, isRequired: isRequired, summary: summary)
    }

    static func header(_ name: String, _ summary: String) -> Self {
        .init(name: name, location: .header, shape: .string, isRequired: false, summary: summary)
    }
}

/// The header fields of conditional requests (RFC 9110, section 13).
extension EndpointDescription.Parameter {
    static let ifMatch = shared("IfMatch", "If-Match", "The `ETag` that the record must still have; otherwise 412.")
    static let ifAbsent = shared("IfAbsent", "If-None-Match", "`*`: the record must not be there; otherwise 412.")
    static let ifChanged = shared("IfChanged", "If-None-Match", "The `ETag` that one has: 304 where it is still that.")

    private static func shared(_ name: String, _ field: String, _ summary: String) -> Self {
        header(field, summary).shared(as: name)
    }

    /// The same, which descriptions have once for all routes.
    func shared(as name: String) -> Self {
        var parameter = self
        parameter.sharedName = name
        return parameter
    }
}
