import AdapterKit
import HTTPTypes
import Identity
import RecordStorage
import SyncEngine
import Telemetry
import ValueTree

/// Calls an adapter's operation by one of its bindings.
struct OperationEndpoint: Endpoint {
    let served: ServedAdapter
    let operation: Operation
    let binding: HTTPBinding
    let services: GatewayServices

    /// Made once: they are asked for with every request.
    let properties: EndpointProperties
    private let cacheName: String
    /// As declared, but responses that are made of a caller's own rows are not kept for others.
    private let isCached: Bool
    /// Whether row rules give callers of equal roles other records: what is kept is the caller's own then.
    private let dependsOnReader: Bool
    private let callThrough: AdapterCallThrough?

    init(served: ServedAdapter, operation: Operation, binding: HTTPBinding, services: GatewayServices) {
        self.served = served
        self.operation = operation
        self.binding = binding
        self.services = services
        properties = EndpointProperties(
            name: "\(served.declaration.name).\(operation.name)",
            access: EndpointAccess(
                operation.audience == .operators ? [.login] : served.declaration.callers(of: operation)),
            effect: operation.effect,
            adapter: served.declaration.name, status: served.status, presentation: binding.presentation,
            mirrors: served.mirrors(of: operation),
            adminRole: operation.audience != .operators ? nil : operation.effect == .reads ? .viewer : .operator)
        callThrough = served.callThrough(operation.name)
        isCached = operation.caching == .untilRecordsChange && served.callerMirrors.isEmpty
        let entities = operation.entities.map(Set.init)
        dependsOnReader = served.declaration.entities.contains { entity in
            entities?.contains(entity.name) ?? true && entity.rows.read.dependsOnCaller
        }
        cacheName = "\(properties.name) \(binding.method.rawValue)"
    }

    var description: EndpointDescription {
        EndpointDescription(
            summary: operation.summary, tag: served.declaration.title, parameters: parameters, body: body,
            needsBody: body?.members.contains(where: \.isRequired) ?? false,
            answers: [(.ok, answer), (.noContent, .nothing)], errors: Self.errors(operation),
            isDecidedByOperation: operation.authorization == .byOperation)
    }

    /// What neither path nor query carries.
    private var body: ObjectShape? {
        guard binding.method != .get, binding.method != .delete else { return nil }
        let elsewhere = Set(binding.path.parameters + binding.queryMembers)
        let members = operation.input.members.filter { !elsewhere.contains($0.name) }
        guard !members.isEmpty || operation.input.isOpen else { return nil }
        return ObjectShape(operation.input.name, isOpen: operation.input.isOpen, members: members)
    }

    private var answer: EndpointDescription.Answer {
        operation.documentType.map { .document(mediaType: $0) } ?? .value(operation.output)
    }

    private var parameters: [EndpointDescription.Parameter] {
        operation.input.members.compactMap { member in
            if binding.path.parameters.contains(member.name) {
                return .path(member.name.text, member.shape, member.summary)
            }
            guard binding.queryMembers.contains(member.name) else { return nil }
            return .query(member.name.text, member.shape, member.summary, isRequired: member.isRequired)
        }
    }

    /// An adapter may throw any code of the records and of what stands behind it.
    private static func errors(_ operation: Operation) -> Set<ErrorCode> {
        let reading: Set<ErrorCode> = [
            .requestInvalid, .recordNotFound, .adapterUnavailable, .storeUnavailable, .upstreamFailed, .upstreamTimeout,
        ]
        guard operation.effect == .writes else { return reading }
        return reading.union([.recordExists, .preconditionFailed, .storeFull])
    }

    func respond(to request: AuthenticatedRequest) async throws -> GatewayResponse {
        let body = try await services.bodies.bytes(of: request.request, limit: nil)
        guard isCached else { return try await call(request, body: body).response }
        _ = try services.encoder.choice(for: request.request, presentation: binding.presentation)
        let key = request.cacheKey ?? cacheKey(request, body: body)
        var version = try await services.version(of: served.declaration.name)
        if let mirrors = request.mirrors, services.cache.response(for: key, at: version) != nil {
            // What is kept for these roles says that they are let in.
            try await mirrors.prepare()
            version = mirrors.version ?? version
        }
        if let kept = services.cache.response(for: key, at: version) { return kept.response }
        let answer = try await call(request, body: body, version: version)
        services.cache.keep(answer.response, for: key, at: answer.version ?? version)
        return answer.response
    }

    func mirrors(of request: AuthenticatedRequest) -> ReadMirrors {
        guard let parameter = operation.mirrorParameter else { return properties.mirrors }
        return properties.mirrors.of(request.parameters[parameter] ?? "")
    }

    var decidesItself: Bool { operation.authorization == .byOperation }

    var mayRespondImmediately: Bool { isCached && operation.effect == .reads }

