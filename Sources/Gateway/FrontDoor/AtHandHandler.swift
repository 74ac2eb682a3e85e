import HTTPTypes
import NIOCore
import NIOHTTP1

/// Answers on the event loop what the gateway has at hand, and passes everything else on to the asynchronous layer.
///
/// It stands behind the decoder. A request is tried only when it arrived whole within one reading, no earlier one is
/// under way (responses keep the order of their requests), and nobody has to wait for a slow reader. So it needs no
/// deadline, no place among the requests under way, and no queue: what is left at the end of a reading is passed on.
/// Why it is there: docs/decisions/0082-answers-at-hand.md.
final class AtHandHandler: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart
    typealias OutboundIn = HTTPServerResponsePart
    typealias OutboundOut = HTTPServerResponsePart

    /// Longer bodies are passed on without being held.
    static let longestBody = 16 << 10

    private let connection: GatewayConnection
    /// Keeps the order of responses. What is written past it is told to it.
    private let door: DoorHandler
    private var patience: ConnectionPatience
    private var held: HeldRequest?
    /// Requests that were passed on and are not answered yet.
    private var passedOn = 0
    private var isReadingPassedOn = false
    private var mustFlush = false
    private var peer: PeerAddress.OfConnection?
    /// What is written here has been encoded already.
    private var encoder: ChannelHandlerContext?

    init(connection: GatewayConnection, door: DoorHandler) {
        self.connection = connection
        self.door = door
        patience = ConnectionPatience(idle: connection.settings.idle)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        patience.noteActivity()
        switch unwrapInboundIn(data) {
        case .head(let head):
            guard passedOn == 0, context.channel.isWritable, let request = HeldRequest(head) else {
                return pass(.head(head), context)
            }
            held = request
        case .body(let piece):
            guard held != nil else { return pass(.body(piece), context) }
            held?.append(piece)
        case .end(let trailers):
            guard let request = held else { return pass(.end(trailers), context) }
            held = nil
            if !answer(request, context) {
                for part in request.parts { pass(part, context) }
                pass(.end(trailers), context)
            }
        }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        release(context)
        if mustFlush {
            mustFlush = false
            context.flush()
        }
        context.fireChannelReadComplete()
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        if case .end = unwrapOutboundIn(data) {
            passedOn = max(0, passedOn - 1)
            patience.noteActivity()
        }
        context.write(data, promise: promise)
    }

    private func answer(_ request: HeldRequest, _ context: ChannelHandlerContext) -> Bool {
        guard let encoder else { return false }
        let peer = self.peer ?? connection.peers.ofConnection(context.remoteAddress)
        self.peer = peer
        guard let response = connection.responseAtHand(to: request, peer) else { return false }
        encoder.write(NIOAny(IOData.byteBuffer(response.bytes)), promise: nil)
        if let body = response.body { encoder.write(NIOAny(IOData.byteBuffer(body)), promise: nil) }
        door.noteAnswered(context)
        mustFlush = true
        return true
    }

    private func pass(_ part: HTTPServerRequestPart, _ context: ChannelHandlerContext) {
        switch part {
        case .head:
            passedOn += 1
            isReadingPassedOn = true
        case .body: break
        case .end: isReadingPassedOn = false
        }
        context.fireChannelRead(wrapInboundOut(part))
    }

    private func release(_ context: ChannelHandlerContext) {
        guard let request = held else { return }
        held = nil
        for part in request.parts { pass(part, context) }
    }
}

extension AtHandHandler {
    func handlerAdded(context: ChannelHandlerContext) {
        encoder = try? context.pipeline.syncOperations.context(handlerType: HTTPResponseEncoder.self)
        if context.channel.isActive { watch(context) }
    }

    func channelActive(context: ChannelHandlerContext) {
        watch(context)
        context.fireChannelActive()
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        patience.stop()
        encoder = nil
    }

    func channelInactive(context: ChannelHandlerContext) {
        patience.stop()
        release(context)
        context.fireChannelInactive()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        release(context)
        context.fireUserInboundEventTriggered(event)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        release(context)
        context.fireErrorCaught(error)
    }

    /// A connection is given up when nothing comes while something is due from the peer, never while we owe an answer;
    /// for answers that it does not take there is ``SlowReaderHandler``.
    private func watch(_ context: ChannelHandlerContext) {
        let channel = context.channel
        patience.start(on: context.eventLoop) { [self] in
            passedOn == 0 || isReadingPassedOn
        } giveUp: {
            channel.close(promise: nil)
        }
    }
}

@available(*, unavailable)
extension AtHandHandler: Sendable {}
