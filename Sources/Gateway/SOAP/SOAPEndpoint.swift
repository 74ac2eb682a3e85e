import AdapterKit
import HTTPTypes
import MirrorEngine
import SOAP
import ValueTree
import WireFormats

/// What the two endpoints of a SOAP service share.
struct SOAPServiceContext: Sendable {
    let served: ServedAdapter
    let service: SOAPService
    let definition: ServiceDefinition
    let operations: [String: Operation]
    let services: GatewayServices

    init(_ service: SOAPService, of served: ServedAdapter, services: GatewayServices) {
        self.served = served
        self.service = service
        self.services = services
        let all = Dictionary(
            served.declaration.operations.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
        let declared = service.operations.compactMap { all[$0] }
        operations = Dictionary(declared.map { ($0.name.text, $0) }, uniquingKeysWith: { first, _ in first })
        definition = ServiceDefinition(
            service.name, namespace: service.namespace,
            operations: declared.map { ($0.name.text, $0.input, $0.output) })
    }

    /// `mirrors`: those that the answers are made of.
    func properties(_ name: String, _ effect: Effect, mirrors: ReadMirrors = ReadMirrors()) -> EndpointProperties {
        EndpointProperties(
            name: "\(served.declaration.name).\(name)",
            access: EndpointAccess([served.declaration.access.reading]), effect: effect,
            adapter: served.declaration.name, status: served.status, mirrors: mirrors)
    }

    /// A failure as a fault, at the service's own path and below; elsewhere the gateway's shape holds.
    ///
    /// SOAP 1.1 prescribes 500 for faults (section 6.2), SOAP 1.2 400 for those of the sender (part 2, section 7.5.2.2).
    /// A failure that HTTP itself reports keeps its status, so that clients sign in, wait or send less.
    func errorResponse(_ error: PorticoError, for request: GatewayRequest) -> GatewayResponse? {
        let isHere = service.paths.contains { path in
            let literals = path.parts.compactMap { if case .literal(let text) = $0 { text } else { nil } }
            return request.target.segments.starts(with: literals)
        }
        guard isHere else { return nil }
        let version = SOAPVersion(contentType: request.headers.text(.contentType))
        let status = error.code.status
        let isSenders = (400..<500).contains(status.code)
        // What is no message has no status of a message.
        let isOfMessage = isSenders && request.method == .post && !Self.transportStatuses.contains(status.code)
        let code: SOAPFault.Code = isSenders ? .sender : .receiver
        var response = fault(
            SOAPFault(code, error.message.replacedForEveryFormat), error.code, request, version,
            status: isOfMessage ? version.senderStatus : status)
        if let seconds = error.retryAfter { response.headers[.retryAfter] = String(seconds) }
        if error.code == .unsupportedMediaType { response.headers[.accept] = "text/xml, application/soap+xml" }
        return response
    }

    /// Failures of the request rather than of the message.
    private static let transportStatuses: Set<Int> = [401, 403, 404, 405, 406, 408, 413, 414, 415, 417, 429, 431]

    func fault(
        _ fault: SOAPFault, _ code: ErrorCode, _ request: GatewayRequest, _ version: SOAPVersion,
        status: HTTPResponse.Status
    ) -> GatewayResponse {
        GatewayResponse(
            status, headers: [.contentType: version.contentType, .cacheControl: "no-store"],
            body: definition.fault(fault, in: version, detail: [code.rawValue, fault.reason, request.id]))
    }
}

/// Answers SOAP messages by calling the operations that they name.
struct SOAPEndpoint: Endpoint {
    let context: SOAPServiceContext
    let properties: EndpointProperties

    init(_ context: SOAPServiceContext) {
        self.context = context
        let writes = context.operations.values.contains { $0.effect == .writes }
        properties = context.properties(
            "soap", writes ? .writes : .reads,
            mirrors: writes ? ReadMirrors() : context.served.mirrors(of: Set<EntityName>?.none))
    }

    var description: EndpointDescription {
        EndpointDescription(
            summary: "The operations of \(context.service.name) over SOAP 1.1 and 1.2.",
            tag: context.served.declaration.title, answers: [(.ok, .document(mediaType: "text/xml"))],
            errors: [
                .requestInvalid, .requestTooLarge, .requestTimeout, .unsupportedMediaType, .recordNotFound,
                .adapterUnavailable, .storeUnavailable, .upstreamFailed, .upstreamTimeout,
            ], ownFailures: "text/xml", areFailuresOfKind: true)
    }

