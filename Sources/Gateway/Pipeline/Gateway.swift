import AdapterKit
import HTTPServer
import HTTPTypes
import Identity
import MirrorEngine
import NIOCore
import Synchronization
import Telemetry
import Tracing
import ValueTree

/// Answers requests, each from its parsed target to its response. ``admit(_:)`` takes these steps, in this order, for every
/// request of every listener and for every call of a batch, each step once:
///
/// 1. ``RequestQuotas`` counts the request for its address (429).
/// 2. ``RouteTable`` finds the endpoint; an unknown path is 404, an unknown method 405. `OPTIONS` is answered here.
/// 3. An ``Authenticator`` resolves the credential to a ``Caller``; without one the caller is anonymous (401 for an
///    invalid credential).
/// 4. ``RequestQuotas`` counts the request for its caller (429).
/// 5. The endpoint's access is checked, then the scope of an API key, then ``CSRFProtection``, then whether the
///    endpoint's adapter runs (503).
/// 6. For endpoints that write, the response format is negotiated, so that a 406 means that nothing was changed.
/// 7. A cached or constant response is taken, unless it is made of mirrored rows that are not fresh.
///
/// None of them waits. A credential that memory does not know interrupts them after step 2; ``complete(_:)`` looks it up
/// and goes on at step 4. What no step has answered, ``complete(_:)`` runs:
///
/// 8. ``reserve(_:)`` takes a place of the caller and of the adapter, or one in their queue (503 where that is full), before
///    anything is waited for. The request waits in the queue. From here on its work takes turns with that of other accounts
///    (``ProcessorShares``).
/// 9. Rows of mirrors that are not fresh are refreshed or waited for. The endpoint runs: an operation, a mount, a
///    resource, an account or a description.
/// 10. Conditional requests are evaluated; ``ErrorWriter`` writes errors in the caller's format; headers of CSRF, rate
///     limit and CORS are added; `HEAD` drops the body.
public final class Gateway: Sendable {
    let routes: RouteTable
    let authenticator: any Authenticator
    let csrf: CSRFProtection
    let cors: CrossOrigin
    let services: GatewayServices
    let errors: ErrorWriter
    let log: Log
    /// Whether the operators' console is among its routes.
    var hasConsole: Bool { csrf.console != nil }
    /// Whether ``ErrorCodePages`` are among its routes.
    private let explainsErrors: Bool
    /// Names of the endpoints that change something and answer a value: for them the format is agreed upon first.
    private let negotiatedFirst: Set<String>
    /// What answers the requests of its listener by now: another gateway once the configuration has changed.
    private let current: GatewayReference
    /// What is to be done when it becomes that.
    private let beginning = Mutex<Beginning?>(nil)
    /// Of its routes, which have it.
    private let description: DeferredValue<OpenAPIDocuments>?

    /// `old`: the one whose place this one takes.
    init(
        routes: RouteTable, authenticator: any Authenticator, csrf: CSRFProtection, cors: CrossOrigin,
        services: GatewayServices, errors: ErrorWriter, log: Log, explainsErrors: Bool = false,
        description: DeferredValue<OpenAPIDocuments>? = nil, succeeding old: Gateway? = nil
    ) {
        self.description = description
        current = old?.current ?? GatewayReference()
        self.routes = routes
        self.authenticator = authenticator
        self.csrf = csrf
        self.cors = cors
        self.services = services
        self.errors = errors
        self.log = log
        self.explainsErrors = explainsErrors
        for endpoint in routes.endpoints {
            let properties = endpoint.properties
            _ = properties.instruments.storeIfNil(
                RequestInstruments(
                    adapter: properties.adapter, operation: properties.name, in: services.metrics.factory))
        }
        negotiatedFirst = Set(routes.endpoints.filter(\.isNegotiatedFirst).map(\.properties.name))
    }

    deinit { description?.clear() }

    /// Answers requests whose deadline has passed, until the task is cancelled. No deadline is enforced without it.
    public func keepDeadlines() async {
        await services.deadlines.sweep()
    }

    func respond(to request: GatewayRequest) async -> GatewayAnswer { await complete(admit(request)) }

