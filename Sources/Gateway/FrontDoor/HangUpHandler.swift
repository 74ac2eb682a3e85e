import NIOCore

/// Ends a stream's connection as soon as its peer closes it.
///
/// A peer that closes a connection and one that only has nothing more to send look the same, and the connection stays
/// half open for the latter's sake. Nobody who follows a stream does that (browsers and proxies close), so while one is
/// written the end of the peer's side is the end of all: its place is free at once, not at the next heartbeat.
final class HangUpHandler: ChannelInboundHandler, RemovableChannelHandler, Sendable {
    typealias InboundIn = NIOAny

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case .some(.inputClosed) = event as? ChannelEvent { return context.close(promise: nil) }
        context.fireUserInboundEventTriggered(event)
    }
}
