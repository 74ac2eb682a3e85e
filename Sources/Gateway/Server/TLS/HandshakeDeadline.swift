import NIOCore
import NIOTLS

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
        // Those who will be told of a stop are not there yet.
        if event is ChannelShouldQuiesceEvent {
            isStopping = true
            return startTimer(context, RequestValidationHandler.grace)
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
