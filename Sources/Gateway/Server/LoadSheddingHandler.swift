import AdapterKit
import NIOCore
import NIOHTTP1

/// What a connection in the clear meets first. Everybody is let in with the first bytes, but for who comes while there is no
/// room and wants one answer only: a decoder, a door and their layers for him would cost more than the refusal.
///
/// Who wants to keep his connection is refused behind the door, since his answer may be at hand, and since what was made
/// for him serves his next request. Why: docs/decisions/0192-shed-load-before-any-work.md.
final class LoadSheddingHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private enum State {
        case waiting
        case refused
        case letIn
    }

    private let connection: GatewayConnection
    private let idleTimeout: IdleTimeout
    /// Makes what is behind. Called once, unless nobody is let in.
    private let open: () -> Void
    private let onEnd: () -> Void
    private var state = State.waiting

    /// `onEnd`: nobody was let in, and the connection has ended.
    init(
        connection: GatewayConnection, idleTimeout: IdleTimeout, open: @escaping () -> Void,
        onEnd: @escaping () -> Void
    ) {
        self.connection = connection
        self.idleTimeout = idleTimeout
        self.open = open
        self.onEnd = onEnd
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let bytes = unwrapInboundIn(data)
        switch state {
        case .waiting:
            guard let head = bytes.withUnsafeReadableBytes(RequestHeadPeek.init),
                let error = connection.places.refusal(for: head.path)
            else { return letIn(context) { context.fireChannelRead(data) } }
            refuse(error, context)
        case .refused: return
        case .letIn: context.fireChannelRead(data)
        }
    }

    private func letIn(_ context: ChannelHandlerContext, thenTell: () -> Void) {
        state = .letIn
        idleTimeout.stop()
        open()
        thenTell()
        context.pipeline.syncOperations.removeHandler(context: context, promise: nil)
    }

    private func refuse(_ error: PorticoError, _ context: ChannelHandlerContext) {
        idleTimeout.stop()
        state = .refused
        let response = connection.refusal(error, peer: context.remoteAddress?.ipAddress ?? "local")
        context.writeAndFlush(wrapOutboundOut(WireResponse(response).bytes), promise: nil)
        context.close(promise: nil)
    }
}

extension LoadSheddingHandler {
    func handlerAdded(context: ChannelHandlerContext) {
        let channel = context.channel
        idleTimeout.start(on: context.eventLoop) {
            true
        } giveUp: {
            channel.close(promise: nil)
        }
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        idleTimeout.stop()
        if case .letIn = state { return }
        onEnd()
    }

    /// A stop is for the layers behind to carry out: a request may be on its way.
    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        switch (state, event) {
        case (.letIn, _): context.fireUserInboundEventTriggered(event)
        case (_, ChannelEvent.inputClosed as ChannelEvent): context.close(promise: nil)
        case (.waiting, is ChannelShouldQuiesceEvent): letIn(context) { context.fireUserInboundEventTriggered(event) }
        default: return
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }
}

@available(*, unavailable)
extension LoadSheddingHandler: Sendable {}
