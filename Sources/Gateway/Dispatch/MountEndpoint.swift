import AdapterKit
import HTTPServer
import HTTPTypes
import NIOCore
import Synchronization
import Telemetry

/// Passes the requests below a mount's root to its adapter, and its responses back.
struct MountEndpoint: Endpoint {
    let served: ServedAdapter
    let mount: HTTPMount
    let services: GatewayServices
    let properties: EndpointProperties
    private let fieldsOfPrograms = ProgramFields()

    init(served: ServedAdapter, mount: HTTPMount, services: GatewayServices) {
        self.served = served
        self.mount = mount
        self.services = services
        properties = EndpointProperties(
            name: "\(served.declaration.name).\(mount.name)",
            access: EndpointAccess(
                reads: served.declaration.callers(of: mount, .reads),
                writes: served.declaration.callers(of: mount, .writes)), effect: .writes,
            adapter: served.declaration.name, status: served.status, bodyLimit: mount.bodyLimit,
            requiresToken: mount.requiresToken,
            mirrors: mount.tellsAge ? ReadMirrors() : served.mirrors(of: Set<EntityName>?.none))
    }

    var description: EndpointDescription {
        EndpointDescription(
            summary: mount.summary, tag: served.declaration.title,
            answers: [
                (.ok, .document(mediaType: mount.mediaType)), (.created, .document(mediaType: mount.mediaType)),
                (.accepted, .nothing), (.noContent, .nothing),
            ],
            errors: [
                .requestInvalid, .requestTooLarge, .requestTimeout, .unsupportedMediaType, .transferCodingUnknown,
                .methodNotAllowed, .recordNotFound, .recordExists, .preconditionFailed, .storeUnavailable,
                .adapterUnavailable,
            ],
            ownFailures: mount.mediaType, areFailuresOfKind: true,
            access: EndpointAccess(
                reads: mount.access?.read.map { [$0] } ?? [], writes: mount.access?.write.map { [$0] } ?? []),
            isDecidedByOperation: mount.authorization == .byOperation)
    }

    func effect(of method: HTTPRequest.Method) -> Effect { method == .get || method == .head ? .reads : .writes }

    func effect(of request: GatewayRequest) -> Effect {
        if effect(of: request.method) == .reads { return .reads }
        guard request.method == .post, let last = request.target.segments.last else { return .writes }
        return mount.readingPosts.contains(last) ? .reads : .writes
    }

    func respond(to request: AuthenticatedRequest) async throws -> GatewayResponse {
        let inner = request.request
        let body = try await services.bodies.bytes(of: inner, limit: mount.bodyLimit)
        let mounted = MountRequest(
            mount: mount.name, method: inner.method == .head ? "GET" : inner.method.rawValue,
            target: inner.target.text, origin: inner.origin, headers: MountHeaders(inner.headers), body: body,
            caller: request.caller.principal, requestID: inner.id, deadline: inner.deadline,
            records: try served.records(
                in: services.store, for: request, naming: services.rights, auditing: services.changes,
                isLetWrite: mount.access?.write != nil),
            ages: AdapterRecordAges(served: served, caller: request.caller, credentials: services.credentials),
            log: served.log)
        let answer = try await RequestTimeline.measure(.adapter, properties.name) {
            try await served.adapter.handle(mounted)
        }
        return try response(answer, to: inner)
    }

    func errorResponse(_ error: PorticoError, for request: GatewayRequest) -> GatewayResponse? {
        let answer = served.adapter.errorResponse(
            for: error, status: error.code.status.code, to: failure(of: request))
        return answer.flatMap { self.response($0, with: error, to: request) }
    }

    /// A worker is not asked about what is refused in order to have less work.
    func awaitedErrorResponse(
        _ error: PorticoError, for request: GatewayRequest
    ) -> (@Sendable () async -> GatewayResponse?)? {
        guard let adapter = served.adapter as? any RemoteErrorShapes, adapter.shapesErrors(of: mount.name),
            error.code != .rateLimited, error.code != .overloaded
        else { return nil }
        return {
            let answer = await adapter.shapedError(
                error, status: error.code.status.code, to: failure(of: request))
            guard var shaped = answer.flatMap({ response($0, with: error, to: request) }) else { return nil }
            if request.method == .head { shaped.omitBody() }
            return shaped
        }
    }

    private func failure(of request: GatewayRequest) -> MountFailure {
        MountFailure(
            mount: mount.name, method: request.method.rawValue, target: request.target.text,
            headers: MountHeaders(request.headers), requestID: request.id)
    }

    private func response(
        _ answer: MountResponse, with error: PorticoError, to request: GatewayRequest
    ) -> GatewayResponse? {
        guard var response = try? response(answer, to: request) else { return nil }
        if let seconds = error.retryAfter { response.headers[.retryAfter] = String(seconds) }
        response.headers[.cacheControl] = "no-store"
        return response
    }

