import AdapterKit
import NIOCore
import NIOHTTP1
import NIOHTTP2
import NIOSSL
import NIOTLS

/// The state that all connections of a server share.
final class ServerContext: Sendable {
    let configuration: ServerConfiguration
    let responder: any RequestResponder
    let dates: DateHeader
    let permits: ConnectionPermits
    let turns: LoopReadTurns

    init(_ configuration: ServerConfiguration, _ responder: any RequestResponder) {
        self.configuration = configuration
        self.responder = responder
        dates = DateHeader()
        permits = ConnectionPermits(configuration)
        turns = LoopReadTurns()
    }

    private init(_ configuration: ServerConfiguration, successorOf old: ServerContext) {
        self.configuration = configuration
        (responder, dates, permits, turns) = (old.responder, old.dates, old.permits, old.turns)
    }

    /// The same server with another configuration.
    func reconfigured(_ configuration: ServerConfiguration) -> ServerContext {
        permits.change(configuration)
        return ServerContext(configuration, successorOf: self)
    }

    /// A refusal as HTTP/1.1 has it, the connection's last response.
    func lastResponse(_ error: PorticoError, peer: String, isForHead: Bool = false) -> ByteBuffer {
        let response = responder.refusal(error, peer: peer)
        var bytes = ByteBufferAllocator().buffer(capacity: 512 + response.body.readableBytes)
        bytes.writeHead(of: response, dates, version: "HTTP/1.1 ", isLast: true)
        if !isForHead { bytes.writeImmutableBuffer(response.body) }
        return bytes
    }
}

/// Adds a connection's handlers. What is not as expected ends the connection before it serves anything.
extension ServerContext {
    /// On the channel's event loop.
    func setUp(_ channel: any Channel) throws {
        let permit = permits.take(for: channel, of: configuration.peers.client(of: channel))
        if case .none = permit { channel.close(promise: nil) }
        let pipeline = channel.pipeline.syncOperations
        try pipeline.addHandlers([
            SlowReaderHandler(span: configuration.write, rate: configuration.writeRate), LingeringCloseHandler(),
        ])
        guard let certificate = configuration.certificate else {
            let began = channel.eventLoop.now
            return try pipeline.addHandler(
                LoadSheddingHandler(server: self, idleTimeout: IdleTimeout(idle: configuration.idle, since: began)) {
                    try self.addFirstVersion(channel, permit, since: began)
                })
        }
        let loaded = certificate.current
        // Before the handshake, which is what costs.
        try pipeline.addHandlers([
            PlainRequestHandler(server: self), NIOSSLServerHandler(context: loaded.context),
            HandshakeDeadline(configuration.idle),
            ApplicationProtocolNegotiationHandler { result, channel in
                channel.eventLoop.makeCompletedFuture {
                    do {
                        let shown = loaded.authorities.flatMap { PeerCertificate(of: channel, verifiedBy: $0) }
                        result == .negotiated("h2")
                            ? try self.addSecondVersion(channel, permit, shown)
                            : try self.addFirstVersion(channel, permit, shown, since: channel.eventLoop.now)
                    } catch {
                        channel.close(promise: nil)
                        throw error
                    }
                }
            },
        ])
    }

    private func addFirstVersion(
        _ channel: any Channel, _ permit: ConnectionPermits.Permit, _ certificate: PeerCertificate? = nil,
        since began: NIODeadline
    ) throws {
        let connection = HTTP1ConnectionHandler(
            server: self, rejected: permit.rejection, certificate: certificate, since: began)
        let limits = configuration.head
        var decoding = NIOHTTPDecoderLimitConfiguration()
        decoding.maxHeaderFieldSize = limits.bytes
        decoding.maxHeaderListSize = limits.bytes
        decoding.maxHeaderFieldCount = limits.fields
        let decoder = HTTPRequestDecoder(leftOverBytesStrategy: .dropBytes, limitConfiguration: decoding)
        try channel.pipeline.syncOperations.addHandlers([
            DecoderInputHandler(connection), ByteToMessageHandler(decoder), connection,
        ])
    }

    func addSecondVersion(
        _ channel: any Channel, _ permit: ConnectionPermits.Permit, _ certificate: PeerCertificate? = nil
    ) throws {
        // There is no stream yet that could carry a refusal.
        if permit.rejection != nil { channel.close(promise: nil) }
        let frames = PeerFrameHandler(
            head: configuration.head.bytes, streams: HTTP2ConnectionHandler.streams, since: channel.eventLoop.now)
        let connection = HTTP2ConnectionHandler(
            server: self, frames: frames, certificate: certificate, since: channel.eventLoop.now)
        var settings = NIOHTTP2Handler.ConnectionConfiguration()
        let unpacked = Self.unpacked * (configuration.head.bytes + configuration.target)
        settings.initialSettings = [
            // Beyond what is announced, so that one too many ends its stream and not the connection.
            HTTP2Setting(parameter: .maxConcurrentStreams, value: 2 * HTTP2ConnectionHandler.streams),
            HTTP2Setting(parameter: .maxHeaderListSize, value: unpacked),
        ]
        settings.maximumSequentialContinuationFrames = max(5, unpacked / Self.smallestFrameLimit + 1)
        // What floods a connection (resets, settings, pings, empty frames, continuations) is counted by NIOHTTP2, which
        // ends it; the rest by ``PeerFrameHandler``.
        try channel.pipeline.syncOperations.addHandlers([
            frames, NIOHTTP2Handler(mode: .server, frameDelegate: connection, connectionConfiguration: settings),
            connection,
        ])
    }

    /// Times the limit of a head that is unpacked, so that a stream and not its connection ends: the state of the
    /// compression is lost where unpacking stops.
    private static let unpacked = 4
    /// Bytes of a frame of a peer that sends frames as long as it may (RFC 9113, section 6.5.2).
    private static let smallestFrameLimit = 1 << 14
}

/// `http.deadlines.head` for the TLS handshake, during which nothing else watches a connection. It goes when that ends.
final class HandshakeDeadline: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer

    private let limit: TimeAmount
    private var timer: Scheduled<Void>?
    private var isStopping = false

    init(_ limit: Duration) {
        self.limit = .nanoseconds(limit.nanoseconds)
    }

    func handlerAdded(context: ChannelHandlerContext) {
        startTimer(context, limit)
    }

    private func startTimer(_ context: ChannelHandlerContext, _ limit: TimeAmount) {
        timer?.cancel()
        timer = context.eventLoop.assumeIsolated().scheduleTask(in: limit) { context.close(promise: nil) }
    }

    private func announceStop(_ channel: any Channel) {
        channel.eventLoop.execute { channel.pipeline.fireUserInboundEventTriggered(ChannelShouldQuiesceEvent()) }
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        timer?.cancel()
        timer = nil
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        // The handlers that handle a stop are not there yet.
        if event is ChannelShouldQuiesceEvent {
            isStopping = true
            return startTimer(context, StopGrace.first)
        }
        // Passed on first: a handler that is removed has no next one.
        context.fireUserInboundEventTriggered(event)
        if case .handshakeCompleted = event as? TLSUserEvent {
            if isStopping { announceStop(context.channel) }
            context.pipeline.syncOperations.removeHandler(context: context, promise: nil)
        }
    }
}

@available(*, unavailable)
extension HandshakeDeadline: Sendable {}
