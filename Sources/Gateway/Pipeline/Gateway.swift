import AdapterKit
import HTTPTypes
import NIOCore
import ValueTree

/// Answers one request, from its parsed target to its response. The steps are in this order:
///
/// 1. ``RouteTable`` finds the endpoint; an unknown path is 404, an unknown method 405. `OPTIONS` is answered here.
/// 2. ``Admission`` counts the request for its address (429).
/// 3. An ``Authenticator`` resolves the credential to a ``Caller``; without one the caller is anonymous (401 for an
///    invalid credential).
/// 4. ``Admission`` counts the request for its caller (429).
/// 5. The endpoint's access is checked, then the scope of an API key, then ``CSRFProtection``, then whether the
///    endpoint's adapter runs (503).
/// 6. For endpoints that write, the response format is negotiated, so that a 406 means that nothing was changed.
/// 7. ``Admission`` waits for a slot of the caller and of the adapter (503 where the queue is full).
/// 8. The endpoint runs: an operation, a mount, a resource, an account or a description.
/// 9. Conditional requests are evaluated; ``ErrorWriter`` writes errors in the caller's format; headers of CSRF, rate
///    limit and CORS are added; `HEAD` drops the body.
///
/// ``immediateResponse(to:from:at:)`` takes the same steps, without waiting, for cached and constant responses.
public final class Gateway: Sendable {
    let routes: RouteTable
    let authenticator: any Authenticator
    let csrf: CSRFProtection
    let cors: CrossOrigin
    let services: GatewayServices
    let errors: ErrorWriter
    let log: Log
    /// Names of the endpoints that change something and answer a value: for them the format is agreed upon first.
    private let negotiatedFirst: Set<String>

    init(
        routes: RouteTable, authenticator: any Authenticator, csrf: CSRFProtection, cors: CrossOrigin,
        services: GatewayServices, errors: ErrorWriter, log: Log
    ) {
        self.routes = routes
        self.authenticator = authenticator
        self.csrf = csrf
        self.cors = cors
        self.services = services
        self.errors = errors
        self.log = log
        negotiatedFirst = Set(routes.endpoints.filter(\.isNegotiatedFirst).map(\.properties.name))
    }

    /// Answers requests whose deadline has passed, until the task is cancelled. No deadline is enforced without it.
    public func keepDeadlines() async {
        await services.deadlines.sweep()
    }

    /// `known`: the caller, where the connection resolved it from memory. `match`: the route, where the connection has
    /// looked it up already.
    func respond(
        to request: GatewayRequest, from known: Caller? = nil, at match: RouteMatch? = nil
    ) async -> (response: GatewayResponse, trace: RequestTrace) {
        var trace = RequestTrace()
        var response: GatewayResponse
        switch match ?? routes.match(request.method, request.target.segments) {
        case .endpoint(let endpoint, let parameters):
            response = await respond(to: request, from: known, at: endpoint, parameters, &trace)
        case .otherMethod(let allowed):
            response = otherMethod(allowed, request)
        case .unknown:
            let error = PorticoError(.routeNotFound, "There is nothing at this path.")
            response = fail(error, request, Presentation(), at: routes.neighbour(request.target.segments))
        }
        finish(&response, for: request)
        return (response, trace)
    }

    func finish(_ response: inout GatewayResponse, for request: GatewayRequest) {
        response.headers.put(.xRequestID, request.id)
        cors.addFields(to: &response, for: request)
        if request.method == .head { response.omitBody() }
    }

