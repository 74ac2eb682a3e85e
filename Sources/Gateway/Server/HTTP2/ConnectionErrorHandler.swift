import NIOCore
import NIOHTTP2

/// Closes a connection of HTTP/2 after an error of the connection, and not after one of a stream.
///
/// NIOHTTP2 reports both in the same way. Before an error of the connection it has written GOAWAY with a code, which it
/// tells its delegate; for one of a stream it has reset the stream (RFC 9113, section 5.4).
final class ConnectionErrorHandler: ChannelInboundHandler, RemovableChannelHandler, NIOHTTP2FrameDelegate {
    typealias InboundIn = HTTP2Frame

    private var hasFailed = false

    func wroteFrame(_ frame: HTTP2Frame) {
        if case .goAway(_, let code, _) = frame.payload, code != .noError { hasFailed = true }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        if !hasFailed, error is any NIOHTTP2Error { return }
        context.close(promise: nil)
    }
}

@available(*, unavailable)
extension ConnectionErrorHandler: Sendable {}
