import HTTPTypes
import NIOCore
import NIOHTTP1

/// Answers requests that arrived whole: on the event loop what the gateway has at hand, in a task of its own everything
/// else. What is not whole is passed on to the asynchronous layer.
///
/// It stands behind the decoder. A request is tried only when it arrived within one reading, no earlier one is under way
/// (responses keep the order of their requests), and nobody has to wait for a slow reader. While a task answers, what
/// arrives is kept (``InboundQueue``) and then goes the same way. What is left at the end of a reading is passed on.
/// Reasons: docs/decisions/0082-answer-buffered-and-cached-requests-without-the-asynchronous-channel.md.
final class BufferedRequestHandler: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart
    typealias OutboundIn = HTTPServerResponsePart
    typealias OutboundOut = HTTPServerResponsePart

    /// Longer bodies are passed on without being held.
    static let longestBody = 16 << 10

    private let connection: GatewayConnection
    /// Keeps the order of responses. What is written past it is told to it.
    private let mount: RequestValidationHandler
    private var idleTimeout: IdleTimeout
    private var held: PartialRequest?
    /// Whether this reading brought some part of a request. The clock is asked once for all of them.
    private var hasHeard = false
    /// Whether a task answers a request.
    private var isAnswering = false
    private var work: ResponseWork?
    /// Writes the answer's pieces, where it has no end yet. It ends with the connection.
    private var writing: Task<Void, Never>?
    private var isWritingEndless = false
    private var inbound = InboundQueue()
    /// Requests that were passed on and are not answered yet.
    private var passedOn = 0
    private var isReadingPassedOn = false
    private var mustFlush = false
    private var hasPassedOn = false
    private var peer: PeerAddress.OfConnection?
    private var head = RepeatedHead()
    private var credential = ConnectionCredential()
    /// What is written here has been encoded already.
    private var encoder: ChannelHandlerContext?
    private var context: ChannelHandlerContext?

    init(connection: GatewayConnection, mount: RequestValidationHandler, since: NIODeadline) {
        self.connection = connection
        self.mount = mount
        idleTimeout = IdleTimeout(idle: connection.settings.idle, since: since)
    }

    /// What the door let in; `validatedHead` comes with a head.
    func receive(_ part: HTTPServerRequestPart, _ validatedHead: ValidatedHead? = nil) {
        guard let context else { return }
        hasHeard = true
        if isAnswering { inbound.keep(.part(part, validatedHead)) } else { take(part, validatedHead, context) }
    }

    /// A whole request, whose head the door knew.
    func receive(_ request: PartialRequest) {
        guard let context else { return }
        guard !isAnswering, passedOn == 0, context.channel.isWritable else {
            receive(.head(request.head), request.known?.validatedHead)
            if let body = request.body { receive(.body(body)) }
            return receive(.end(nil))
        }
        hasHeard = true
        take(request, context)
    }

    private func take(_ request: PartialRequest, _ context: ChannelHandlerContext) {
        if !answer(request, context) {
            for piece in request.parts { pass(piece, context) }
            pass(.end(nil), context)
        }
    }

    private func take(_ part: HTTPServerRequestPart, _ validatedHead: ValidatedHead?, _ context: ChannelHandlerContext)
    {
        switch part {
        case .head(let head):
            guard passedOn == 0, context.channel.isWritable, let validatedHead,
                let request = PartialRequest(head, validatedHead)
            else {
                // Before the asynchronous layer is at any expense; what is held is refused where its answer is not at hand.
                if let error = connection.places.refusal(for: head.uri), mount.turnAway(error) { return }
                return pass(part, context)
            }
            held = request
        case .body(let piece):
            guard held != nil else { return pass(part, context) }
            held?.append(piece)
        case .end:
            guard let request = held else { return pass(part, context) }
            held = nil
            take(request, context)
        }
    }

    func channelReadComplete(context: ChannelHandlerContext) { endReading(context) }

    /// Nobody behind the decoder heard of this reading but this handler.
    func readingEnded() {
        if let context { endReading(context) }
    }

    /// Whether nothing waits, here or in the layers behind, before which no more should be read.
    var wantsMore: Bool { inbound.isEmpty && passedOn == 0 }

    private func endReading(_ context: ChannelHandlerContext) {
        if hasHeard { idleTimeout.noteActivity() }
        hasHeard = false
        release(context)
        flush()
        tellEndOfReading(context)
    }

    func read(context: ChannelHandlerContext) {
        if inbound.isEmpty { context.read() } else { inbound.wantsReading = true }
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        if case .end = unwrapOutboundIn(data) {
            passedOn = max(0, passedOn - 1)
            idleTimeout.noteActivity()
        }
        context.write(data, promise: promise)
    }

    private func pass(_ part: HTTPServerRequestPart, _ context: ChannelHandlerContext) {
        switch part {
        case .head:
            passedOn += 1
            isReadingPassedOn = true
        case .body: break
        case .end: isReadingPassedOn = false
        }
        hasPassedOn = true
        context.fireChannelRead(wrapInboundOut(part))
    }

    private func release(_ context: ChannelHandlerContext) {
        guard let request = held else { return }
        held = nil
        for part in request.parts { pass(part, context) }
    }

    /// The layers behind hear of the end of a reading that brought them something.
    private func tellEndOfReading(_ context: ChannelHandlerContext) {
        guard hasPassedOn else { return }
        hasPassedOn = false
        context.fireChannelReadComplete()
    }

    private func flush() {
        guard mustFlush else { return }
        mustFlush = false
        encoder?.flush()
    }
}

