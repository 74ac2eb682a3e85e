import AdapterKit
import HTTPServer
import HTTPTypes
import NIOCore
import Synchronization
import Telemetry

/// Turns the requests of connections into ``GatewayRequest`` values, has ``Gateway`` answer them, and writes the access log.
///
/// In this order: request id, the target's length and form, what ``Gateway/admit(_:)`` can answer from its cache,
/// `http.limits.inFlight`, everything else. What has to wait leaves the event loop with ``DeadlineScheduler``'s task,
/// because adapters may block.
final class GatewayResponder: RequestResponder {
    private let current: Mutex<ServingGateway>
    private let ids: RequestIDs
    private let permits: RequestPermits

    init(gateway: Gateway, settings: ServerSettings) {
        current = Mutex(ServingGateway(gateway, settings))
        var generator = SystemRandomNumberGenerator()
        ids = RequestIDs(random: generator.next())
        let limits = gateway.services.limits
        permits = RequestPermits(limit: limits.inFlight, reserve: limits.urgent)
    }

    /// Returns the one that answered requests until now.
    func replace(_ gateway: Gateway, _ settings: ServerSettings) -> ServingGateway {
        let next = ServingGateway(gateway, settings)
        let limits = gateway.services.limits
        permits.change(limit: limits.inFlight, reserve: limits.urgent)
        gateway.becomeCurrent()
        return current.withLock { current in
            defer { current = next }
            return current
        }
    }

    /// Requests that have a permit.
    var inFlight: Int { permits.count }

    func overload(for path: String) -> PorticoError? { permits.refusal(for: path) }

    func isAlwaysAnswered(_ path: String) -> Bool { RequestPermits.isAlwaysAnswered(path) }

    func beginDiscarding(from peer: String) -> (@Sendable () -> Void)? {
        let incomplete = current.withLock { $0.incomplete }
        guard incomplete.begin(from: peer) else { return nil }
        return { incomplete.end(from: peer) }
    }

    func respond(to inbound: InboundRequest, on sink: ResponseSink) -> (any CancellableWork)? {
        let id = ids.next()
        // Counted before it can be replaced.
        let serving = current.withLock { serving in
            serving.begin()
            return serving
        }
        var parsed: GatewayRequest?
        do {
            try serving.settings.hosts?.require(inbound.authority)
            guard inbound.target != "*" else {
                try permits.take(for: inbound.target)
                permits.leave()
                send(wholeServer(id), to: inbound, id, nil, serving, on: sink)
                return nil
            }
            let request = try gatewayRequest(inbound, id, serving)
            parsed = request
            let step = serving.gateway.admit(request)
            // Beyond `http.limits.inFlight` only what is cached or constant is answered.
            if case .answered(let answer) = step, answer.isCached {
                send(answer, to: inbound, id, request, serving, on: sink)
                return nil
            }
            try permits.take(for: request.target.path)
            return complete(serving.gateway.reserve(step), request, inbound, serving, on: sink)
        } catch {
            send(failure(error, inbound, id, serving.gateway), to: inbound, id, parsed, serving, on: sink)
            return nil
        }
    }

    private func complete(
        _ step: AdmissionStep, _ request: GatewayRequest, _ inbound: InboundRequest, _ serving: ServingGateway,
        on sink: ResponseSink
    ) -> (any CancellableWork)? {
        if case .answered(let answer) = step, !answer.awaitsShape {
            permits.leave()
            send(answer, to: inbound, request.id, request, serving, on: sink)
            return nil
        }
        let isAwaited = step.properties?.isAwaited ?? true
        if !isAwaited { serving.end() }
        let gateway = serving.gateway
        let late = PorticoError(.deadlineExceeded, "The request took too long.")
        return gateway.services.deadlines.start(
            until: request.deadline, late: late, on: gateway.executor(for: step)
        ) {
            await gateway.complete(step)
        } whenDone: { [self] result in
            permits.leave()
            if !isAwaited { serving.begin() }
            switch result {
            case .success(let answer): send(answer, to: inbound, request.id, request, serving, on: sink)
            case .failure(let error):
                var answer = failure(PorticoError(unexpected: error), inbound, request.id, gateway)
                answer.trace = step.trace
                send(answer, to: inbound, request.id, request, serving, on: sink)
            }
        }
    }

