import NIOCore
import NIOHTTP1
import NIOHTTP2

/// Keeps from AsyncHTTPClient 1.37 two things a server may send that would end the process.
///
/// A status outside 100 to 599 is none (RFC 9110, section 15): the head of one below 100 would be taken for an
/// informational response, which has no body, and the body that follows for an impossible event. The connection, or the
/// stream of HTTP/2, ends instead.
///
/// A server may answer before it has the whole request, and then close: the client would give back a connection that it has
/// removed. Such an answer is passed on as one after which the connection is closed, so it is not given back.
final class ResponseCheckHandler: ChannelDuplexHandler {
    typealias InboundIn = HTTPClientResponsePart
    typealias InboundOut = HTTPClientResponsePart
    typealias OutboundIn = HTTPClientRequestPart

    struct InvalidStatus: Error {}

    private var isEnded = false
    private var isRequestWritten = true

    /// Puts one behind what reads HTTP/1.1 in a channel.
    static func add(toConnection channel: any Channel) -> EventLoopFuture<Void> {
        channel.eventLoop.submit {
            let pipeline = channel.pipeline.syncOperations
            let decoder = try pipeline.context(handlerType: ByteToMessageHandler<HTTPResponseDecoder>.self).handler
            try pipeline.addHandlers([RequestTargetHandler(), ResponseCheckHandler()], position: .after(decoder))
        }
    }

    /// Puts one behind what makes responses of the frames of a stream.
    static func add(toStream channel: any Channel) -> EventLoopFuture<Void> {
        channel.eventLoop.submit {
            let pipeline = channel.pipeline.syncOperations
            let codec = try pipeline.handler(type: HTTP2FramePayloadToHTTP1ClientCodec.self)
            try pipeline.addHandlers([RequestTargetHandler(), ResponseCheckHandler()], position: .after(codec))
        }
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        switch unwrapOutboundIn(data) {
        case .head: isRequestWritten = false
        case .body: break
        case .end: isRequestWritten = true
        }
        context.write(data, promise: promise)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !isEnded else { return }
        guard case .head(var head) = unwrapInboundIn(data) else { return context.fireChannelRead(data) }
        guard (100...599).contains(head.status.code) else {
            isEnded = true
            context.fireErrorCaught(InvalidStatus())
            context.close(promise: nil)
            return
        }
        guard !isRequestWritten, head.status.code >= 200 else { return context.fireChannelRead(data) }
        head.headers.replaceOrAdd(name: "Connection", value: "close")
        context.fireChannelRead(wrapInboundOut(.head(head)))
    }
}
