import AdapterKit
import NIOCore

/// Answers a request in plain HTTP at a port that speaks TLS, where TLS would only break it off.
///
/// The first byte tells them apart: a method begins with a letter, a handshake with 22 (RFC 8446, section 5.1). With the first
/// bytes of a handshake it goes.
final class PlainRequestHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let server: ServerContext
    private var isRefused = false

    init(server: ServerContext) {
        self.server = server
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !isRefused else { return }
        let bytes = unwrapInboundIn(data)
        guard let first = bytes.getInteger(at: bytes.readerIndex, as: UInt8.self) else { return }
        guard (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(first) else {
            context.fireChannelRead(data)
            return context.pipeline.syncOperations.removeHandler(context: context, promise: nil)
        }
        isRefused = true
        let peer = server.configuration.peers.ofConnection(context.channel).address
        let error = PorticoError(.requestRefused, "This port speaks TLS. Begin the address with https://.")
        context.writeAndFlush(wrapOutboundOut(server.lastResponse(error, peer: peer)), promise: nil)
        context.close(promise: nil)
    }
}

@available(*, unavailable)
extension PlainRequestHandler: Sendable {}
