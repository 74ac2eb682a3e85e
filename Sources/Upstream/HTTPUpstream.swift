import AdapterKit
import AsyncHTTPClient
import Foundation
import IPAddresses
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL

/// Calls one other system over HTTP, within its limits.
///
/// Every hop of every call is checked anew: the server against the configured ones, the address that its name leads to
/// against the networks. Nothing is followed, retried or kept beyond what ``UpstreamSettings`` says.
public final class HTTPUpstream: UpstreamClient {
    public let settings: UpstreamSettings
    private let destinations: Destinations
    private let connections: Connections
    private let calls: CallCount
    private let circuits: CircuitBreakers
    private let log: Log

    public init(_ settings: UpstreamSettings, resolver: any NameResolver = SystemNameResolver(), log: Log) {
        self.settings = settings
        destinations = Destinations(settings, resolver: resolver)
        connections = Connections(settings)
        calls = CallCount(limit: settings.limits.calls)
        circuits = CircuitBreakers(settings, log: log)
        self.log = log
    }

    public var name: UpstreamName { settings.name }

    public func send(_ request: UpstreamRequest) async throws(UpstreamFailure) -> UpstreamResponse {
        guard calls.enter() else { throw UpstreamFailure(.overloaded, of: name) }
        defer { calls.leave() }
        let deadline = min(request.deadline ?? settings.limits.deadline, settings.limits.deadline)
        let end = ContinuousClock.now + deadline
        do {
            return try await within(deadline) { try await self.carryOut(request, until: end) }
        } catch {
            let failure = failure(error)
            log.warning(
                "upstream call failed",
                [
                    "upstream": .text(name.text), "kind": .text(failure.kind.rawValue),
                    "address": .text(request.address.logged), "detail": .text(failure.detail),
                ])
            throw failure
        }
    }

    /// After the last call. Must be called before the last reference goes.
    public func stop() async {
        await connections.close()
    }
}

extension HTTPUpstream {
    /// The work, or its end when the time is over, whichever comes first.
    private func within<Result: Sendable>(
        _ deadline: Duration, _ work: @escaping @Sendable () async throws -> Result
    ) async throws -> Result {
        try await withThrowingTaskGroup(of: Result.self) { group in
            group.addTask(operation: work)
            group.addTask {
                try await Task.sleep(for: deadline)
                throw UpstreamFailure(.timedOut, of: self.name, detail: "after \(deadline)")
            }
            defer { group.cancelAll() }
            guard let first = try await group.next() else { throw CancellationError() }
            return first
        }
    }

    private func carryOut(_ request: UpstreamRequest, until end: ContinuousClock.Instant) async throws
        -> UpstreamResponse
    {
        var plan = CallPlan(request, settings)
        // Who gave up says nothing about the server; the deadline does.
        let failed = { (_: any Error) in ContinuousClock.now >= end ? CircuitBreaker.Outcome.failed : .unknown }
        while true {
            let asked = plan.request
            let outcome = try await circuits.through(
                asked.address.origin, circuitOutcome: CallPlan.circuitOutcome, failed: failed
            ) {
                try await self.outcome(of: asked)
            }
            switch plan.next(after: outcome) {
            case .send: continue
            case .pause(let pause): try await Task.sleep(for: pause)
            case .deliver(let response): return response
            case .fail(let failure): throw failure
            }
        }
    }

    private func outcome(of request: UpstreamRequest) async throws -> CallPlan.Outcome {
        var refused = UpstreamFailure(.unreachable, of: name)
        do {
            for address in try await destinations.addresses(of: request.address.origin) {
                do {
                    return .answered(try await exchange(request, at: address))
                } catch  where Self.isBeforeSending(error) {
                    refused = failure(error)
                }
            }
            return .failed(refused, wasSent: false)
        } catch {
            try Task.checkCancellation()
            return .failed(failure(error), wasSent: true)
        }
    }

    private func exchange(_ request: UpstreamRequest, at address: IPAddress) async throws -> UpstreamResponse {
        var message = HTTPClientRequest(url: request.address.description)
        message.method = HTTPMethod(rawValue: request.method.rawValue)
        message.headers = HTTPHeaders(request.fields.all.map { ($0.name, $0.value) })
        if !request.body.isEmpty { message.body = .bytes(request.body) }
        let deadline = NIODeadline.now() + TimeAmount(settings.limits.deadline)
        return try await connections.with(request.address.origin.host, at: address) { [message] client in
            let response = try await client.execute(message, deadline: deadline)
            let fields = try head(response.headers)
            return UpstreamResponse(
                address: request.address, status: Int(response.status.code), fields: fields,
                body: try await body(of: response))
        }
    }

    private func head(_ headers: HTTPHeaders) throws -> UpstreamHeaders {
        let bytes = headers.reduce(0) { $0 + $1.name.utf8.count + $1.value.utf8.count }
        guard bytes <= settings.limits.head else {
            throw UpstreamFailure(.answerTooLarge, of: name, detail: "\(bytes) bytes of header fields")
        }
        return UpstreamHeaders(headers.map { (name: $0.name, value: $0.value) })
    }

    /// Leaves off at the first byte too many; that ends the connection.
    private func body(of response: HTTPClientResponse) async throws -> [UInt8] {
        var bytes: [UInt8] = []
        for try await chunk in response.body {
            guard bytes.count + chunk.readableBytes <= settings.limits.answer else {
                throw UpstreamFailure(
                    .answerTooLarge, of: name, detail: "more than \(settings.limits.answer) bytes of body")
            }
            bytes.append(contentsOf: chunk.readableBytesView)
        }
        return bytes
    }
}

extension HTTPUpstream {
    /// Converts errors of the HTTP libraries to ``UpstreamFailure``.
    func failure(_ error: any Error) -> UpstreamFailure {
        if let known = error as? UpstreamFailure { return known }
        return UpstreamFailure(kind(of: error), of: name, detail: "\(error)")
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