    /// Steps 1 to 7. Does not wait.
    func admit(_ request: GatewayRequest) -> AdmissionStep {
        do {
            try services.quotas.countAddress(of: request)
        } catch {
            return .answered(finish(errorResponse(error, of: request), to: request))
        }
        switch routes.match(request.method, request.target.segments) {
        case .endpoint(let endpoint, let parameters):
            let admission = PendingAdmission(request: request, endpoint: endpoint, parameters: parameters)
            guard let caller = authenticator.immediateCaller(of: request) else { return .needsCaller(admission) }
            return admit(admission, from: caller)
        case .otherMethod(let allowed):
            return .answered(finish(otherMethodResponse(allowed, request), to: request))
        case .unknown:
            let error = PorticoError(.routeNotFound, "There is nothing at this path.")
            return .answered(
                finish(
                    errorResponse(error, request, Presentation(), at: routes.neighbour(request.target.segments)),
                    to: request))
        }
    }

    /// Steps 4 to 7.
    private func admit(_ admission: PendingAdmission, from caller: Caller) -> AdmissionStep {
        let (request, endpoint) = (admission.request, admission.endpoint)
        let properties = endpoint.properties
        var admitted = AdmittedRequest(
            request: AuthenticatedRequest(request: request, caller: caller, parameters: admission.parameters),
            endpoint: endpoint, rateLimit: services.quotas.count(caller, of: request))
        do {
            if let rateLimit = admitted.rateLimit, rateLimit.isExceeded { throw PorticoError.tooMany(rateLimit) }
            let effect = endpoint.effect(of: request)
            try Self.authorize(caller, effect, at: properties)
            try csrf.check(request, caller: caller, at: properties, effect: effect)
            try properties.status?.requireRunning()
            if properties.effect == .writes, negotiatedFirst.contains(properties.name) {
                _ = try services.encoder.choice(for: request, presentation: properties.presentation)
            }
        } catch {
            return .answered(errorAnswer(PorticoError(unexpected: error), admitted))
        }
        guard endpoint.mayRespondImmediately else { return .needsEndpoint(admitted) }
        let mirrors = endpoint.mirrors(of: admitted.request)
        if !mirrors.isEmpty {
            // Rows that are not fresh have to be waited for.
            guard let age = mirrors.freshAge() else { return .needsEndpoint(admitted) }
            admitted.age = age
        }
        switch endpoint.lookUpResponse(to: admitted.request) {
        case .found(let kept):
            guard services.encoder.isWanted(kept.response, for: request) else { return .needsEndpoint(admitted) }
            return .answered(cachedAnswer(kept, admitted))
        case .missing(let key):
            admitted.request.cacheKey = key
            return .needsEndpoint(admitted)
        }
    }

    private static func authorize(
        _ caller: Caller, _ effect: Effect, at properties: EndpointProperties
    ) throws(PorticoError) {
        do {
            try properties.access.require(caller.principal, effect: effect)
        } catch  where error.code == .accessDenied {
            throw PorticoError(.accessDenied, properties.refusal(of: effect))
        }
        try caller.requireRole(properties.adminRole)
        try caller.requireScope(effect, in: properties.adapter)
    }

    /// From now on its listener's requests are answered by it.
    func becomeCurrent() {
        current.set(self)
        beginning.withLock { beginning in
            defer { beginning = nil }
            return beginning
        }?.run()
    }

    func whenCurrent(_ body: @escaping @Sendable () -> Void) { beginning.withLock { $0 = Beginning(run: body) } }

    private struct Beginning {
        let run: @Sendable () -> Void
    }

    /// Whether `caller` may do still what it asked for, by the configuration of now.
    private func confirm(_ caller: Caller, for request: GatewayRequest) async throws {
        guard case .endpoint(let endpoint, _) = routes.match(request.method, request.target.segments) else {
            throw PorticoError(.routeNotFound, "There is nothing at this path any more.")
        }
        let now = try await authenticator.caller(of: request)
        guard now.principal.id == caller.principal.id else {
            throw PorticoError(.credentialsInvalid, "The credential is not valid any more.")
        }
        try Self.authorize(now, endpoint.effect(of: request), at: endpoint.properties)
        // Row rules would go by the roles that the caller had.
        guard now.principal.roles == caller.principal.roles else {
            throw PorticoError(.accessDenied, "The caller's roles changed while the request came. Send it again.")
        }
    }