    func lookUpResponse(to request: AuthenticatedRequest) -> CacheLookup {
        guard case .bytes(let body) = request.request.body,
            request.request.headers.text(.contentEncoding) == nil
        else { return .missing(nil) }
        return services.lookUp(cacheKey(request, body: body), of: served.declaration.name)
    }

    /// `version`: of the records before it; nil: the response has none. Returns the version of the records that it is made of.
    private func call(
        _ request: AuthenticatedRequest, body: [UInt8], version: RecordsVersion? = nil
    ) async throws -> (response: GatewayResponse, version: RecordsVersion?) {
        let input = try services.bodies.input(
            of: request.request, parameters: request.parameters, body: body, shape: operation.input,
            queryMembers: binding.queryMembers, form: binding.form)
        if let callThrough {
            let (result, age) = try await CallThroughDispatcher(
                services: services, served: served, operation: operation
            )
            .perform(callThrough, input: input, request: request)
            var response = try services.encoder.write(
                result, of: operation, to: request.request, presentation: binding.presentation, version: nil)
            age.addFields(to: &response)
            return (response, nil)
        }
        let answer = try await services.calls.perform(operation, of: served, input: input, request: request)
        let version = version.map { request.mirrors?.version ?? $0 }
        var response = try services.encoder.write(
            answer, of: operation, to: request.request, presentation: binding.presentation,
            version: version.map { "\(services.store.epoch)-\($0)" })
        // Anonymous callers are one caller to every rule.
        if request.caller.principal.isAnonymous { response.allowSharing() }
        return (response, version)
    }

    private func cacheKey(_ request: AuthenticatedRequest, body: [UInt8]) -> ResponseCache.Key {
        let principal = request.caller.principal
        return ResponseCache.Key(
            cacheName, request.request, roles: principal.isAnonymous ? nil : principal.roles,
            reader: dependsOnReader ? principal : nil, body: body)
    }
}

/// Calls an adapter's operation: applies its deadline, gives it the caller's view of the records, and hides errors that
/// are not meant for callers.
struct CallDispatcher: Sendable {
    let store: any Store
    let rights: AttachmentRights?
    let changes: ChangeAudit?
    let deadlines: DeadlineScheduler

    func perform(
        _ operation: Operation, of served: ServedAdapter, input: WireDictionary, request: AuthenticatedRequest
    ) async throws -> OperationResult {
        try served.status.requireRunning()
        try operation.input.check(input)
        let call = try call(operation, of: served, input: input, request: request)
        let adapter = served.adapter
        do {
            guard operation.deadline != nil else {
                return try await RequestTimeline.measure(.adapter, "\(served.declaration.name).\(operation.name)") {
                    try await adapter.handle(call)
                }
            }
            let late = PorticoError(
                .deadlineExceeded, "\(served.declaration.title) did not answer in time.", target: operation.name.text)
            var context = CallContext.current
            context?.deadline = call.deadline
            return try await CallContext.$current.withValue(context) {
                try await RequestTimeline.measure(.adapter, "\(served.declaration.name).\(operation.name)") {
                    try await deadlines.run(until: call.deadline, late: late) { try await adapter.handle(call) }
                }
            }
        } catch is CancellationError {
            throw CancellationError()
        } catch {
            throw PorticoError(unexpected: error)
        }
    }

    /// An operation without its own deadline has the request's, which ``DeadlineScheduler`` enforces.
    private func call(
        _ operation: Operation, of served: ServedAdapter, input: WireDictionary, request: AuthenticatedRequest
    ) throws(PorticoError) -> Call {
        let whole = request.request.deadline
        let own = operation.deadline.map { min(ContinuousClock.now + $0, whole) }
        return Call(
            operation: operation.name, input: input, caller: request.caller.principal,
            session: request.caller.authentication?.session?.text, requestID: request.request.id,
            deadline: own ?? whole,
            records: try served.records(
                in: store, for: request, naming: rights, auditing: changes,
                isLetWrite: operation.audience == .operators || operation.access != nil),
            log: served.log)
    }
}

extension ObjectShape {
    /// Throws `request.invalid` naming the member at fault.
    func check(_ members: WireDictionary) throws(PorticoError) {
        try Shape.object(self).check(.dictionary(members), at: "")
    }
}

extension RowRule {
    /// Whether it asks who the caller is, beyond whether it is signed in and its roles.
    fileprivate var dependsOnCaller: Bool {
        switch self {
        case .everyone, .nobody, .signedIn, .hasRole, .fieldIsOneOf: false
        case .owner, .sharedWith, .attributeEquals, .memberOf: true
        case .not(let rule): rule.dependsOnCaller
        case .any(let rules), .all(let rules): rules.contains(where: \.dependsOnCaller)
        }
    }
}
