import AdapterKit
import HTTPTypes
import HummingbirdCore
import Logging
import NIOCore
import Synchronization

/// Turns the requests of connections into ``GatewayRequest`` values, has ``Gateway`` answer them, writes the responses
/// and the access log.
///
/// In this order: request id, `http.limits.inFlight`, head and target limits, client address, deadline.
final class GatewayConnection: Sendable {
    /// Thrown after a response that is the connection's last: the server closes the channel then.
    struct Finished: Error {}

    let gateway: Gateway
    let settings: ServerSettings
    let logger: Logger
    let ids: RequestIDs
    let dates = DateHeader()
    let permits: RequestPermits
    private let incomplete: IncompleteBodies
    /// Whether a request is a stream among others, which ends without its connection (HTTP/2).
    private let carriesStreams: Bool
    let peers: PeerAddress

    init(gateway: Gateway, settings: ServerSettings, logger: Logger) {
        carriesStreams = false
        self.gateway = gateway
        self.settings = settings
        self.logger = logger
        var generator = SystemRandomNumberGenerator()
        ids = RequestIDs(random: generator.next())
        permits = RequestPermits(
            limit: gateway.services.limits.inFlight, reserve: gateway.services.limits.urgent)
        incomplete = IncompleteBodies(perAddress: gateway.services.limits.incompleteShare)
        peers = PeerAddress(proxies: settings.trustedProxies, isSecure: settings.certificate != nil)
    }

    /// The same for HTTP/2, counted together.
    init(carryingStreamsOf other: GatewayConnection) {
        carriesStreams = true
        gateway = other.gateway
        settings = other.settings
        logger = other.logger
        ids = other.ids
        permits = other.permits
        incomplete = other.incomplete
        peers = other.peers
    }

    func respond(to request: Request, _ writer: consuming ResponseWriter, _ channel: any Channel) async throws {
        let began = ContinuousClock.now
        let id = ids.next()
        let inboundBody = InboundBody(request, isStream: carriesStreams, pace: UploadRate(rate: settings.readRate))
        if request.headers[.expect]?.lowercased() == "100-continue", inboundBody.isWithin(gateway.services.limits.body)
        {
            try await writer.writeInformationalHead(HTTPResponse(status: .continue))
        }
        var (response, trace) = await answer(request, id: id, inboundBody: inboundBody, channel, began: began)
        let isLast = response.closesConnection || !inboundBody.allowsReuse || request.headers[.connection] == "close"
        addFields(to: &response, isLast: isLast)
        let access = access(
            request.method, LoggedPath.text(request.head.path ?? "")[...], response, trace, id: id, began: began)
        if let stream = response.stream {
            try await write(stream, response, to: writer, channel, access)
        } else {
            log(access)
            try await write(response, to: writer)
        }
        if isLast { throw Finished() }
    }

    private func answer(
        _ request: Request, id: String, inboundBody: InboundBody, _ channel: any Channel, began: ContinuousClock.Instant
    ) async -> (GatewayResponse, RequestTrace) {
        let deadline = began + settings.request
        let gateway = gateway
        do {
            try permits.take(for: request.head.path ?? "")
            defer { permits.leave() }
            if request.head.path == "*" { return (wholeServer(id: id), RequestTrace(endpoint: "options")) }
            let inner = try gatewayRequest(request, id: id, inboundBody: inboundBody, channel, deadline: deadline)
            // Checked before the caller is resolved, and again when the body is read.
            if inboundBody.isAnnounced, !RequestPermits.isAlwaysAnswered(inner.target.path) {
                try incomplete.check(inner.peer)
            }
            let late = PorticoError(.deadlineExceeded, "The request took too long.")
            // A stream's channel carries one request: where it has gone no client waits.
            let cancelWithStream = { [carriesStreams] (work: any CancellableWork) in
                if carriesStreams { channel.closeFuture.whenComplete { _ in work.cancel() } }
            }
            return try await gateway.services.deadlines.run(until: deadline, late: late, began: cancelWithStream) {
                await gateway.respond(to: inner)
            }
        } catch {
            let target = RequestTarget.path(of: request.head.path ?? "", atMost: gateway.services.limits.uri)
            return (
                failure(error, id: id, method: request.method, headers: request.headers, target: target), RequestTrace()
            )
        }
    }

    private func gatewayRequest(
        _ request: Request, id: String, inboundBody: InboundBody, _ channel: any Channel,
        deadline: ContinuousClock.Instant
    ) throws(PorticoError) -> GatewayRequest {
        // The rules for a head of HTTP/1 hold for HTTP/2 as well, which has a decoder of its own.
        guard let authority = request.head.authority, !authority.isEmpty else {
            throw .malformed("A request names its host, once.")
        }
        guard RequestTarget.isHost(authority) else { throw .malformed("The host is not well-formed.") }
        let text = request.head.path ?? ""
        guard text.utf8.count <= gateway.services.limits.uri else {
            throw .addressTooLong
        }
        // The decoder of HTTP/1 counted its fields; HTTP/2's counts bytes only.
        guard request.headers.isWithin(gateway.services.limits.requestHead) else { throw .headTooLarge }
        guard RequestTarget.isPrintable(text), let target = RequestTarget(text) else {
            throw PorticoError(.requestMalformed, "The address is not well-formed.")
        }
        let peer = peers.peer(behind: channel.remoteAddress, request.headers)
        return GatewayRequest(
            id: id, method: request.method, target: target, headers: request.headers, peer: peer,
            origin: peers.origin(of: request.head, behind: channel.remoteAddress),
            body: inboundBody.source(from: peer, incomplete), deadline: deadline)
    }

