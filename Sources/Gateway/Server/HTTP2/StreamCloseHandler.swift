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

/// `http.deadlines.write` for one stream of HTTP/2, whose peer can hold an answer up by its window alone.
///
/// Bytes that wait for a window never reach the connection, so ``SlowReaderHandler`` does not see them. A stream that
/// takes nothing more is given up after the deadline, and so is one that does not end once its answer is written. Stands
/// before ``StreamCloseHandler``: its close is immediate.
final class StreamDeadline: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTP2Frame.FramePayload
    typealias InboundOut = HTTP2Frame.FramePayload
    typealias OutboundIn = HTTP2Frame.FramePayload
    typealias OutboundOut = HTTP2Frame.FramePayload

    private let limit: TimeAmount
    private var timer: Scheduled<Void>?
    private var isAnswered = false
    /// Of the stream's connection; nil once it was notified of the end.
    private var connection: StreamlessDeadline?

    init(_ limit: Duration) {
        self.limit = .nanoseconds(limit.nanoseconds)
    }

    func handlerAdded(context: ChannelHandlerContext) {
        connection = try? context.channel.parent?.pipeline.syncOperations.handler(type: StreamlessDeadline.self)
        connection?.streamBegan()
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        if unwrapOutboundIn(data).endsStream {
            isAnswered = true
            start(context)
        }
        context.write(data, promise: promise)
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        if !context.channel.isWritable { start(context) } else if !isAnswered { stop() }
        context.fireChannelWritabilityChanged()
    }

    func channelInactive(context: ChannelHandlerContext) {
        leave()
        context.fireChannelInactive()
    }

    func handlerRemoved(context: ChannelHandlerContext) { leave() }

    private func leave() {
        stop()
        connection?.streamEnded()
        connection = nil
    }

    private func start(_ context: ChannelHandlerContext) {
        guard timer == nil else { return }
        timer = context.eventLoop.assumeIsolated().scheduleTask(in: limit) { context.close(promise: nil) }
    }

    private func stop() {
        timer?.cancel()
        timer = nil
    }
}

@available(*, unavailable)
extension StreamDeadline: Sendable {}

extension HTTP2Frame.FramePayload {
    /// Whether nothing follows it on its stream.
    var endsStream: Bool {
        switch self {
        case .data(let data): data.endStream
        case .headers(let headers): headers.endStream
        default: false
        }
    }
}

/// Closes a connection of HTTP/2 on which no request was under way for too long, whatever else its peer sends: frames
/// that ask for nothing keep silence away, and would keep a place for ever.
///
/// The ``StreamDeadline`` of each stream reports to it. It checks once for each span.
///
/// A peer that closes its side gets the answers to what it has asked, and then the connection closes.
final class StreamlessDeadline: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer

    private var context: ChannelHandlerContext?
    private var inputHasClosed = false
    private let span: TimeAmount
    /// Streams that are under way.
    private(set) var open = 0
    private var lastEnd = NIODeadline.now()
    private var look: Scheduled<Void>?

    init(_ span: Duration) {
        self.span = .nanoseconds(span.nanoseconds)
    }

    func streamBegan() { open += 1 }

    func streamEnded() {
        open -= 1
        lastEnd = .now()
        closeAfterLastAnswer()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        context.fireUserInboundEventTriggered(event)
        guard case .some(.inputClosed) = event as? ChannelEvent else { return }
        inputHasClosed = true
        closeAfterLastAnswer()
    }

    /// In the loop's next turn: a stream ends while its last frame is being written.
    private func closeAfterLastAnswer() {
        guard inputHasClosed, open == 0, let context else { return }
        context.eventLoop.assumeIsolated().execute { context.close(promise: nil) }
    }

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        watch(context)
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        self.context = nil
        look?.cancel()
        look = nil
    }

    private func watch(_ context: ChannelHandlerContext) {
        look = context.eventLoop.assumeIsolated().scheduleTask(in: span) { [self] in
            guard open > 0 || lastEnd + span > .now() else { return context.close(promise: nil) }
            watch(context)
        }
    }
}

@available(*, unavailable)
extension StreamlessDeadline: Sendable {}