    /// Gives a request that needs its endpoint a place, or answers that there is none. Does not wait, so that requests beyond
    /// an account's share hold nothing that others need. ``complete(_:)`` leaves the place.
    func reserve(_ step: AdmissionStep) -> AdmissionStep {
        guard case .needsEndpoint(var admitted) = step, admitted.place == nil else { return step }
        let (request, endpoint) = (admitted.request, admitted.endpoint.properties)
        do {
            admitted.place = try services.quotas.reserve(
                request.caller, of: request.request, adapter: endpoint.adapter, isBatch: endpoint.hasCalls)
        } catch {
            return .answered(errorAnswer(error, admitted))
        }
        return .needsEndpoint(admitted)
    }

    /// What ``admit(_:)`` has not answered, or not in its shape.
    func complete(_ step: AdmissionStep) async -> GatewayAnswer {
        var answer = await respond(to: step)
        guard case .whole(var response) = answer.content, let shape = response.awaitedShape else { return answer }
        response.awaitedShape = nil
        answer.content = .whole(await shape().map { response.taking($0) } ?? response)
        return answer
    }

    private func respond(to step: AdmissionStep) async -> GatewayAnswer {
        switch step {
        case .answered(let answer): return answer
        case .needsEndpoint(let admitted):
            guard let place = admitted.place else { return await respond(to: reserve(step)) }
            return await run(admitted, at: place)
        case .needsCaller(let admission):
            do {
                let caller = try await caller(of: admission.request)
                // A request that is refused does not wait behind those of its account.
                let step = reserve(admit(admission, from: caller))
                return await withTaskExecutorPreference(executor(for: caller, admission.request)) {
                    await respond(to: step)
                }
            } catch {
                let anonymous = AuthenticatedRequest(
                    request: admission.request, caller: .anonymous, parameters: admission.parameters)
                return errorAnswer(
                    PorticoError(unexpected: error), AdmittedRequest(request: anonymous, endpoint: admission.endpoint))
            }
        }
    }

    /// Where the work of a request runs, in turns by account; nil: not known before its caller is looked up.
    func executor(for step: AdmissionStep) -> AccountExecutor? {
        guard case .needsEndpoint(let admitted) = step else { return nil }
        return executor(for: admitted.request.caller, admitted.request.request)
    }

    private func executor(for caller: Caller, _ request: GatewayRequest) -> AccountExecutor {
        services.processor.executor(for: RequestQuotas.identity(caller, request))
    }

    /// Who memory does not know. A step of the request where its steps are measured.
    private func caller(of request: GatewayRequest) async throws -> Caller {
        guard !request.isPartOfBatch, let timeline = services.tracing.timeline(for: request.place) else {
            return try await authenticator.caller(of: request)
        }
        return try await RequestTimeline.$current.withValue(request.timeline.storeIfNil(timeline)) {
            try await ServiceContext.withValue(services.tracing.context(of: request.place) ?? .topLevel) {
                try await RequestTimeline.measure(.identity, "identity") {
                    try await authenticator.caller(of: request)
                }
            }
        }
    }

    /// Steps 8 to 10.
    private func run(_ admitted: AdmittedRequest, at place: RequestQuotas.Place) async -> GatewayAnswer {
        let request = admitted.request.request
        if admitted.request.caller.isIdentified,
            request.body.isWaitedFor || admitted.endpoint.effect(of: request) == .writes
        {
            let caller = admitted.request.caller
            _ = request.confirmation.storeIfNil(
                RequestConfirmation { request in
                    try await (self.current.gateway ?? self).confirm(caller, for: request)
                })
        }
        // The calls of a batch are steps of the batch.
        guard !request.isPartOfBatch,
            let timeline = request.timeline.load() ?? services.tracing.timeline(for: request.place)
        else { return await dispatch(admitted, at: place) }
        _ = request.timeline.storeIfNil(timeline)
        return await RequestTimeline.$current.withValue(timeline) {
            guard let context = services.tracing.context(of: request.place) else {
                return await dispatch(admitted, at: place)
            }
            return await ServiceContext.withValue(context) { await dispatch(admitted, at: place) }
        }
    }

