import HTTPTypes
import NIOCore
import NIOHTTP1

/// Answers requests that arrived completely within one read: immediate responses on the event loop, all others in a
/// task. All other requests are passed on to the asynchronous channel.
///
/// It stands after ``RequestValidationHandler``. A request is taken only when no earlier one is in progress (responses
/// keep the order of their requests) and nothing waits for a slow reader. Input that arrives while a task answers is
/// queued (``InboundQueue``) and then handled the same way. What is incomplete at the end of a read is passed on. See
/// docs/decisions/0082-answer-buffered-and-cached-requests-without-the-asynchronous-channel.md.
final class BufferedRequestHandler: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart
    typealias OutboundIn = HTTPServerResponsePart
    typealias OutboundOut = HTTPServerResponsePart

    /// Longer bodies are passed on without being held.
    static let longestBody = 16 << 10

    private let connection: GatewayConnection
    /// Keeps the order of responses. It is notified of what is written past it.
    private let validation: RequestValidationHandler
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
    private var peer: PeerAddress.ConnectionPeer?
    private var head = RepeatedHead()
    private var credential = ConnectionCredential()
    /// What is written here has been encoded already.
    private var encoder: ChannelHandlerContext?
    private var context: ChannelHandlerContext?

    init(connection: GatewayConnection, validation: RequestValidationHandler, since: NIODeadline) {
        self.connection = connection
        self.validation = validation
        idleTimeout = IdleTimeout(idle: connection.settings.idle, since: since)
    }

    /// A part of a validated request; `validatedHead` comes with a head.
    func receive(_ part: HTTPServerRequestPart, _ validatedHead: ValidatedHead? = nil) {
        guard let context else { return }
        hasHeard = true
        if isAnswering { inbound.keep(.part(part, validatedHead)) } else { take(part, validatedHead, context) }
    }

    /// A complete request whose head was validated before.
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
                // Before the asynchronous channel does any work. A buffered request is refused later, where it has no
                // immediate response.
                if let error = connection.permits.refusal(for: head.uri), validation.rejectCurrentRequest(error) {
                    return
                }
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

    /// The reading brought something to this handler only, not to the handlers behind it.
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
        propagateReadComplete(context)
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
    private func propagateReadComplete(_ context: ChannelHandlerContext) {
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
        validation.noteAnswered()
    }

    /// The whole response of the task. Nothing is written where the connection has gone.
    func finish(_ response: WireResponse, context: ChannelHandlerContext) {
        guard isAnswering else { return }
        let response = validation.isStopping ? response.endingConnection() : response
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
        deliverQueued(context)
        flush()
    }

    private func deliverQueued(_ context: ChannelHandlerContext) {
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
        propagateReadComplete(context)
        guard inbound.wantsReading else { return }
        inbound.wantsReading = false
        context.read()
    }
}

extension BufferedRequestHandler {
    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        validation.lead(to: self)
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

    /// The task that answers learns from the channel that the connection is closed.
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
    /// ends at once, as ``HalfCloseHandler`` has it.
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

/// Input of a connection while one of its requests is being answered, in order.
struct InboundQueue {
    enum Item {
        /// With the facts of the head, where it is one.
        case part(HTTPServerRequestPart, ValidatedHead?)
        case event(Any)
        case failure(any Error)
    }

    private var kept: [Item] = []
    /// A handler asked for more input. It is not read, so that the queue holds no more than one read brought.
    var wantsReading = false

    var isEmpty: Bool { kept.isEmpty }

    mutating func keep(_ arrival: Item) { kept.append(arrival) }

    mutating func takeFirst() -> Item? { kept.isEmpty ? nil : kept.removeFirst() }
}

/// A request that arrives, held until it is whole or passed on.
struct PartialRequest {
    let head: HTTPRequestHead
    let host: String
    private(set) var body: ByteBuffer?
    /// Where the connection has sent the same head before.
    let known: CachedRequestHead?

    /// Nil where the asynchronous layer is to have it whatever it asks for: bodies that are long or of unknown length,
    /// a connection that is to end, and a client that waits for a word before it sends.
    init?(_ head: HTTPRequestHead, _ validatedHead: ValidatedHead) {
        guard validatedHead.mayBeHeld else { return nil }
        self.head = head
        host = validatedHead.host
        known = nil
    }

    /// Whole.
    init(_ known: CachedRequestHead, body: ByteBuffer?) {
        head = known.head
        host = known.validatedHead.host
        self.known = known
        self.body = body
    }

    mutating func append(_ piece: ByteBuffer) {
        var piece = piece
        if body == nil { body = piece } else { body?.writeBuffer(&piece) }
    }

    /// As they came, but for the end.
    var parts: [HTTPServerRequestPart] {
        body.map { [.head(head), .body($0)] } ?? [.head(head)]
    }
}

extension HTTPResponseHead {
    init(_ response: GatewayResponse) {
        var headers = HTTPHeaders()
        headers.reserveCapacity(response.headers.count)
        for field in response.headers { headers.add(name: field.name.rawName, value: field.value) }
        self.init(version: .http1_1, status: .init(statusCode: response.status.code), headers: headers)
    }
}

/// The work on an answer, as its connection knows it: cancelled when no client waits for it any more.
struct ResponseWork {
    /// How long work goes on for a peer that sends nothing more. Most often it has gone, which looks the same as a
    /// connection of which it closed its half.
    private static let halfClosed = TimeAmount.seconds(1)

    private let work: any CancellableWork

    init(_ work: any CancellableWork) {
        self.work = work
    }

    func cancel() { work.cancel() }

    func cancelSoon(on loop: any EventLoop) {
        loop.scheduleTask(in: Self.halfClosed) { [work] in work.cancel() }
    }
}
