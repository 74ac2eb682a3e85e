import AdapterKit
import Admission
import AsyncHTTPClient
import Foundation
import IPAddresses
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import Synchronization
import Telemetry

/// Calls one other system over HTTP, within its limits and without credentials of its own.
///
/// Every hop of every call is checked anew: the server against the configured ones, the address that its name leads to
/// against the networks. Nothing is followed, retried or kept beyond what ``UpstreamSettings`` says.
public final class HTTPUpstream: Upstream {
    public let settings: UpstreamSettings
    private let destinations: Destinations
    private let connections: Connections
    private let permits: CallPermits
    private let circuits: CircuitBreakers
    private let budget: Mutex<RetryBudget>
    private let figures = Mutex(UpstreamFigures())
    private let failureLog = Mutex(FailureLogLimit())
    private let random: @Sendable () -> UInt64
    private let log: Log

    public init(
        _ settings: UpstreamSettings, resolver: any NameResolver = SystemNameResolver(),
        random: @escaping @Sendable () -> UInt64 = { .random(in: .min ... .max) }, log: Log
    ) {
        self.settings = settings
        destinations = Destinations(settings, resolver: resolver)
        connections = Connections(settings)
        permits = CallPermits(settings)
        circuits = CircuitBreakers(settings, log: log)
        budget = Mutex(RetryBudget(percent: settings.limits.retries))
        self.random = random
        self.log = log
    }

    public var name: UpstreamName { settings.name }
    public var url: UpstreamAddress { settings.url }
    public var actsForCallers: Bool { false }

    public func stream(_ request: UpstreamRequest, for caller: Principal?) async throws(UpstreamFailure)
        -> UpstreamStream
    {
        let stream = try await countCall(request) {
            guard case .stream(let stream, _) = try await self.perform(request, collects: false) else {
                throw UpstreamFailure(.broken, of: self.name)
            }
            return (stream, stream.status)
        }
        return stream
    }

    public func send(_ request: UpstreamRequest, for caller: Principal?) async throws(UpstreamFailure)
        -> UpstreamResponse
    {
        try await countCall(request) {
            guard case .whole(let response) = try await self.perform(request, collects: true) else {
                throw UpstreamFailure(.broken, of: self.name)
            }
            return (response, response.status)
        }
    }

    /// The present state of the upstream. `credentials` is filled in by who adds them.
    public var status: UpstreamStatus {
        let (counts, open) = (permits.counts, circuits.open)
        return UpstreamStatus(
            name: name, url: url, credentials: settings.clientCertificate == nil ? "none" : "certificate",
            active: counts.running, waiting: counts.waiting,
            openCircuits: open.map(\.origin.description), nextAttempt: open.compactMap(\.until).min(),
            figures: figures.withLock { $0 })
    }

    /// Ends the calls that go on. Must be called before the last reference goes.
    public func stop() async {
        await connections.close()
    }

    /// The same after the last call, or at `deadline`, or where the task is cancelled.
    public func stop(afterCallsUntil deadline: ContinuousClock.Instant) async {
        while permits.counts.running > 0, .now < deadline, (try? await Task.sleep(for: Self.interval)) != nil {}
        await stop()
    }

    private static let interval = Duration.milliseconds(50)
}

extension HTTPUpstream {
    private enum Answer: Sendable {
        case stream(UpstreamStream, AnswerBody)
        case whole(UpstreamResponse)

        /// Without a body, for the plan.
        var head: UpstreamResponse {
            switch self {
            case .stream(let stream, _):
                UpstreamResponse(address: stream.address, status: stream.status, fields: stream.fields, body: [])
            case .whole(let response): response
            }
        }

        func drain() async {
            if case .stream(_, let body) = self { await body.drain() }
        }
    }

    private enum Outcome: Sendable {
        case answered(Answer)
        case failed(UpstreamFailure, wasSent: Bool)

        var planned: CallPlan.Outcome {
            switch self {
            case .answered(let answer): .answered(answer.head)
            case .failed(let failure, let wasSent): .failed(failure, wasSent: wasSent)
            }
        }
    }