    private func dispatch(_ admitted: AdmittedRequest, at place: RequestQuotas.Place) async -> GatewayAnswer {
        let (request, caller) = (admitted.request.request, admitted.request.caller)
        do {
            try await RequestTimeline.measure(.queue, "queue") { try await services.quotas.wait(for: place) }
            defer { services.quotas.leave(place) }
            let (answer, age) = try await CallerIdentity.$current.withValue(RequestQuotas.identity(caller, request)) {
                try await CallContext.$current.withValue(CallContext(request, of: caller)) {
                    try await respond(to: admitted)
                }
            }
            var response = try services.encoder.revalidated(answer, for: request)
            age?.addFields(to: &response)
            await audit(admitted, answer.result.rawValue)
            return finish(response, admitted, nil)
        } catch {
            let error = PorticoError(unexpected: error)
            await audit(admitted, error.code.rawValue, error)
            return errorAnswer(error, admitted)
        }
    }

    /// Who changed what from where, at the listeners of operators. What was done is done, so a failure is logged.
    private func audit(_ admitted: AdmittedRequest, _ result: String, _ error: PorticoError? = nil) async {
        let request = admitted.request
        guard let record = services.audit, request.caller.isIdentified,
            admitted.endpoint.effect(of: request.request) == .writes,
            error != nil || admitted.endpoint.properties.isAudited
        else { return }
        // What does not exist may be anything that was typed.
        let isNamed = error.map { AdministrationResult.codesOfKnownThings.contains($0.code) } ?? true
        let names = isNamed ? request.parameters.sorted { $0.key < $1.key }.map { " \($0.key)=\($0.value)" } : []
        let event = AuditEvent(
            .administered, actor: request.caller.principal.id, subject: admitted.endpoint.properties.name,
            address: request.request.peer, detail: result + names.joined())
        do {
            try await record(event)
        } catch {
            log.error(
                "an operator's change is not in the audit log",
                ["actor": .text(event.actor), "endpoint": .text(event.subject), "detail": .text("\(error)")])
        }
    }

    /// The endpoint's response, and the age of the mirrored rows that it is made of. Mirrors that are not fresh are asked first, or by
    /// the endpoint itself once it has decided about the caller.
    private func respond(to admitted: AdmittedRequest) async throws -> (GatewayResponse, MirrorAge?) {
        let (endpoint, mirrors) = (admitted.endpoint, admitted.mirrors)
        var request = admitted.request
        if mirrors.isEmpty { return (try await endpoint.respond(to: request), nil) }
        if let age = mirrors.freshAge() { return (try await endpoint.respond(to: request), age) }
        let isKept = endpoint.decidesItself && endpoint.mayRespondImmediately
        let reading = MirrorReading(
            mirrors, for: request.caller, by: services, of: isKept ? endpoint.properties.adapter : nil)
        if endpoint.decidesItself { request.mirrors = reading } else { try await reading.prepare() }
        return (try await endpoint.respond(to: request), reading.age)
    }

    private func errorAnswer(_ error: PorticoError, _ admitted: AdmittedRequest) -> GatewayAnswer {
        let properties = admitted.endpoint.properties
        return finish(
            errorResponse(error, admitted.request.request, properties.presentation, at: admitted.endpoint), admitted,
            error)
    }

    private func cachedAnswer(_ kept: CachedResponse, _ admitted: AdmittedRequest) -> GatewayAnswer {
        let request = admitted.request.request
        // What is added to an empty response comes after the kept answer's fields.
        var own = GatewayResponse(kept.response.status)
        admitted.age?.addFields(to: &own)
        addFields(to: &own, admitted, nil)
        own.headers.put(.xRequestID, request.id)
        cors.addFields(to: &own, for: request)
        return GatewayAnswer(
            content: .cached(
                ImmediateResponse(
                    kept: kept, isUnchanged: services.encoder.isUnchanged(kept.response, for: request),
                    isForHead: request.method == .head, fields: own.headers)), trace: admitted.trace)
    }

    private func finish(
        _ response: GatewayResponse, _ admitted: AdmittedRequest, _ error: PorticoError?
    ) -> GatewayAnswer {
        var response = response
        addFields(to: &response, admitted, error)
        return finish(response, to: admitted.request.request, admitted.trace)
    }

    func finish(
        _ response: GatewayResponse, to request: GatewayRequest, _ trace: RequestTrace = RequestTrace()
    ) -> GatewayAnswer {
        var response = response
        response.headers.put(.xRequestID, request.id)
        if hasConsole { response.headers.protectPage() }
        cors.addFields(to: &response, for: request)
        if request.method == .head { response.omitBody() }
        return GatewayAnswer(content: .whole(response), trace: trace)
    }