    func addFields(to response: inout GatewayResponse, isLast: Bool) {
        response.headers.put(.date, dates.text())
        response.frame()
        if isLast, !carriesStreams { response.headers[.connection] = "close" }
    }

    /// Large bodies go out in pieces, each in a buffer of its own, so that a slow reader is written to as it reads.
    private func write(_ response: GatewayResponse, to writer: consuming ResponseWriter) async throws {
        let head = HTTPResponse(status: response.status, headerFields: response.headers)
        let chunk = gateway.services.limits.chunk
        guard response.buffer.readableBytes > chunk else {
            let body =
                response.buffer.readableBytes == 0 ? ResponseBody() : ResponseBody(byteBuffer: response.buffer)
            return try await writer.write(response: head, body: body)
        }
        var body = try await writer.writeHead(head)
        var rest = response.buffer
        while let piece = rest.readSlice(length: min(chunk, max(rest.readableBytes, 1))) { try await body.write(piece) }
        try await body.finish(nil)
    }

    /// The place among the requests under way was given back before: a stream may last for days.
    private func write(
        _ stream: any ResponseStream, _ response: GatewayResponse, to writer: consuming ResponseWriter,
        _ channel: any Channel, _ access: AccessRecord?
    ) async throws {
        var sent = 0
        defer {
            stream.end()
            log(access?.sent(sent + stream.bytesBeside))
        }
        let head = HTTPResponse(status: response.status, headerFields: response.headers)
        channel.closeFuture.whenComplete { _ in stream.end() }
        let halfClose = carriesStreams || !stream.isEndless ? nil : HalfCloseHandler()
        if let halfClose { try await channel.pipeline.addHandler(halfClose) }
        var body = try await writer.writeHead(head)
        stream.begin(on: PipelineBodyChannel(channel: channel))
        while let piece = try await stream.next() {
            let size = piece.readableBytes
            try await body.write(piece)
            sent += size
        }
        try await body.finish(nil)
        if let halfClose { try await channel.pipeline.removeHandler(halfClose) }
    }

    /// Nil where there is no access log.
    func access(
        _ method: HTTPRequest.Method, _ path: Substring, _ response: GatewayResponse, _ trace: RequestTrace, id: String,
        began: ContinuousClock.Instant
    ) -> AccessRecord? {
        access(
            method, path, status: response.status.code, bytes: response.buffer.readableBytes, trace, id: id,
            refusal: response.refusal, began: began)
    }

    func access(
        _ method: HTTPRequest.Method, _ path: Substring, status: Int, bytes: Int, _ trace: RequestTrace, id: String,
        refusal: AccessRecord.Refusal? = nil, began: ContinuousClock.Instant
    ) -> AccessRecord? {
        guard settings.accessLog != nil else { return nil }
        return AccessRecord(
            id: id, method: method.rawValue, path: path, status: status, bytes: bytes, endpoint: trace.endpoint,
            caller: trace.caller, refusal: refusal,
            microseconds: (ContinuousClock.now - began).nanoseconds / 1_000)
    }

    func log(_ access: AccessRecord?) {
        if let access { settings.accessLog?(access) }
    }
}

extension AccessRecord {
    /// The same with what was sent of the body.
    func sent(_ bytes: Int) -> AccessRecord {
        var copy = self
        copy.bytes = bytes
        return copy
    }
}

extension RequestTarget {
    static let root = RequestTarget("/")!
}

extension GatewayConnection {
    /// The last response of a connection whose request is not let in. The request stays unread, so JSON it is.
    func refusal(_ error: PorticoError, peer: String) -> GatewayResponse {
        let id = ids.next()
        var response = failure(error, id: id, method: .get, headers: [:])
        addFields(to: &response, isLast: true)
        log(access(.get, "-", response, RequestTrace(endpoint: "refused"), id: id, began: .now))
        return response
    }

    /// The error response to a request that the gateway does not answer, in the shape of the contract at its path.
    func failure(
        _ error: any Error, id: String, method: HTTPRequest.Method, headers: HTTPFields, target: RequestTarget = .root
    ) -> GatewayResponse {
        let bare = GatewayRequest(
            id: id, method: method, target: target, headers: headers, peer: "", body: .bytes([]), deadline: .now)
        var response = gateway.refusal(PorticoError(unexpected: error), of: bare)
        if method == .head { response.omitBody() }
        response.headers[.xRequestID] = id
        return response
    }

    /// `OPTIONS *`: the methods that some path takes (RFC 9110, section 9.3.7).
    func wholeServer(id: String) -> GatewayResponse {
        GatewayResponse(
            .noContent, headers: [.allow: "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS", .xRequestID: id])
    }
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