    private func gatewayRequest(
        _ inbound: InboundRequest, _ id: String, _ serving: ServingGateway
    ) throws(PorticoError) -> GatewayRequest {
        guard inbound.target.utf8.count <= serving.gateway.services.limits.uri else { throw .addressTooLong }
        guard let target = RequestTarget(inbound.target) else { throw .malformed("The address is not well-formed.") }
        return GatewayRequest(
            id: id, method: inbound.method, target: target,
            headers: serving.gateway.hasConsole ? inbound.fields : ConsoleCookie.removed(from: inbound.fields),
            peer: inbound.peer, scheme: inbound.scheme, authority: inbound.authority,
            certificate: try certificate(inbound, serving),
            body: try body(of: inbound, target, serving),
            deadline: inbound.received + serving.settings.request,
            place: serving.gateway.services.tracing.place(inbound.fields))
    }

    /// The client's certificate as far as it holds now. Where a connection needs one, a request without is refused; it ends
    /// the connection then, so that the client shows a certificate again.
    private func certificate(
        _ inbound: InboundRequest, _ serving: ServingGateway
    ) throws(PorticoError) -> [UInt8]? {
        guard let shown = inbound.certificate else { return nil }
        guard !serving.holds(shown) else { return shown.der }
        guard !shown.isRequired else {
            throw PorticoError(.credentialsInvalid, "The client certificate does not hold any more.")
        }
        return nil
    }

    /// A body that has to be waited for counts among its peer's (``IncompleteBodies``) while it is read. Looked at before
    /// the caller is resolved too, which may cost.
    private func body(
        of inbound: InboundRequest, _ target: RequestTarget, _ serving: ServingGateway
    ) throws(PorticoError) -> RequestBodySource {
        switch inbound.body {
        case .whole(let bytes): return .bytes(bytes.map { Array($0.readableBytesView) } ?? [])
        case .incoming(let body):
            let (incomplete, span, peer) = (serving.incomplete, serving.settings.body, inbound.peer)
            if !RequestPermits.isAlwaysAnswered(target.path) { try incomplete.check(peer) }
            return .stream { limit in
                try await incomplete.read(from: peer) { try await body.collect(upTo: limit, within: span) }
            }
        }
    }

    /// `request`: nil where it was not read.
    private func send(
        _ answer: GatewayAnswer, to inbound: InboundRequest, _ id: String, _ request: GatewayRequest?,
        _ serving: ServingGateway,
        on sink: ResponseSink
    ) {
        switch answer.content {
        case .cached(let cached):
            serving.end()
            var response = cached.outbound
            response.account = account(of: answer, inbound)
            let exchange = Exchange(
                inbound: inbound, id: id, request: request, serving: serving, status: response.status, refusal: nil,
                trace: answer.trace, format: cached.isUnchanged ? .none : cached.kept.formatLabel, isTimed: true)
            note(exchange, bytes: response.body.readableBytes)
            sink.send(response)
        case .whole(var response):
            response.frame(isForHead: inbound.method == .head)
            let exchange = Exchange(
                inbound: inbound, id: id, request: request, serving: serving, status: response.status,
                refusal: response.refusal, trace: answer.trace, format: response.formatLabel,
                isTimed: !(response.stream?.isEndless ?? false))
            var outbound = OutboundResponse(
                response.status, fields: response.headers, body: response.buffer, stream: response.stream,
                closesConnection: response.closesConnection)
            outbound.account = account(of: answer, inbound)
            outbound.endsConnection = inbound.certificate.map { !serving.holds($0) } ?? false
            if let stream = response.stream {
                // A stream without an end is not waited for.
                let isAwaited = !stream.isEndless
                if !isAwaited { serving.end() }
                outbound.whenSent = { [self] bytes in
                    if isAwaited { serving.end() }
                    note(exchange, bytes: bytes)
                }
            } else {
                serving.end()
                note(exchange, bytes: response.buffer.readableBytes)
            }
            sink.send(outbound)
        }
    }