    func errorResponse(_ error: PorticoError, for request: GatewayRequest) -> GatewayResponse? {
        context.errorResponse(error, for: request)
    }

    /// Tags of a message, before anything is made of them: an element in memory is many times as large as its tag.
    private static let maximumTags = 100_000

    private static func checkSize(of body: [UInt8]) throws(PorticoError) {
        var tags = 0
        for byte in body where byte == UInt8(ascii: "<") { tags += 1 }
        guard tags <= maximumTags else {
            throw PorticoError(.requestTooLarge, "The message has more than \(maximumTags) tags.")
        }
    }

    func respond(to request: AuthenticatedRequest) async throws -> GatewayResponse {
        let type = try Self.mediaType(request.request)
        let body = try await context.services.bodies.bytes(of: request.request, limit: nil)
        try Self.checkSize(of: body)
        let message: SOAPMessage
        do {
            message = try SOAPMessage(body, charset: type.charset)
        } catch {
            return fault(error, of: request.request)
        }
        guard SOAPVersion(rawMediaType: type.essence).map({ $0 == message.version }) ?? true else {
            throw PorticoError(
                .unsupportedMediaType,
                "A message of SOAP \(message.version.rawValue) is sent as \(message.version.mediaType).")
        }
        guard message.body.count == 1, let element = message.body.first,
            let called = context.definition.operation(QName(element.name, in: element.namespace)),
            let operation = context.operations[called.name]
        else {
            throw PorticoError(.requestInvalid, "The message's body has not one element that is an operation.")
        }
        let action = request.request.headers.text(Self.actionField) ?? type.action ?? ""
        guard !context.definition.contradicts(action: action, called: called) else {
            throw PorticoError(.requestInvalid, "The action names another operation than the message's body.")
        }
        for access in context.served.declaration.callers(of: operation) {
            try access.authorize(request.caller.principal)
        }
        let input = try input(element, called, operation)
        let (result, age) = try await result(of: operation, input, request)
        guard case .value(let value) = result.content else {
            throw PorticoError(
                .serverInternal, "Something went wrong on the server.",
                logDetail: "an operation over SOAP without a value")
        }
        return try response(value, called, message.version, request.request, age)
    }

    /// A failure of the envelope itself, which has a code of its own.
    private func fault(_ fault: SOAPFault, of request: GatewayRequest) -> GatewayResponse {
        let version = SOAPVersion(contentType: request.headers.text(.contentType))
        let safe = SOAPFault(fault.code, fault.reason.replacedForEveryFormat)
        // SOAP 1.2 keeps 400 for the code of the sender; the other two are 500.
        let status = fault.code == .sender ? version.senderStatus : .internalServerError
        var response = context.fault(safe, .requestMalformed, request, version, status: status)
        response.refusal = AccessRecord.Refusal(PorticoError(.requestMalformed, safe.reason))
        return response
    }

    private static let actionField = HTTPField.Name("SOAPAction")!

    /// Throws `request.unsupportedMediaType` for another type than a message's.
    private static func mediaType(_ request: GatewayRequest) throws(PorticoError) -> MediaType {
        guard let field = request.headers.text(.contentType), let type = MediaType(field),
            ["text/xml", "application/soap+xml", "application/xml"].contains(type.essence)
        else { throw PorticoError(.unsupportedMediaType, "A message is sent as text/xml or application/soap+xml.") }
        return type
    }

    private func input(
        _ element: XMLElement, _ called: ServiceDefinition.Operation, _ operation: Operation
    ) throws(PorticoError) -> WireDictionary {
        let read: WireValue
        do {
            var reader = SOAPValueReader(context.definition.schema, limit: context.services.limits.values)
            read = try reader.read(element, as: called.input)
        } catch {
            throw PorticoError(
                .requestInvalid, "An element of the message is not as it is described.", target: error.path)
        }
        guard read.dictionaryValue?.count == 1, let input = read[ServiceDefinition.inputName],
            let members = input.dictionaryValue
        else {
            throw PorticoError(
                .requestInvalid, "The operation's element has one element, \(ServiceDefinition.inputName).",
                target: called.name)
        }
        return Coercion.typed.coerce(members, to: operation.input)
    }