    private func addFields(to response: inout GatewayResponse, _ admitted: AdmittedRequest, _ error: PorticoError?) {
        csrf.addFields(
            to: &response, for: admitted.request.request, caller: admitted.request.caller,
            at: admitted.endpoint.properties, error: error)
        admitted.rateLimit?.addFields(to: &response)
    }

    private func otherMethodResponse(_ allowed: [HTTPRequest.Method], _ request: GatewayRequest) -> GatewayResponse {
        let methods = allowed.map(\.rawValue).joined(separator: ", ")
        if request.method == .options {
            return GatewayResponse(.noContent, headers: [.allow: methods])
        }
        let error =
            request.method.isKnown
            ? PorticoError(
                .methodNotAllowed, "This path does not take \(request.method.rawValue). It takes \(methods).")
            : PorticoError.methodUnknown
        let segments = request.target.segments
        var response = errorResponse(error, request, routes.presentation(segments), at: routes.endpoint(segments))
        response.headers[.allow] = methods
        return response
    }

    /// The error response to a request that is not dispatched, in the shape of the contract at its path.
    func errorResponse(_ error: PorticoError, of request: GatewayRequest) -> GatewayResponse {
        let segments = request.target.segments
        return errorResponse(
            error, request, routes.presentation(segments), at: routes.endpoint(segments) ?? routes.neighbour(segments))
    }

    func errorResponse(
        _ error: PorticoError, _ request: GatewayRequest, _ presentation: Presentation,
        at endpoint: (any Endpoint)? = nil
    ) -> GatewayResponse {
        if error.code == .loginRequired, request.isNavigation {
            return hasConsole ? .toConsole : .redirectToSignIn(from: request)
        }
        var response =
            endpoint?.errorResponse(error, for: request)
            ?? errors.write(error, for: request, presentation: presentation)
        response.awaitedShape = endpoint?.awaitedErrorResponse(error, for: request)
        response.refusal = AccessRecord.Refusal(error)
        if error.code.status == .unauthorized { authenticator.challenge(&response) }
        if explainsErrors {
            response.headers.append(HTTPField(name: .link, value: ErrorCodeLink(error.code).field))
        }
        if error.code == .unsupportedMediaType, response.headers[.accept] == nil {
            response.headers[.accept] = services.bodies.acceptedTypes
        }
        if error.code == .requestTooLarge { response.closesConnection = true }
        // No error line for overload: the access log has it, and a second line for each refused request would add load.
        // A cancelled request whose client has gone is no error of the gateway either.
        let isAbandoned = error.code == .deadlineExceeded && Task.isCancelled && .now < request.deadline
        // Nor is a method that the gateway does not know (501), which any client can send.
        let isUnknownMethod = error.code.status == .notImplemented
        if error.code.status.code >= 500, error.code != .overloaded, !isAbandoned, !isUnknownMethod {
            log.error(
                "request failed",
                [
                    "requestId": .text(request.id), "code": .text(error.code.rawValue),
                    "endpoint": .text(endpoint?.properties.name ?? ""),
                    "detail": .text(error.logDetail ?? error.message),
                ])
        }
        return response
    }
}

/// A gateway that is not kept by what it consists of, or by its predecessors.
final class GatewayReference: Sendable {
    private struct Weak {
        weak var gateway: Gateway?
    }

    private let reference = Mutex(Weak())

    /// Nil: none was set, or it has gone.
    var gateway: Gateway? { reference.withLock { $0.gateway } }

    func set(_ gateway: Gateway) { reference.withLock { $0.gateway = gateway } }
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
    /// Where the request is counted; nil: at no endpoint.
    var instruments: RequestInstruments?
}

extension PorticoError {
    /// Converts any thrown error to one that may be shown to a caller.
    init(unexpected error: any Error) {
        if let known = error as? PorticoError {
            self = known
        } else if let failure = error as? UpstreamFailure {
            self = failure.asError
        } else if let refusal = error as? MirrorRefusal {
            self.init(
                .upstreamFailed, "What the other system answered cannot be used.",
                logDetail: "\(refusal.kind.rawValue): \(refusal.detail)")
        } else if error is CancellationError {
            self.init(.deadlineExceeded, "The request took too long.")
        } else {
            self.init(.serverInternal, "Something went wrong on the server.", logDetail: "\(error)")
        }
    }
}

