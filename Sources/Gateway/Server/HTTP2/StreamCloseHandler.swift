import NIOCore
import NIOHTTP2

/// Closes a stream of HTTP/2 only after its answer has left, and resets it with the code that tells why.
///
/// NIO resets a stream that is closed, and drops what waits for the stream's window. So a close waits for the answer's
/// end where that is written. A request that is not read to its end is then cut off without an error (RFC 9113, section
/// 8.1); a malformed one is a `PROTOCOL_ERROR` of its stream (section 8.1.1).
final class StreamCloseHandler: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTP2Frame.FramePayload
    typealias InboundOut = HTTP2Frame.FramePayload
    typealias OutboundIn = HTTP2Frame.FramePayload
    typealias OutboundOut = HTTP2Frame.FramePayload

    private var hasBegun = false
    private var requestEnded = false
    /// Of the answer's last frame.
    private var lastWrite: EventLoopFuture<Void>?

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let payload = unwrapInboundIn(data)
        hasBegun = true
        if payload.endsStream { requestEnded = true }
        context.fireChannelRead(data)
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        guard unwrapOutboundIn(data).endsStream else { return context.write(data, promise: promise) }
        let promise = promise ?? context.eventLoop.makePromise()
        lastWrite = promise.futureResult
        context.write(data, promise: promise)
    }

    func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
        guard mode == .all, let lastWrite else { return context.close(mode: mode, promise: promise) }
        context.channel.closeFuture.cascade(to: promise)
        lastWrite.assumeIsolated().whenComplete { [self] _ in
            // A stream that has ended on both sides closes by itself.
            if !requestEnded { reset(.noError, context) }
            context.close(promise: nil)
        }
    }

    /// What the codec cannot read as a request comes from behind.
    func triggerUserOutboundEvent(context: ChannelHandlerContext, event: Any, promise: EventLoopPromise<Void>?) {
        guard event is MalformedRequest else { return context.triggerUserOutboundEvent(event, promise: promise) }
        reset(.protocolError, context)
        context.close(promise: promise)
    }

    private func reset(_ code: HTTP2ErrorCode, _ context: ChannelHandlerContext) {
        context.writeAndFlush(wrapOutboundOut(.rstStream(code)), promise: nil)
    }
}

@available(*, unavailable)
extension StreamCloseHandler: Sendable {}

/// Tells ``StreamCloseHandler`` that the request is none.
struct MalformedRequest {}

/// Stands behind the codec and turns its errors into the end of the stream.
final class MalformedRequestHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = NIOAny

    private var hasRead = false

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        hasRead = true
        context.fireChannelRead(data)
    }

    /// Before the first part of a request only the codec fails; later the reader of the body learns that it broke off.
    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        guard hasRead || error is any NIOHTTP2Error else {
            return context.triggerUserOutboundEvent(MalformedRequest(), promise: nil)
        }
        context.fireErrorCaught(error)
    }
}

@available(*, unavailable)
extension MalformedRequestHandler: Sendable {}