extension BufferedRequestHandler {
    /// False where only the asynchronous layer can say what is wrong with it.
    private func answer(_ held: PartialRequest, _ context: ChannelHandlerContext) -> Bool {
        let peer = self.peer ?? connection.peers.ofConnection(context.remoteAddress)
        self.peer = peer
        guard encoder != nil, let request = connection.request(held, peer, &head, &credential) else { return false }
        if let response = connection.immediateResponse(to: request) {
            write(response)
        } else {
            isAnswering = true
            work = connection.answer(request, on: BufferedRequestChannel(self, context)).map(ResponseWork.init)
        }
        return true
    }

    private func write(_ response: WireResponse) {
        encoder?.write(NIOAny(IOData.byteBuffer(response.bytes)), promise: nil)
        if let body = response.body { encoder?.write(NIOAny(IOData.byteBuffer(body)), promise: nil) }
        mustFlush = true
        mount.noteAnswered()
    }

    /// The whole response of the task. Nothing is written where the connection has gone.
    func finish(_ response: WireResponse, context: ChannelHandlerContext) {
        guard isAnswering else { return }
        let response = mount.isStopping ? response.endingConnection() : response
        write(response)
        resume(context, closes: response.isLast)
    }

    /// The response goes out piece by piece, and ``resume(_:closes:)`` is called after it.
    func finish(by writing: Task<Void, Never>, isEndless: Bool) {
        guard isAnswering else { return writing.cancel() }
        self.writing = writing
        isWritingEndless = isEndless
    }

    static func wrapped(_ part: HTTPServerResponsePart) -> NIOAny { NIOAny(part) }

    /// To be called once the response is written.
    func resume(_ context: ChannelHandlerContext, closes: Bool) {
        idleTimeout.noteActivity()
        guard !closes else {
            flush()
            return context.close(promise: nil)
        }
        isAnswering = false
        (work, writing) = (nil, nil)
        deliverArrivals(context)
        flush()
    }

    private func deliverArrivals(_ context: ChannelHandlerContext) {
        guard !inbound.isEmpty else { return }
        while !isAnswering, let arrival = inbound.takeFirst() {
            switch arrival {
            case .part(let part, let validatedHead): take(part, validatedHead, context)
            case .event(let event):
                release(context)
                context.fireUserInboundEventTriggered(event)
            case .failure(let error):
                release(context)
                context.fireErrorCaught(error)
            }
        }
        guard inbound.isEmpty else { return }
        release(context)
        tellEndOfReading(context)
        guard inbound.wantsReading else { return }
        inbound.wantsReading = false
        context.read()
    }
}

extension BufferedRequestHandler {
    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        mount.lead(to: self)
        encoder = try? context.pipeline.syncOperations.context(handlerType: HTTPResponseEncoder.self)
        if context.channel.isActive { watch(context) }
    }

    func channelActive(context: ChannelHandlerContext) {
        watch(context)
        context.fireChannelActive()
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        idleTimeout.stop()
        end()
        encoder = nil
        self.context = nil
    }

    /// Whoever answers is told by the channel that there is nobody to write to.
    func channelInactive(context: ChannelHandlerContext) {
        idleTimeout.stop()
        end()
        release(context)
        context.fireChannelInactive()
    }

    private func end() {
        isAnswering = false
        inbound = InboundQueue()
        work?.cancel()
        writing?.cancel()
        (work, writing) = (nil, nil)
    }

    /// What ends a connection (a stop, the peer's last byte) waits for the answer that is under way. An endless stream
    /// ends at once, as ``HangUpHandler`` has it.
    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if writing != nil, isWritingEndless, case .some(.inputClosed) = event as? ChannelEvent {
            return context.close(promise: nil)
        }
        if isAnswering {
            if case .some(.inputClosed) = event as? ChannelEvent { work?.cancelSoon(on: context.eventLoop) }
            return inbound.keep(.event(event))
        }
        release(context)
        context.fireUserInboundEventTriggered(event)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        if isAnswering { return inbound.keep(.failure(error)) }
        release(context)
        context.fireErrorCaught(error)
    }

    /// A connection is given up when nothing comes while something is due from the peer, never while we owe an answer;
    /// for answers that it does not take there is ``SlowReaderHandler``.
    private func watch(_ context: ChannelHandlerContext) {
        let channel = context.channel
        idleTimeout.start(on: context.eventLoop) { [self] in
            !isAnswering && (passedOn == 0 || isReadingPassedOn)
        } giveUp: {
            channel.close(promise: nil)
        }
    }
}

@available(*, unavailable)
extension BufferedRequestHandler: Sendable {}