    private func response(_ answer: MountResponse, to request: GatewayRequest) throws(PorticoError) -> GatewayResponse {
        let headers =
            served.process == nil
            ? answer.headers
            : fieldsOfPrograms.permittedFields(answer.headers, now: services.clock.now(), log: served.log)
        // What has a coding already keeps it, and a part of a whole is a part of the whole's bytes (RFC 9110, section 15.3.7).
        let isCodable = !headers.hasCoding && answer.status != 206
        let coding = isCodable ? ContentCoding.negotiate(request.headers[.acceptEncoding]) : nil
        // Made first: whatever keeps it from being sent cancels the pieces.
        var stream: MountBodyStream?
        if case .stream(let pieces) = answer.body {
            stream = MountBodyStream(pieces, coding?.stream(), log: served.log)
        }
        guard (200...599).contains(answer.status) else {
            throw PorticoError(.serverInternal, "Something went wrong on the server.", logDetail: "no such status")
        }
        var response = GatewayResponse(.standard(answer.status), headers: try headers.fields())
        if response.headers[.cacheControl] == nil { response.headers[.cacheControl] = "no-store" }
        // Of a 304 too: it has the fields that its 200 would have.
        if isCodable, ![204, 205].contains(answer.status) { response.headers.vary(by: "Accept-Encoding") }
        // RFC 9110, sections 15.3.5, 15.3.6 and 15.4.5: what followed the head would be taken for the next answer.
        if [204, 205, 304].contains(answer.status) { return response }
        if case .bytes(let bytes) = answer.body { services.encoder.compress(bytes, coding, into: &response) }
        if let stream {
            if let name = stream.codingName { response.headers[.contentEncoding] = name }
            response.stream = stream
        }
        return response
    }
}

extension MountHeaders {
    fileprivate init(_ fields: HTTPFields) {
        self.init(fields.map { Field($0.name.rawName, $0.value) })
    }

    /// A length that is not the body's would split the answer (RFC 9112, section 6), and the date is the listener's, which itself
    /// leaves out the other fields of a connection.
    private static let framing: Set<String> = ["content-length", "date", "te", "trailer"]

    /// Of which readers would take one or another where there are two (RFC 9110, section 5.3).
    private static let single: Set<String> = [
        "age", "content-disposition", "content-location", "content-range", "content-type", "etag", "expires",
        "last-modified", "location", "retry-after",
    ]

    /// Whether the body has a coding already.
    fileprivate var hasCoding: Bool {
        self.fields.contains { field in
            field.name.lowercased() == "content-encoding"
                && Substring(field.value).trimmingSpaces().lowercased() != "identity"
        }
    }

    /// Throws `server.internal` for what cannot stand in a head.
    fileprivate func fields() throws(PorticoError) -> HTTPFields {
        var collected = HeaderFields(.response)
        var known: Set<String> = []
        for field in self.fields {
            let name = field.name.lowercased()
            guard !Self.framing.contains(name) else { continue }
            // Cookies know no ports: it would be the admin listener's too.
            guard name != "set-cookie" || !ConsoleCookie.isSet(by: field.value) else { continue }
            guard !Self.single.contains(name) || known.insert(name).inserted else {
                throw PorticoError(
                    .serverInternal, "Something went wrong on the server.",
                    logDetail: "the header field \(name) is there twice")
            }
            do {
                try collected.append(field.name, field.value)
            } catch {
                throw PorticoError(
                    .serverInternal, "Something went wrong on the server.",
                    logDetail: "the header field \(field.name.prefix(100)) cannot be sent: \(error)")
            }
        }
        return collected.fields
    }
}

/// An adapter's pieces as a connection asks for them, in the coding that its peer takes. They are cancelled with its last
/// reference, so that an answer which is not sent, or came too late, keeps no call of the adapter.
final class MountBodyStream: ResponseStream {
    /// As `Content-Encoding` has it; nil: they are sent as they are.
    let codingName: String?
    private let pieces: any ByteStream
    /// Nil: as they are, or coded to their end.
    private let coding: Mutex<ContentCoding.Stream?>
    private let log: Log

    init(_ pieces: any ByteStream, _ coding: sending ContentCoding.Stream?, log: Log) {
        codingName = coding?.name
        self.pieces = pieces
        self.coding = Mutex(coding)
        self.log = log
    }

    deinit { pieces.cancel() }

    func next() async throws -> ByteBuffer? {
        do {
            let piece = try await pieces.next()
            return try encode(piece).map { ByteBuffer(bytes: $0) }
        } catch is CancellationError {
            throw CancellationError()
        } catch {
            // The status has been sent, so the log is the only report.
            log.error("An answer broke off.", ["error": "\(error)"])
            throw error
        }
    }

    func end() { pieces.cancel() }

    private func encode(_ piece: [UInt8]?) throws -> [UInt8]? {
        try coding.withLock { coding in
            guard let stream = coding else { return piece }
            if piece == nil { coding = nil }
            return try stream.add(piece)
        }
    }
}

extension HTTPFields {
    /// Adds a name to `Vary`, where neither it nor `*` is there (RFC 9110, section 12.5.5).
    fileprivate mutating func vary(by name: String) {
        let known = self[.vary] ?? ""
        let names = known.split(separator: ",").map { $0.trimmingSpaces().lowercased() }
        guard !names.contains("*"), !names.contains(name.lowercased()) else { return }
        self[.vary] = names.isEmpty ? name : "\(known), \(name)"
    }
}
