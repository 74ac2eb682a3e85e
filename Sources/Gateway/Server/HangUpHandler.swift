import NIOCore

/// Closes the connection of an endless stream as soon as its peer closes its side.
///
/// A peer that closes a connection and one that only has nothing more to send look the same, and the connection stays
/// half open for the latter's sake. Clients of endless streams do not half-close (browsers and proxies close). So the
/// end of the peer's side ends the connection, and its place is free at once and not at the next heartbeat.
final class HangUpHandler: ChannelInboundHandler, RemovableChannelHandler, Sendable {
    typealias InboundIn = NIOAny

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case .some(.inputClosed) = event as? ChannelEvent { return context.close(promise: nil) }
        context.fireUserInboundEventTriggered(event)
    }
}