    private func countCall<Result: Sendable>(
        _ request: UpstreamRequest, _ call: @Sendable () async throws -> (Result, status: Int)
    ) async throws(UpstreamFailure) -> Result {
        let start = ContinuousClock.now
        do {
            let (result, status) = try await RequestTimeline.measure(.upstream, "upstream \(name)") {
                try await call()
            }
            let elapsed = start.duration(to: .now)
            figures.withLock { figures in
                figures.note("\(status / 100)xx", after: elapsed)
                if status >= 500 {
                    figures.lastFailure = UpstreamFailure(.broken, of: name, detail: "it answered \(status)")
                }
            }
            log(
                .debug, "upstream call",
                [
                    "upstream": .text(name.text), "method": .text(request.method.rawValue),
                    "address": .text(request.address.logged), "status": .count(status),
                    "microseconds": .count(Int(elapsed / .microseconds(1))),
                ])
            return result
        } catch {
            let failure = failure(error)
            figures.withLock { figures in
                figures.note(failure.kind.rawValue, after: start.duration(to: .now))
                // That a circuit is open is said elsewhere; why it opened would be lost.
                if ![.cancelled, .circuitOpen].contains(failure.kind) { figures.lastFailure = failure }
            }
            // Open circuits and full queues have a line of their own or a figure; one line a call would be a flood.
            if ![.circuitOpen, .overloaded, .cancelled].contains(failure.kind) { logFailure(failure, of: request) }
            throw failure
        }
    }

    private func logFailure(_ failure: UpstreamFailure, of request: UpstreamRequest) {
        guard let omitted = failureLog.withLock({ $0.take(failure.kind, at: .now) }) else { return }
        log.warning(
            "upstream call failed",
            [
                "upstream": .text(name.text), "kind": .text(failure.kind.rawValue),
                "address": .text(request.address.logged), "detail": .text(failure.detail),
                "omitted": .count(omitted),
            ])
    }

    /// The request's own deadline or the upstream's, and never later than the caller's.
    private func end(of request: UpstreamRequest) -> ContinuousClock.Instant {
        let limits = settings.limits
        let own = min(request.deadline ?? limits.deadline, max(limits.deadline, limits.longDeadline))
        let end = ContinuousClock.now + max(own, .zero)
        return CallContext.current.map { min(end, $0.deadline) } ?? end
    }

    private func perform(_ request: UpstreamRequest, collects: Bool) async throws -> Answer {
        let end = end(of: request)
        guard ContinuousClock.now < end else { throw late(end) }
        let request = try UpstreamRequestHead.checked(completed(request), of: name)
        let permit = try await permits.enter(until: end)
        budget.withLock { $0.noteCall() }
        var plan = CallPlan(request, settings)
        while true {
            let outcome = try await outcome(of: plan.request, collects, until: end, permit)
            let jitter = Double(random() >> 11) / Double(1 << 53)
            let action = budget.withLock { plan.next(after: outcome.planned, &$0, jitter: jitter) }
            switch (action, outcome) {
            case (.send, .answered(let answer)): await answer.drain()
            case (.pause(let pause), _):
                guard ContinuousClock.now + pause < end else { return try Self.result(outcome) }
                if case .answered(let answer) = outcome { await answer.drain() }
                figures.withLock { $0.retries += 1 }
                try await Task.sleep(for: pause)
            case (.fail(let failure), _): throw failure
            case (.deliver, _), (.send, .failed): return try Self.result(outcome)
            }
        }
    }

    private static func result(_ outcome: Outcome) throws -> Answer {
        switch outcome {
        case .answered(let answer): return answer
        case .failed(let failure, _): throw failure
        }
    }