    private func respond(
        to request: GatewayRequest, from known: Caller?, at endpoint: any Endpoint, _ parameters: [FieldName: String],
        _ trace: inout RequestTrace
    ) async -> GatewayResponse {
        let properties = endpoint.properties
        trace.endpoint = properties.name
        var caller = Caller.anonymous
        var response: GatewayResponse
        var failure: PorticoError?
        var rateLimit: RateLimitState?
        do {
            try services.admission.countAddress(of: request)
            if let known { caller = known } else { caller = try await authenticator.caller(of: request) }
            trace.caller = caller.principal.name
            rateLimit = services.admission.count(caller, of: request)
            if let rateLimit, rateLimit.isExceeded { throw PorticoError.tooMany(rateLimit) }
            try admit(caller, request, properties, effect: endpoint.effect(of: request))
            if properties.effect == .writes, negotiatedFirst.contains(properties.name) {
                _ = try services.encoder.choice(for: request, presentation: properties.presentation)
            }
            let slot = try await services.admission.take(caller, of: request, properties.adapter)
            defer { services.admission.leave(slot) }
            let authenticated = AuthenticatedRequest(request: request, caller: caller, parameters: parameters)
            let answer = try await CallerIdentity.$current.withValue(Admission.identity(caller, request)) {
                try await CallContext.$current.withValue(CallContext(request)) {
                    try await endpoint.respond(to: authenticated)
                }
            }
            response = try services.encoder.revalidated(answer, for: request)
        } catch {
            let known = PorticoError(unexpected: error)
            failure = known
            response = fail(known, request, properties.presentation, at: endpoint)
        }
        csrf.addFields(to: &response, for: request, caller: caller, at: properties, error: failure)
        rateLimit?.addFields(to: &response)
        return response
    }

    func admit(
        _ caller: Caller, _ request: GatewayRequest, _ properties: EndpointProperties, effect: Effect
    ) throws(PorticoError) {
        try properties.access.require(caller.principal, effect: effect)
        try caller.requireScope(effect, in: properties.adapter)
        try csrf.check(request, caller: caller, at: properties, effect: effect)
        try properties.status?.requireRunning()
    }

    private func otherMethod(_ allowed: [HTTPRequest.Method], _ request: GatewayRequest) -> GatewayResponse {
        let methods = allowed.map(\.rawValue).joined(separator: ", ")
        if request.method == .options {
            return GatewayResponse(.noContent, headers: [.allow: methods])
        }
        let error =
            request.method.isKnown
            ? PorticoError(.methodNotAllowed, "This path does not take \(request.method.rawValue).")
            : PorticoError.methodUnknown
        let segments = request.target.segments
        var response = fail(error, request, routes.presentation(segments), at: routes.endpoint(segments))
        response.headers[.allow] = methods
        return response
    }

    /// The error response to a request that is not dispatched, in the shape of the contract at its path.
    func refusal(_ error: PorticoError, of request: GatewayRequest) -> GatewayResponse {
        let segments = request.target.segments
        return fail(
            error, request, routes.presentation(segments), at: routes.endpoint(segments) ?? routes.neighbour(segments))
    }

    func fail(
        _ error: PorticoError, _ request: GatewayRequest, _ presentation: Presentation,
        at endpoint: (any Endpoint)? = nil
    ) -> GatewayResponse {
        if error.code == .loginRequired, request.isNavigation {
            return .redirectToSignIn(from: request)
        }
        var response =
            endpoint?.errorResponse(error, for: request)
            ?? errors.write(error, for: request, presentation: presentation)
        response.refusal = AccessRecord.Refusal(error)
        if error.code.status == .unauthorized { authenticator.challenge(&response) }
        if error.code == .unsupportedMediaType { response.headers[.accept] = services.bodies.acceptedTypes }
        if error.code == .requestTooLarge { response.closesConnection = true }
        // No error line for overload: the access log has it, and a second line for each refused request would add load.
        // A cancelled request whose client has gone is no error of the gateway either.
        let isAbandoned = error.code == .deadlineExceeded && Task.isCancelled && .now < request.deadline
        if error.code.status.code >= 500, error.code != .overloaded, !isAbandoned {
            log.error(
                "request failed",
                [
                    "requestId": .text(request.id), "code": .text(error.code.rawValue),
                    "detail": .text(error.logDetail ?? error.message),
                ])
        }
        return response
    }
}

extension HTTPRequest.Method {
    /// The methods of IANA's registry that HTTP itself and its extensions for searching and authoring define, and MERGE,
    /// which is of OData 2.
    private static let known: Set<String> = [
        "GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH", "QUERY", "SEARCH", "REPORT",
        "LINK",
        "UNLINK", "COPY", "MOVE", "LOCK", "UNLOCK", "MKCOL", "PROPFIND", "PROPPATCH", "ACL", "MERGE",
    ]

