import NIOCore
import NIOHTTP1

/// Stands before the decoder, and spares it the requests that begin with the very bytes of the connection's last head:
/// an app that asks for news, or posts the same form with other values of the same length, sends just those.
///
/// It takes a reading only where that is one request and whole, and the decoder stands at the beginning of a message
/// (``DecoderPlace``): then what the decoder and the door's rules would make of it is what they made of it before.
/// Everything else goes to the decoder, and is watched.
/// Why it is there: docs/decisions/0215-skip-the-decoder-for-a-repeated-request-head.md.
final class RepeatedRequestHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    private let mount: RequestValidationHandler
    private let inside: BufferedRequestHandler
    private var place = DecoderPlace.messageStart
    private var known: CachedRequestHead?
    /// Whether this reading brought the decoder something.
    private var hasPassedOn = false

    init(mount: RequestValidationHandler, inside: BufferedRequestHandler) {
        self.mount = mount
        self.inside = inside
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let bytes = unwrapInboundIn(data)
        if place == .messageStart, let known, known.isWhole(bytes), mount.letIn(known, body: known.body(of: bytes)) {
            return
        }
        hasPassedOn = true
        mount.readingBegan(bytes)
        defer { mount.readingEnded() }
        guard place == .messageStart else {
            place.take(bytes.readableBytes)
            return context.fireChannelRead(data)
        }
        pass(bytes, context)
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        guard !hasPassedOn else {
            hasPassedOn = false
            return context.fireChannelReadComplete()
        }
        inside.readingEnded()
        // The channel would ask every layer now whether they want more.
        if inside.wantsMore { context.read() }
    }

    /// The decoder gets the beginning of a message, and the door tells what it has let in of it.
    private func pass(_ bytes: ByteBuffer, _ context: ChannelHandlerContext) {
        place = .unknown
        let heads = mount.heads
        context.fireChannelRead(wrapInboundOut(bytes))
        guard let (head, validatedHead) = mount.takeLetIn(), mount.heads == heads + 1,
            let known = CachedRequestHead(head, validatedHead, leading: bytes)
        else { return }
        self.known = known
        place = DecoderPlace(bodyLength: known.bodyLength, arrived: bytes.readableBytes - known.length)
    }
}

@available(*, unavailable)
extension RepeatedRequestHandler: Sendable {}
