import AdapterKit
import HTTPTypes
import NIOCore
import ValueTree

/// The way of a request, from its target to its response: every boundary once, in order.
///
/// 1. ``RouteTable`` finds the endpoint, or says 404 or 405; `OPTIONS` is answered here.
/// 2. An ``Authenticator`` makes a caller out of the credentials; an anonymous one is a caller too.
/// 3. The endpoint's access is asked, then ``CSRFProtection`` about writes that a browser may have been tricked into, then
///    whether the endpoint's adapter runs. The format of a write's answer is negotiated here: a 406 says that nothing
///    was done.
/// 4. The endpoint answers: an operation, a resource, an account, a description.
/// 5. ``ErrorWriter`` writes what failed, in the caller's format; conditional requests and `HEAD` are settled last.
public final class Gateway: Sendable {
    let routes: RouteTable
    let authenticator: any Authenticator
    let guardian: CSRFProtection
    let cors: CrossOrigin
    let services: GatewayServices
    let errors: ErrorWriter
    let log: Log
    /// Names of the endpoints that change something and answer a value: for them the format is agreed upon first.
    private let negotiatedFirst: Set<String>

    init(
        routes: RouteTable, authenticator: any Authenticator, guardian: CSRFProtection, cors: CrossOrigin,
        services: GatewayServices, errors: ErrorWriter, log: Log
    ) {
        self.routes = routes
        self.authenticator = authenticator
        self.guardian = guardian
        self.cors = cors
        self.services = services
        self.errors = errors
        self.log = log
        negotiatedFirst = Set(routes.endpoints.filter(\.isNegotiatedFirst).map(\.properties.name))
    }

    /// Answers for work that takes too long, until it is cancelled. Without it no deadline is kept.
    public func keepDeadlines() async {
        await services.deadlines.sweep()
    }

    /// `known`: the caller, where memory has told already who it is; `match`: where the address leads, where that is known.
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
        cors.label(&response, for: request)
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
        var standing: RateLimitState?
        do {
            try services.admission.countAddress(of: request)
            if let known { caller = known } else { caller = try await authenticator.caller(of: request) }
            trace.caller = caller.principal.name
            standing = services.admission.count(caller, of: request)
            if let standing, standing.isExceeded { throw PorticoError.tooMany(standing) }
            try admit(caller, request, properties, effect: endpoint.effect(of: request))
            if properties.effect == .writes, negotiatedFirst.contains(properties.name) {
                _ = try services.answers.choice(for: request, presentation: properties.presentation)
            }
            let place = try await services.admission.take(caller, of: request, properties.adapter)
            defer { services.admission.leave(place) }
            let authenticated = AuthenticatedRequest(request: request, caller: caller, parameters: parameters)
            let answer = try await CallerIdentity.$current.withValue(Admission.identity(caller, request)) {
                try await endpoint.respond(to: authenticated)
            }
            response = try services.answers.revalidated(answer, for: request)
        } catch {
            let known = PorticoError(unexpected: error)
            failure = known
            response = fail(known, request, properties.presentation, at: endpoint)
        }
        guardian.label(&response, for: request, caller: caller, at: properties, error: failure)
        standing?.label(&response)
        return response
    }

    func admit(
        _ caller: Caller, _ request: GatewayRequest, _ properties: EndpointProperties, effect: Effect
    ) throws(PorticoError) {
        try properties.access.require(caller.principal, effect: effect)
        try caller.requireScope(effect, in: properties.adapter)
        try guardian.check(request, caller: caller, at: properties, effect: effect)
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
        // The access log names whoever found no room; one line more for each would be work when there is too much.
        // Nor is it the gateway's error that a caller has gone and its work is cancelled before the deadline.
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
    private static let known: Set<HTTPRequest.Method> = [
        .get, .head, .post, .put, .delete, .connect, .options, .trace, .patch,
    ]

    /// Whether a path that does not take it answers 405; other methods are answered 501 (RFC 9110, section 9.1). MERGE is
    /// of OData 2.
    fileprivate var isKnown: Bool { Self.known.contains(self) || rawValue == "MERGE" }
}

/// What the access log says about a request beyond its line and status.
struct RequestTrace: Sendable {
    var endpoint = "-"
    var caller = ""
}

extension PorticoError {
    /// Whatever was thrown, as something that may be shown.
    init(unexpected error: any Error) {
        if let known = error as? PorticoError {
            self = known
        } else if error is CancellationError {
            self.init(.deadlineExceeded, "The request took too long.")
        } else {
            self.init(.serverInternal, "Something went wrong on the server.", logDetail: "\(error)")
        }
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
}
