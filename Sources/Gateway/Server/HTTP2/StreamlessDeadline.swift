import NIOCore

/// Closes a connection of HTTP/2 on which no request was under way for too long, whatever else its peer sends: frames
/// that ask for nothing keep silence away, and would keep a place for ever.
///
/// It is told of streams by ``StreamDeadline``, which each of them has. One look for each span.
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
