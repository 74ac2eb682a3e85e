import NIOCore
import NIOHTTP2

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
    /// Of the stream's connection; nil once it was told of the end.
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