    private func result(
        of operation: Operation, _ input: WireDictionary, _ request: AuthenticatedRequest
    ) async throws -> (OperationResult, MirrorAge?) {
        let (served, services) = (context.served, context.services)
        guard let callThrough = served.callThrough(operation.name) else {
            return (try await services.calls.perform(operation, of: served, input: input, request: request), nil)
        }
        let dispatcher = CallThroughDispatcher(services: services, served: served, operation: operation)
        return try await dispatcher.perform(callThrough, input: input, request: request)
    }

    private func response(
        _ value: WireValue, _ called: ServiceDefinition.Operation, _ version: SOAPVersion, _ request: GatewayRequest,
        _ age: MirrorAge?
    ) throws(PorticoError) -> GatewayResponse {
        let bytes: [UInt8]
        do {
            bytes = try context.definition.writeResponse(value, of: called, in: version)
        } catch {
            throw PorticoError(
                .notRepresentable, "The answer has a value that XML cannot carry.", logDetail: error.path)
        }
        var response = GatewayResponse(
            .ok,
            headers: [.contentType: version.contentType, .cacheControl: "no-store", .vary: "Accept-Encoding"])
        let coding = ContentCoding.negotiate(request.headers[.acceptEncoding])
        context.services.encoder.compress(bytes, coding, into: &response)
        age?.addFields(to: &response)
        return response
    }
}

/// Answers the WSDL of a SOAP service: `GET PATH?wsdl`.
struct SOAPDescriptionEndpoint: Endpoint {
    let context: SOAPServiceContext
    let properties: EndpointProperties

    init(_ context: SOAPServiceContext) {
        self.context = context
        properties = context.properties("wsdl", .reads)
    }

    var description: EndpointDescription {
        EndpointDescription(
            summary: "The WSDL of \(context.service.name).", tag: context.served.declaration.title,
            parameters: [.query("wsdl", .string, "Asks for the WSDL; without a value.", isRequired: true)],
            answers: [(.ok, .document(mediaType: "text/xml"))], errors: [.routeNotFound, .adapterUnavailable],
            ownFailures: "text/xml", areFailuresOfKind: true)
    }

    func errorResponse(_ error: PorticoError, for request: GatewayRequest) -> GatewayResponse? {
        context.errorResponse(error, for: request)
    }

    func respond(to request: AuthenticatedRequest) async throws -> GatewayResponse {
        let inner = request.request
        guard inner.target.query.contains(where: { $0.name.lowercased() == "wsdl" }) else {
            throw PorticoError(.routeNotFound, "Messages are posted here; the description is at `?wsdl`.")
        }
        let path = "/" + inner.target.segments.joined(separator: "/")
        var response = GatewayResponse(
            .ok,
            headers: [
                .contentType: SOAPVersion.soap11.contentType, .cacheControl: "no-store", .vary: "Accept-Encoding",
            ])
        context.services.encoder.compress(
            context.definition.wsdl(address: inner.origin + path),
            ContentCoding.negotiate(inner.headers[.acceptEncoding]), into: &response)
        return response
    }
}

extension MediaType {
    /// The parameter of SOAP 1.2 (RFC 3902, section 5).
    fileprivate var action: String? { parameters.first { $0.name == "action" }?.value }
}

extension SOAPVersion {
    /// As a request's `Content-Type` says; SOAP 1.1 where it says neither.
    fileprivate init(contentType: String?) {
        let essence = contentType.flatMap { MediaType($0) }?.essence
        self = essence == SOAPVersion.soap12.mediaType ? .soap12 : .soap11
    }

    /// Nil for a type that either version is sent as.
    fileprivate init?(rawMediaType essence: String) {
        guard let version = Self.allCases.first(where: { $0.mediaType == essence }) else { return nil }
        self = version
    }

    fileprivate var contentType: String { "\(mediaType); charset=utf-8" }

    fileprivate var senderStatus: HTTPResponse.Status {
        switch self {
        case .soap11: .internalServerError
        case .soap12: .badRequest
        }
    }
}
