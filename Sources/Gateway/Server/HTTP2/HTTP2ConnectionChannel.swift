import HummingbirdCore
import Logging
import NIOCore
import NIOHTTP2
import NIOHTTPTypes
import NIOHTTPTypesHTTP2

/// A connection of HTTP/2: NIOHTTP2 with the gateway's limits, and HummingbirdCore's handling of each stream.
///
/// HummingbirdHTTP2's own channel cannot be given limits, and ends a connection with each error of one of its streams.
struct HTTP2ConnectionChannel: Sendable {
    typealias Stream = NIOAsyncChannel<HTTPRequestPart, HTTPResponsePart>

    struct Value: Sendable {
        fileprivate let streams: NIOHTTP2Handler.AsyncStreamMultiplexer<Stream?>
    }

    /// What a request does on its stream.
    let requests: HTTP1Channel
    /// Of the streams.
    let connection: GatewayConnection

    /// On the channel's event loop.
    func setup(channel: any Channel) throws -> Value {
        let settings = connection.settings
        let pipeline = channel.pipeline.syncOperations
        try pipeline.addHandlers([
            IdleStateHandler(allTimeout: .nanoseconds(2 * settings.idle.nanoseconds)), IdleCloseHandler(),
            StreamlessDeadline(settings.idle * 2),
            PeerFrameHandler(head: connection.gateway.services.limits.head, streams: Self.streams),
        ])
        let idle = TimeAmount.nanoseconds(settings.idle.nanoseconds)
        let manager = NIOHTTP2ServerConnectionManagementHandler(
            eventLoop: channel.eventLoop,
            configuration: .init(maxIdleTime: idle, maxAge: nil, maxGraceTime: nil, keepalive: nil))
        let errors = ConnectionErrorHandler()
        let streams = try pipeline.configureAsyncHTTP2Pipeline(
            mode: .server, streamDelegate: manager.http2StreamDelegate, frameDelegate: errors,
            configuration: configuration
        ) { stream in
            stream.eventLoop.makeCompletedFuture { try self.stream(stream) }
        }
        try pipeline.addHandlers([manager, errors])
        return Value(streams: streams)
    }

    /// What floods a connection (resets, settings, pings, empty frames, continuations) is counted by NIOHTTP2, which ends
    /// it; the rest by ``PeerFrameHandler``.
    private var configuration: NIOHTTP2Handler.Configuration {
        let head = connection.gateway.services.limits.head
        let unpacked = FieldSectionLimits.unpacked * (head + connection.gateway.services.limits.uri)
        var configuration = NIOHTTP2Handler.Configuration()
        configuration.connection.initialSettings = [
            // Beyond what is announced, so that one too many ends its stream and not the connection.
            HTTP2Setting(parameter: .maxConcurrentStreams, value: 2 * Self.streams),
            HTTP2Setting(parameter: .maxHeaderListSize, value: unpacked),
        ]
        configuration.connection.maximumSequentialContinuationFrames = max(5, unpacked / Self.smallestFrameLimit + 1)
        return configuration
    }

    /// Requests of one connection under way at once.
    private static let streams = 100
    /// Of a peer that sends frames as long as it may (RFC 9113, section 6.5.2).
    private static let smallestFrameLimit = 1 << 14

    /// Nil for a stream beyond the limit, which is reset.
    private func stream(_ channel: any Channel) throws -> Stream? {
        let connectionPipeline = channel.parent?.pipeline.syncOperations
        if let open = try? connectionPipeline?.handler(type: StreamlessDeadline.self).open, open >= Self.streams {
            try? connectionPipeline?.handler(type: PeerFrameHandler.self).streamRefused()
            try channel.pipeline.syncOperations.addHandler(RefusedStreamHandler())
            return nil
        }
        try channel.pipeline.syncOperations.addHandlers([
            StreamDeadline(connection.settings.write), StreamCloseHandler(), FieldSectionLimits(connection),
            HTTP2FramePayloadToHTTPServerCodec(), MalformedRequestHandler(),
        ])
        return try NIOAsyncChannel(wrappingChannelSynchronously: channel)
    }

    func handle(value: Value, logger: Logger) async {
        // What ends a connection is no error of the gateway.
        try? await withThrowingDiscardingTaskGroup { group in
            for try await case .some(let stream) in value.streams.inbound {
                group.addTask { await requests.handle(value: stream, logger: logger) }
            }
        }
    }
}

/// Closes a connection of HTTP/2 after an error of the connection, and not after one of a stream.
///
/// NIOHTTP2 reports both in the same way. Before an error of the connection it has written GOAWAY with a code, which it
/// tells its delegate; for one of a stream it has reset the stream (RFC 9113, section 5.4).
final class ConnectionErrorHandler: ChannelInboundHandler, RemovableChannelHandler, NIOHTTP2FrameDelegate {
    typealias InboundIn = HTTP2Frame

    private var hasFailed = false

    func wroteFrame(_ frame: HTTP2Frame) {
        if case .goAway(_, let code, _) = frame.payload, code != .noError { hasFailed = true }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        if !hasFailed, error is any NIOHTTP2Error { return }
        context.close(promise: nil)
    }
}

@available(*, unavailable)
extension ConnectionErrorHandler: Sendable {}

/// Resets a stream of HTTP/2 as `REFUSED_STREAM`: nothing of its request was looked at, and the client may send it again
/// once another stream has ended (RFC 9113, section 8.7).
final class RefusedStreamHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = HTTP2Frame.FramePayload
    typealias OutboundOut = HTTP2Frame.FramePayload

    func channelActive(context: ChannelHandlerContext) {
        context.writeAndFlush(wrapOutboundOut(.rstStream(.refusedStream)), promise: nil)
        context.close(promise: nil)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {}
}

@available(*, unavailable)
extension RefusedStreamHandler: Sendable {}

/// Closes a connection that was idle in both directions for too long.
///
/// An idle HTTP/2 connection is asked to end by GOAWAY first; this handler is for peers that do not react.
final class IdleCloseHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if event is IdleStateHandler.IdleStateEvent { return context.close(promise: nil) }
        context.fireUserInboundEventTriggered(event)
    }
}