    /// Whether a path that does not take it answers 405; other methods are answered 501 (RFC 9110, section 9.1).
    fileprivate var isKnown: Bool { Self.known.contains(rawValue) }
}

/// What the access log says about a request beyond its line and status.
struct RequestTrace: Sendable {
    var endpoint = "-"
    var caller = ""
}

extension PorticoError {
    /// Converts any thrown error to one that may be shown to a caller.
    init(unexpected error: any Error) {
        if let known = error as? PorticoError {
            self = known
        } else if let failure = error as? UpstreamFailure {
            self = failure.asError
        } else if error is CancellationError {
            self.init(.deadlineExceeded, "The request took too long.")
        } else {
            self.init(.serverInternal, "Something went wrong on the server.", logDetail: "\(error)")
        }
    }
}

extension CallContext {
    init(_ request: GatewayRequest) {
        self.init(
            deadline: request.deadline, requestID: request.id, traceParent: request.headers[.traceParent],
            traceState: request.headers[.traceState])
    }
}

extension GatewayResponse {
    /// The headers of a full answer, its length included, without the body (RFC 9110, section 9.3.2).
    mutating func omitBody() {
        stream?.end()
        // Without a length the encoder would announce pieces; the connection's end says as well that there are none.
        closesConnection = closesConnection || (stream != nil && headers[.contentLength] == nil)
        if stream == nil { headers[.contentLength] = String(buffer.readableBytes) }
        stream = nil
        buffer.clear()
    }
}

extension HTTPField.Name {
    static let xRequestID = HTTPField.Name("X-Request-ID")!
    static let traceParent = HTTPField.Name("traceparent")!
    static let traceState = HTTPField.Name("tracestate")!
}

extension Gateway {
    /// The response where nothing has to be waited for: the caller is in memory and the response is cached or constant.
    /// Takes the same steps in the same order as ``respond(to:from:at:)``. Nil for every other request and for every
    /// failure, which that method handles.
    func immediateResponse(to request: GatewayRequest, from caller: Caller, at match: RouteMatch) -> ImmediateResponse?
    {
        guard case .endpoint(let endpoint, let parameters) = match, endpoint.mayRespondImmediately else { return nil }
        let properties = endpoint.properties
        guard (try? admit(caller, request, properties, effect: properties.effect)) != nil,
            let kept = endpoint.immediateResponse(
                to: AuthenticatedRequest(request: request, caller: caller, parameters: parameters)),
            services.encoder.isWanted(kept.response, for: request)
        else { return nil }
        guard (try? services.admission.countAddress(of: request)) != nil else { return nil }
        let rateLimit = services.admission.count(caller, of: request)
        guard rateLimit?.isExceeded != true else { return nil }
        // What is added to an empty response comes after the kept answer's fields.
        var own = GatewayResponse(kept.response.status)
        csrf.addFields(to: &own, for: request, caller: caller, at: properties, error: nil)
        rateLimit?.addFields(to: &own)
        cors.addFields(to: &own, for: request)
        return ImmediateResponse(
            kept: kept, isUnchanged: services.encoder.isUnchanged(kept.response, for: request),
            isForHead: request.method == .head, fields: own.headers,
            trace: RequestTrace(endpoint: properties.name, caller: caller.principal.name))
    }
}

/// A cached or constant response to one request.
struct ImmediateResponse {
    let kept: CachedResponse
    /// The caller has the answer already.
    let isUnchanged: Bool
    let isForHead: Bool
    /// Fields of this sending alone.
    let fields: HTTPFields
    let trace: RequestTrace

    var head: ByteBuffer { isUnchanged ? kept.unchangedHead ?? kept.head : kept.head }
    var sendsBody: Bool { !isUnchanged && !isForHead }
    var status: Int { isUnchanged ? HTTPResponse.Status.notModified.code : kept.response.status.code }
    var bytes: Int { sendsBody ? kept.response.buffer.readableBytes : 0 }
}
