import NIOCore

/// Closes a connection over which neither side has said anything for too long.
///
/// A connection of HTTP/2 that is idle is asked to end first; this one is for peers that do not answer.
final class SilenceHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if event is IdleStateHandler.IdleStateEvent { return context.close(promise: nil) }
        context.fireUserInboundEventTriggered(event)
    }
}