    /// By whom the connection's next request is read in turn.
    private func account(of answer: GatewayAnswer, _ inbound: InboundRequest) -> CallerIdentity {
        let caller = answer.trace.caller
        return caller.isEmpty ? .address(clientNetwork(of: inbound.peer)) : .account(caller)
    }

    /// A request with its response, for what is counted, traced and logged of it.
    private struct Exchange: Sendable {
        let inbound: InboundRequest
        let id: String
        let request: GatewayRequest?
        let serving: ServingGateway
        let status: HTTPResponse.Status
        let refusal: AccessRecord.Refusal?
        let trace: RequestTrace
        let format: ResponseFormatLabel
        /// False where its duration says nothing, as that of an event stream.
        let isTimed: Bool
    }

    private func note(_ exchange: Exchange, bytes: Int) {
        let (services, now) = (exchange.serving.gateway.services, ContinuousClock.now)
        let elapsed = now - exchange.inbound.received
        services.metrics.note(
            exchange.status, exchange.format, exchange.inbound.version == .http2 ? .http2 : .http1, exchange.refusal,
            at: exchange.trace.instruments, after: exchange.isTimed ? elapsed : nil)
        if let request = exchange.request, request.place != nil {
            services.tracing.record(
                request, at: exchange.trace.endpoint, exchange.status, exchange.refusal,
                path: LoggedPath.text(exchange.inbound.target), after: elapsed)
        }
        guard let accessLog = exchange.serving.settings.accessLog else { return }
        let isSlow = exchange.isTimed && services.tracing.slow.map { elapsed >= $0 } ?? false
        let wantsSteps = isSlow || exchange.serving.settings.wantsSteps?() ?? false
        accessLog(
            AccessRecord(
                id: exchange.id, method: exchange.inbound.method.rawValue,
                path: LoggedPath.text(exchange.inbound.target)[...], status: exchange.status.code, bytes: bytes,
                endpoint: exchange.trace.endpoint, caller: exchange.trace.caller, refusal: exchange.refusal,
                microseconds: elapsed.microseconds, trace: Self.trace(exchange),
                isSlow: isSlow, steps: wantsSteps ? exchange.request?.timeline.load()?.totals(at: now) ?? [] : nil))
    }

    /// Also where traces are not recorded: the caller's.
    private static func trace(_ exchange: Exchange) -> TraceParent? {
        if let place = exchange.request?.place { return place.own }
        return exchange.inbound.fields.text(.traceParent).flatMap { TraceParent($0) }
    }
}

extension GatewayResponder {
    /// The response to a request that the server does not let in. It is not read, so JSON it is.
    func refusal(_ error: PorticoError, peer: String) -> OutboundResponse {
        let id = ids.next()
        let serving = current.withLock { $0 }
        var response = refusal(error, id, .get, [:], .root, serving.gateway)
        response.frame()
        serving.gateway.services.metrics.note(
            response.status, response.formatLabel, .http1, response.refusal, at: nil, after: .zero)
        serving.settings.accessLog?(
            AccessRecord(
                id: id, method: "GET", path: "-", status: response.status.code, bytes: response.buffer.readableBytes,
                endpoint: "refused", caller: "", refusal: response.refusal, microseconds: 0, trace: nil,
                isSlow: false, steps: nil))
        return OutboundResponse(
            response.status, fields: response.headers, body: response.buffer, closesConnection: true)
    }

    /// The error response to a request that the gateway does not dispatch, in the shape of the contract at its path.
    private func failure(
        _ error: PorticoError, _ inbound: InboundRequest, _ id: String, _ gateway: Gateway
    ) -> GatewayAnswer {
        let target = RequestTarget.path(of: inbound.target, atMost: gateway.services.limits.uri)
        var response = refusal(error, id, inbound.method, inbound.fields, target, gateway)
        if inbound.method == .head { response.omitBody() }
        return GatewayAnswer(content: .whole(response), trace: RequestTrace())
    }

