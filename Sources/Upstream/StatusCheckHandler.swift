import NIOCore
import NIOHTTP1
import NIOHTTP2

/// Ends a connection, or a stream of HTTP/2, whose server answers a status that is none: outside 100 to 599 (RFC 9110,
/// section 15).
///
/// AsyncHTTPClient 1.37 takes the head of one below 100 for an informational response, which has no body, and traps on the
/// body that follows. It must not see one.
final class StatusCheckHandler: ChannelInboundHandler {
    typealias InboundIn = HTTPClientResponsePart

    struct InvalidStatus: Error {}

    private var isEnded = false

    /// Puts one behind what reads HTTP/1.1 in a channel.
    static func add(toConnection channel: any Channel) -> EventLoopFuture<Void> {
        channel.eventLoop.submit {
            let pipeline = channel.pipeline.syncOperations
            let decoder = try pipeline.context(handlerType: ByteToMessageHandler<HTTPResponseDecoder>.self).handler
            try pipeline.addHandler(StatusCheckHandler(), position: .after(decoder))
        }
    }

    /// Puts one behind what makes responses of the frames of a stream.
    static func add(toStream channel: any Channel) -> EventLoopFuture<Void> {
        channel.eventLoop.submit {
            let pipeline = channel.pipeline.syncOperations
            let codec = try pipeline.handler(type: HTTP2FramePayloadToHTTP1ClientCodec.self)
            try pipeline.addHandler(StatusCheckHandler(), position: .after(codec))
        }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !isEnded else { return }
        if case .head(let head) = unwrapInboundIn(data), !(100...599).contains(head.status.code) {
            isEnded = true
            context.fireErrorCaught(InvalidStatus())
            context.close(promise: nil)
            return
        }
        context.fireChannelRead(data)
    }
}