    private func outcome(
        of request: UpstreamRequest, _ collects: Bool, until end: ContinuousClock.Instant, _ permit: CallPermit
    ) async throws -> Outcome {
        let circuit = try circuits.enter(request.address.origin)
        let start = ContinuousClock.now
        do {
            var refused = UpstreamFailure(.unreachable, of: name)
            for address in try await addresses(of: request.address.origin, until: end) {
                do {
                    let answer = try await exchange(request, at: address, until: end, circuit, permit)
                    guard collects, case .stream(let stream, _) = answer else { return .answered(answer) }
                    return .answered(.whole(try await stream.collected()))
                } catch  where Self.isBeforeSending(error) {
                    refused = failure(error)
                }
            }
            circuit.leave(.failed)
            return .failed(refused, wasSent: false)
        } catch {
            // Who gave up says nothing about the server; the deadline does, where the server had time to answer.
            let isLate = ContinuousClock.now >= end
            let failure = isLate ? late(end) : failure(error)
            let wasPatient = start.duration(to: .now) >= settings.limits.patience
            circuit.leave(
                isLate && !wasPatient ? .unknown : CallPlan.circuitOutcome(.failed(failure, wasSent: true)))
            try Task.checkCancellation()
            return .failed(failure, wasSent: true)
        }
    }

    private func late(_ end: ContinuousClock.Instant) -> UpstreamFailure {
        UpstreamFailure(.timedOut, of: name, detail: "the deadline passed")
    }

    /// The addresses to try, or the end of the wait for a name server.
    private func addresses(of origin: UpstreamOrigin, until end: ContinuousClock.Instant) async throws -> [IPAddress] {
        if let known = try destinations.knownAddresses(of: origin) { return known }
        return try await withThrowingTaskGroup(of: [IPAddress].self) { group in
            group.addTask { try await self.destinations.addresses(of: origin) }
            group.addTask {
                try await Task.sleep(until: end, clock: .continuous)
                throw self.late(end)
            }
            defer { group.cancelAll() }
            guard let first = try await group.next() else { throw CancellationError() }
            return first
        }
    }

    /// The request with what every request says beside what it was given.
    private func completed(_ request: UpstreamRequest) -> UpstreamRequest {
        var request = request
        if request.fields["Accept-Encoding"] == nil { request.fields["Accept-Encoding"] = "gzip, deflate" }
        let context = CallContext.current
        if let (span, state) = TraceParent.current {
            request.fields["traceparent"] = span.text
            if let state { request.fields["tracestate"] = state }
            return request
        }
        request.fields["traceparent"] = TraceParent(continuing: context?.traceParent, random: random).text
        if context?.traceParent.flatMap({ TraceParent($0) }) != nil,
            let state = TraceState.propagated(context?.traceState)
        {
            request.fields["tracestate"] = state
        }
        return request
    }
}

extension HTTPUpstream {
    private func exchange(
        _ request: UpstreamRequest, at address: IPAddress, until end: ContinuousClock.Instant,
        _ circuit: CircuitBreakers.Passage, _ permit: CallPermit
    ) async throws -> Answer {
        let lease = connections.lease(request.address.origin.host, at: address)
        let late = UpstreamFailure(.timedOut, of: name, detail: "the other side was silent for too long")
        let exchange = ResponseExchange(late: late, source: request.streamedBody)
        exchange.begin(try message(request), with: lease.client)
        do {
            let head = try await exchange.head(
                until: min(end, .now + settings.limits.connect + settings.limits.firstByte))
            return try response(
                to: request, head, exchange, CallAttempt(circuit, permit, lease, outcome: Self.outcome(head)), end)
        } catch {
            exchange.fail(error)
            throw error
        }
    }

    private static func outcome(_ head: HTTPResponseHead) -> CircuitBreaker.Outcome {
        CallPlan.isOverload(Int(head.status.code)) ? .failed : .answered
    }

    private func message(_ request: UpstreamRequest) throws -> HTTPClient.Request {
        var body: HTTPClient.Body?
        if let source = request.streamedBody {
            body = .stream { writer in Self.write(source, to: writer) }
        } else if !request.body.isEmpty {
            body = .bytes(request.body)
        }
        // The client would read an address as Foundation does, and send what that makes of it: `/` for an escape that is no
        // UTF-8. It is given the server alone; the connection writes the target.
        var headers = HTTPHeaders(request.fields.all.map { ($0.name, $0.value) })
        headers.add(name: RequestTargetHandler.field, value: request.address.target)
        return try HTTPClient.Request(
            url: "\(request.address.origin)/", method: HTTPMethod(rawValue: request.method.rawValue), headers: headers,
            body: body)
    }