    private func refusal(
        _ error: PorticoError, _ id: String, _ method: HTTPRequest.Method, _ fields: HTTPFields,
        _ target: RequestTarget, _ gateway: Gateway
    ) -> GatewayResponse {
        let bare = GatewayRequest(
            id: id, method: method, target: target, headers: fields, peer: "", body: .bytes([]), deadline: .now)
        var response = gateway.errorResponse(error, of: bare)
        response.headers[.xRequestID] = id
        return response
    }

    /// `OPTIONS *`: the methods that some path takes (RFC 9110, section 9.3.7).
    private func wholeServer(_ id: String) -> GatewayAnswer {
        let response = GatewayResponse(
            .noContent, headers: [.allow: "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS", .xRequestID: id])
        return GatewayAnswer(content: .whole(response), trace: RequestTrace(endpoint: "options"))
    }
}

/// What answers the requests of a listener from one configuration on until the next, and how many are under way.
final class ServingGateway: Sendable {
    let gateway: Gateway
    let settings: ServerSettings
    let incomplete: IncompleteBodies
    private let underWay = Atomic<Int>(0)

    init(_ gateway: Gateway, _ settings: ServerSettings) {
        self.gateway = gateway
        self.settings = settings
        incomplete = IncompleteBodies(perAddress: gateway.services.limits.incompleteShare)
    }

    func begin() { underWay.wrappingAdd(1, ordering: .relaxed) }

    func end() { underWay.wrappingSubtract(1, ordering: .relaxed) }

    /// Whether what a client showed in a handshake is a credential now.
    func holds(_ shown: PeerCertificate) -> Bool { settings.certificate?.holds(shown) ?? false }

    var isIdle: Bool { underWay.load(ordering: .relaxed) <= 0 }
}

/// Requests that are answered by a gateway which gets no more of them.
public struct RequestsUnderWay: Sendable {
    private static let interval = Duration.milliseconds(50)
    private let serving: ServingGateway

    init(_ serving: ServingGateway) {
        self.serving = serving
    }

    /// Returns when the last of them has ended, or at `deadline`. Streams without an end do not count, nor do requests that
    /// may be waiting for this (``EndpointProperties/isAwaited``).
    public func waitUntilEnded(by deadline: ContinuousClock.Instant) async {
        while !serving.isIdle, .now < deadline, (try? await Task.sleep(for: Self.interval)) != nil {}
    }
}

extension Duration {
    fileprivate var microseconds: Int64 { components.seconds * 1_000_000 + components.attoseconds / 1_000_000_000_000 }
}

/// Names requests: a random part for each process, then a count, both to base 36.
struct RequestIDs: Sendable {
    private static let digits = Array("0123456789abcdefghijklmnopqrstuvwxyz".utf8)
    /// Digits of the largest count.
    private static let longest = 13

    private let prefix: [UInt8]
    private let count = SharedCounter()

    init(random: UInt64) {
        prefix = Array("\(String(random, radix: 36))-".utf8)
    }

    /// Written from its end, in one piece: every request has one.
    func next() -> String {
        var rest = count.next()
        return withUnsafeTemporaryAllocation(of: UInt8.self, capacity: prefix.count + Self.longest) { buffer in
            var start = buffer.count
            repeat {
                start -= 1
                buffer[start] = Self.digits[Int(rest % 36)]
                rest /= 36
            } while rest > 0
            start -= prefix.count
            for (index, byte) in prefix.enumerated() { buffer[start + index] = byte }
            return String(decoding: UnsafeBufferPointer(rebasing: buffer[start...]), as: UTF8.self)
        }
    }
}

/// Counts from 1, across threads.
final class SharedCounter: Sendable {
    private let value = Atomic<UInt64>(0)

    func next() -> UInt64 { value.wrappingAdd(1, ordering: .relaxed).newValue }
}