extension CallContext {
    init(_ request: GatewayRequest, of caller: Caller) {
        self.init(
            deadline: request.deadline, requestID: request.id,
            traceParent: request.place?.own.text ?? request.headers[.traceParent],
            traceState: request.place.map(\.state) ?? request.headers[.traceState])
        signIn = caller.authentication?.signIn
    }
}

extension GatewayResponse {
    /// The headers of a full answer without the body, its length included where it has one (RFC 9110, section 9.3.2).
    mutating func omitBody() {
        stream?.end()
        if stream == nil { headers[.contentLength] = String(buffer.readableBytes) }
        stream = nil
        buffer.clear()
    }
}

extension HTTPField.Name {
    static let link = HTTPField.Name("Link")!
    static let xRequestID = HTTPField.Name("X-Request-ID")!
    static let traceParent = HTTPField.Name("traceparent")!
    static let traceState = HTTPField.Name("tracestate")!
}

/// How far ``Gateway/admit(_:)`` got.
enum AdmissionStep: Sendable {
    case answered(GatewayAnswer)
    /// Memory does not know the caller.
    case needsCaller(PendingAdmission)
    case needsEndpoint(AdmittedRequest)

    /// Of the endpoint that answers; nil: it is answered.
    var properties: EndpointProperties? {
        switch self {
        case .answered: nil
        case .needsCaller(let admission): admission.endpoint.properties
        case .needsEndpoint(let admitted): admitted.endpoint.properties
        }
    }

    /// Of what is under way.
    var trace: RequestTrace {
        switch self {
        case .answered(let answer): answer.trace
        case .needsCaller(let admission):
            RequestTrace(
                endpoint: admission.endpoint.properties.name,
                instruments: admission.endpoint.properties.instruments.load())
        case .needsEndpoint(let admitted): admitted.trace
        }
    }
}

/// A request that is counted for its address and has its endpoint.
struct PendingAdmission: Sendable {
    let request: GatewayRequest
    let endpoint: any Endpoint
    let parameters: [FieldName: String]
}

/// A request whose caller may call its endpoint.
struct AdmittedRequest: Sendable {
    var request: AuthenticatedRequest
    let endpoint: any Endpoint
    var rateLimit: RateLimitState?
    /// Of the mirrored rows that a cached response is made of.
    var age: MirrorAge?
    /// Nil: not counted yet.
    var place: RequestQuotas.Place?

    /// Those that the answer is made of.
    var mirrors: ReadMirrors {
        guard !endpoint.properties.mirrors.isEmpty, endpoint.effect(of: request.request) != .writes else {
            return ReadMirrors()
        }
        return endpoint.mirrors(of: request)
    }

    var trace: RequestTrace {
        RequestTrace(
            endpoint: endpoint.properties.name, caller: request.caller.principal.name,
            instruments: endpoint.properties.instruments.load())
    }
}

/// The response to one request, and who answered whom.
struct GatewayAnswer: Sendable {
    enum Content: Sendable {
        case whole(GatewayResponse)
        case cached(ImmediateResponse)
    }

    var content: Content
    var trace: RequestTrace

    var isCached: Bool { if case .cached = content { true } else { false } }

    /// Whether its error is to have another shape (``Gateway/complete(_:)``).
    var awaitsShape: Bool { if case .whole(let response) = content { response.awaitedShape != nil } else { false } }

    /// With every field, a cached one too.
    var response: GatewayResponse {
        switch content {
        case .whole(let response): response
        case .cached(let cached): cached.response
        }
    }
}

/// A cached or constant response to one request.
struct ImmediateResponse: Sendable {
    let kept: CachedResponse
    /// The caller has the answer already.
    let isUnchanged: Bool
    let isForHead: Bool
    /// Fields of this sending alone.
    let fields: HTTPFields

    var outbound: OutboundResponse {
        guard !isUnchanged else {
            return OutboundResponse(.notModified, prepared: kept.unchangedFields, fields: fields)
        }
        return OutboundResponse(
            kept.response.status, prepared: kept.fields, fields: fields,
            body: isForHead ? ByteBuffer() : kept.response.buffer)
    }

    var response: GatewayResponse {
        var response = isUnchanged ? kept.response.unchanged() : kept.response
        for field in fields { response.headers.append(field) }
        if isForHead, !isUnchanged { response.omitBody() }
        return response
    }
}
