import AdapterKit
import NIOCore
import NIOHTTP1

/// What a connection in the clear meets first. Everybody is let in with the first bytes, but for who comes while there is no
/// room and wants one answer only: a decoder, a door and their layers for him would cost more than the refusal.
///
/// Who wants to keep his connection is refused behind the door, since his answer may be at hand, and since what was made
/// for him serves his next request. Why: docs/decisions/0203-a-vestibule.md.
final class Vestibule: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private enum State {
        case waiting
        /// Told. Bytes of the request that have not come; nil: nobody knows how many.
        case refused(Int?)
        case letIn
    }

    private let connection: GatewayConnection
    private let patience: ConnectionPatience
    /// Makes what is behind. Called once, unless nobody is let in.
    private let open: () -> Void
    private let onEnd: () -> Void
    private var state = State.waiting
    private var thrownAway = 0
    private var lingers: Scheduled<Void>?

    /// `onEnd`: nobody was let in, and the connection has ended.
    init(
        connection: GatewayConnection, patience: ConnectionPatience, open: @escaping () -> Void,
        onEnd: @escaping () -> Void
    ) {
        self.connection = connection
        self.patience = patience
        self.open = open
        self.onEnd = onEnd
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let bytes = unwrapInboundIn(data)
        switch state {
        case .waiting:
            guard let head = bytes.withUnsafeReadableBytes(HeadAtAGlance.init),
                let error = connection.places.refusal(for: head.path)
            else { return letIn(context) { context.fireChannelRead(data) } }
            refuse(error, context)
            throwAway(bytes.readableBytes, of: head.length, context)
        case .refused(let left): throwAway(bytes.readableBytes, of: left, context)
        case .letIn: context.fireChannelRead(data)
        }
    }

    /// The answer must not be lost: a connection that is closed with unread bytes is reset.
    func channelReadComplete(context: ChannelHandlerContext) {
        context.fireChannelReadComplete()
        guard case .refused = state, lingers == nil, context.channel.isActive else { return }
        context.close(mode: .output, promise: nil)
        lingers = context.eventLoop.assumeIsolated().scheduleTask(in: DoorHandler.lingering) {
            context.close(promise: nil)
        }
    }

    private func letIn(_ context: ChannelHandlerContext, thenTell: () -> Void) {
        state = .letIn
        patience.stop()
        open()
        thenTell()
        context.pipeline.syncOperations.removeHandler(context: context, promise: nil)
    }

    private func refuse(_ error: PorticoError, _ context: ChannelHandlerContext) {
        patience.stop()
        let response = connection.refusal(error, peer: context.remoteAddress?.ipAddress ?? "local")
        context.writeAndFlush(wrapOutboundOut(WireResponse(response).bytes), promise: nil)
    }

    private func throwAway(_ count: Int, of left: Int?, _ context: ChannelHandlerContext) {
        let left = left.map { $0 - count }
        state = .refused(left)
        thrownAway += count
        if left.map({ $0 <= 0 }) ?? false || thrownAway > BodyIntake.discardable { context.close(promise: nil) }
    }
}

extension Vestibule {
    func handlerAdded(context: ChannelHandlerContext) {
        let channel = context.channel
        patience.start(on: context.eventLoop) {
            true
        } giveUp: {
            channel.close(promise: nil)
        }
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        lingers?.cancel()
        patience.stop()
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
extension Vestibule: Sendable {}