    /// The next piece is asked for when this one has been taken. The exchange cancels the source at its end, which ends
    /// this too.
    private static func write(_ source: any ByteStream, to writer: HTTPClient.Body.StreamWriter)
        -> EventLoopFuture<Void>
    {
        MultiThreadedEventLoopGroup.singleton.any().makeFutureWithTask {
            while let piece = try await source.next() {
                try await writer.write(.byteBuffer(ByteBuffer(bytes: piece))).get()
            }
        }
    }

    private func response(
        to request: UpstreamRequest, _ head: HTTPResponseHead, _ exchange: ResponseExchange, _ attempt: CallAttempt,
        _ end: ContinuousClock.Instant
    ) throws -> Answer {
        var fields = try fields(head.headers)
        let hasBody = request.method != .head && head.status != .notModified && head.status != .noContent
        let coding = hasBody ? fields["Content-Encoding"] : nil
        let decoder: ContentDecoder
        do throws(ContentDecoder.Failure) { decoder = try ContentDecoder(coding) } catch { throw failure(error) }
        if !decoder.isIdentity {
            fields["Content-Encoding"] = nil
            fields["Content-Length"] = nil
        }
        var characters: CharacterSetDecoder?
        if request.convertsToUTF8, let name = fields["Content-Type"].flatMap(CharacterSetDecoder.name(inContentType:)) {
            guard let known = CharacterSetDecoder(name) else {
                throw UpstreamFailure(.broken, of: self.name, detail: "an unknown character set")
            }
            characters = known
        }
        let answer = settings.limits.answer
        let limits = AnswerBody.Limits(
            upstream: name, bytes: min(request.answerLimit ?? answer, answer), silence: settings.limits.firstByte,
            end: end)
        let body = AnswerBody(exchange, attempt, limits, decoder: decoder, characters: characters) { [self] in
            ContinuousClock.now >= end && !($0 is CancellationError) && !($0 is UpstreamFailure)
                ? late(end) : failure($0)
        }
        let stream = UpstreamStream(
            address: request.address, status: Int(head.status.code), fields: fields, body: body)
        return .stream(stream, body)
    }

    private func fields(_ headers: HTTPHeaders) throws -> UpstreamHeaders {
        let bytes = headers.reduce(0) { $0 + $1.name.utf8.count + $1.value.utf8.count }
        guard bytes <= settings.limits.head else {
            throw UpstreamFailure(.answerTooLarge, of: name, detail: "\(bytes) bytes of header fields")
        }
        return UpstreamHeaders(headers.map { (name: $0.name, value: $0.value) })
    }
}

extension HTTPUpstream {
    /// Converts errors of the HTTP libraries to ``UpstreamFailure``.
    func failure(_ error: any Error) -> UpstreamFailure {
        if let known = error as? UpstreamFailure { return known }
        if let coding = error as? ContentDecoder.Failure {
            let detail =
                switch coding {
                case .unknownCoding: "an unknown content coding"
                case .malformed: "the body is not of its content coding"
                }
            return UpstreamFailure(.broken, of: name, detail: detail)
        }
        return UpstreamFailure(kind(of: error), of: name, detail: ConnectionProblem(error)?.sentence ?? "\(error)")
    }

    private func kind(of error: any Error) -> UpstreamFailure.Kind {
        if Self.isBeforeSending(error) { return .unreachable }
        if error is CancellationError { return .cancelled }
        if error is Connections.UnexpectedAddress { return .destinationRefused }
        switch error as? HTTPClientError {
        case .cancelled: return .cancelled
        case .deadlineExceeded, .readTimeout, .writeTimeout, .getConnectionFromPoolTimeout: return .timedOut
        default: return .broken
        }
    }

    /// Whether there was no connection, so that the other side has seen nothing.
    static func isBeforeSending(_ error: any Error) -> Bool {
        switch error {
        case let error as HTTPClientError: [.connectTimeout, .tlsHandshakeTimeout].contains(error)
        case is NIOConnectionError, is NIOSSLError: true
        case let error as IOError: [ECONNREFUSED, ENETUNREACH, EHOSTUNREACH].contains(error.errnoCode)
        case let error as ChannelError: if case .connectTimeout = error { true } else { false }
        default: false
        }
    }
}
