import NIOCore
import NIOHTTP2

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
