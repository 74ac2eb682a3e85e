import AdapterKit
import HTTPTypes
import NIOCore
import NIOHTTP1

/// Stands right behind the decoder: lets in what ``RequestHeadValidation`` admit, answers everything else itself, and closes.
///
/// After a refusal the peer may still be sending: ``LingeringCloseHandler`` reads that.
final class RequestValidationHandler: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart
    typealias OutboundIn = HTTPServerResponsePart
    typealias OutboundOut = HTTPServerResponsePart

    /// What a stop gives a request that is on its way still.
    static let grace = TimeAmount.seconds(1)
    /// Longer ones are called malformed.
    static let longestMethod = 32
    static let secondLook = TimeAmount.milliseconds(200)
    /// How late a timer of a loop is that has read everything there is.
    static let punctual = TimeAmount.milliseconds(20)

    private let connection: GatewayConnection
    /// What every request on this connection is told; nil: it is one of those that there is room for.
    private let turnedAway: PorticoError?
    private var order = PipelineOrder()
    private var framing = ChunkFraming()
    /// What the decoder is being given, and how many heads had come before.
    private var reading: (bytes: ByteBuffer, heads: Int)?
    /// The next behind the door. It is told of requests directly: they are the most that goes through here.
    private var inside: BufferedRequestHandler?
    /// For who watches what the decoder makes of bytes, until it is taken.
    private var lastLetIn: (HTTPRequestHead, ValidatedHead)?
    private var thrownAway = 0
    /// HTTP/1.0 has no chunks: a body of unknown length ends with its connection.
    private var isFirstVersion = false
    private var endsByClosing = false
    private(set) var isStopping = false
    private var context: ChannelHandlerContext?
    /// Whether the response under way says that it is the connection's last.
    private var saysClose = false

    init(connection: GatewayConnection, turnedAway: PorticoError?) {
        self.connection = connection
        self.turnedAway = turnedAway
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let part = unwrapInboundIn(data)
        guard order.isReadingOn else { return throwAway(part, context) }
        switch part {
        case .head(let head): letIn(head, context)
        case .body(let bytes):
            framing.bodyArrived(bytes.readableBytes)
            inside?.receive(part)
        case .end:
            framing.bodyEnded()
            order.requestEnded()
            inside?.receive(part)
        }
    }

    /// The layers behind may rely on it that the head of a connection that is to end says exactly `close`.
    private func letIn(_ head: HTTPRequestHead, _ context: ChannelHandlerContext) {
        do {
            if let turnedAway, !RequestPermits.isAlwaysAnswered(head.uri) { throw turnedAway }
            let validatedHead = try RequestHeadValidation.admit(head, asLast: isStopping)
            isFirstVersion = head.version == .http1_0
            framing.bodyBegan(isChunked: validatedHead.isChunked)
            order.headArrived(isLast: validatedHead.isLast)
            guard validatedHead.isLast else {
                lastLetIn = (head, validatedHead)
                inside?.receive(.head(head), validatedHead)
                return
            }
            var ending = head
            ending.headers.replaceOrAdd(name: "connection", value: "close")
            inside?.receive(.head(ending), validatedHead)
        } catch {
            act(order.refused(PorticoError(unexpected: error)), context)
        }
    }

    /// A whole request whose head was let in before. False where it has to come through the decoder.
    func letIn(_ known: CachedRequestHead, body: ByteBuffer?) -> Bool {
        guard order.isReadingOn, !isStopping, turnedAway == nil, let inside else { return false }
        order.headArrived(isLast: false)
        order.requestEnded()
        inside.receive(PartialRequest(known, body: body))
        return true
    }

    /// The decoder is about to be given bytes.
    func readingBegan(_ bytes: ByteBuffer) {
        reading = (bytes, order.heads)
        framing.readingBegan()
    }

    /// The decoder was given so many bytes, and everything that it made of them has come.
    func readingEnded() {
        guard let bytes = reading?.bytes.readableBytes else { return }
        reading = nil
        guard !framing.readingEnded(bytes), let context, order.isReadingOn else { return }
        framing.bodyEnded()
        act(order.refused(.chunksTooLarge), context)
        // Whoever reads the body learns that it broke.
        context.fireErrorCaught(HTTPParserError.invalidChunkSize)
    }

    /// How many heads were let in.
    var heads: Int { order.heads }

    /// The last head that was let in, unless it is the connection's last. Once.
    func takeLetIn() -> (HTTPRequestHead, ValidatedHead)? {
        defer { lastLetIn = nil }
        return lastLetIn
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        if case .dataReceivedInErrorState(_, let bytes) = error as? ByteToMessageDecoderError {
            return countThrownAway(bytes.readableBytes, context)
        }
        guard let known = error as? HTTPParserError else { return context.fireErrorCaught(error) }
        guard !order.isComplete else { return }
        let isOtherMethod = known == .invalidMethod && startsWithMethod
        act(order.refused(isOtherMethod ? .methodUnknown : PorticoError(known)), context)
        // Whoever reads the broken body learns that it broke.
        context.fireErrorCaught(error)
    }

    /// Whether the reading begins with what could be a request's method. The decoder calls everything else by the same name.
    private var startsWithMethod: Bool {
        guard let reading, reading.heads == order.heads else { return false }
        let line = reading.bytes.readableBytesView.prefix(Self.longestMethod + 2)
        let method = line.prefix { $0 != UInt8(ascii: " ") }
        return line.dropFirst(method.count).starts(with: " /".utf8)
            && HTTPRequest.Method(rawValue: String(decoding: method, as: UTF8.self)) != nil
    }

    /// A stop fails nobody: whatever is asked is answered, with the word that the connection ends; only one on which
    /// nothing was asked for a while is closed. The layers behind, which would close at once, do not hear of it.
    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        guard event is ChannelShouldQuiesceEvent else { return context.fireUserInboundEventTriggered(event) }
        isStopping = true
        closeUnlessAsked(context)
    }

    /// Looks twice at least: after much work a loop's timers come before what has arrived meanwhile. A loop that is late
    /// with its timers is late with reading too, so it looks until one is punctual.
    private func closeUnlessAsked(_ context: ChannelHandlerContext, in time: TimeAmount = grace) {
        guard order.isIdle else { return }
        let asked = order.heads
        let due = NIODeadline.now() + time
        context.eventLoop.assumeIsolated().scheduleTask(in: time) { [self] in
            guard order.isIdle, order.heads == asked else { return }
            let isBehind = NIODeadline.now() - due > Self.punctual
            if time == Self.grace || isBehind { return closeUnlessAsked(context, in: Self.secondLook) }
            context.close(promise: nil)
        }
    }

    private func labelledForStop(_ part: HTTPServerResponsePart) -> HTTPServerResponsePart {
        guard isStopping, order.isAnsweringLast, case .head(var head) = part, head.status.code >= 200 else {
            return part
        }
        head.headers.replaceOrAdd(name: "connection", value: "close")
        saysClose = true
        return .head(head)
    }

    private func endedWhileStopping(_ context: ChannelHandlerContext) {
        guard isStopping, order.isIdle else { return }
        saysClose ? context.close(promise: nil) : closeUnlessAsked(context)
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        // Whoever answers a broken request too is not told: a failure would close the connection at once.
        guard !order.isShut else {
            promise?.succeed()
            return
        }
        let part = inVersionOfRequest(labelledForStop(unwrapOutboundIn(data)))
        if case .head(let head) = part, head.status.code >= 200 { order.responseBegan() }
        guard case .end = part else { return context.write(wrapOutboundOut(part), promise: promise) }
        isStopping
            ? context.writeAndFlush(wrapOutboundOut(part), promise: promise)
            : context.write(wrapOutboundOut(part), promise: promise)
        endsByClosing = false
        act(order.responseEnded(), context)
        endedWhileStopping(context)
    }

    private func inVersionOfRequest(_ part: HTTPServerResponsePart) -> HTTPServerResponsePart {
        guard isFirstVersion, case .head(var head) = part, head.status.code >= 200 else { return part }
        head.version = .http1_0
        endsByClosing = !head.headers.contains(name: "content-length")
        return .head(head)
    }

    /// A body whose end is the connection's, and which breaks off, must not look whole.
    func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
        if endsByClosing { context.triggerUserOutboundEvent(ConnectionReset(), promise: nil) }
        context.close(mode: mode, promise: promise)
    }

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
    }

    /// To be called before anything is read.
    func lead(to inside: BufferedRequestHandler) {
        self.inside = inside
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        self.context = nil
        inside = nil
    }

    /// Refuses the request whose head has just been let in, as the connection's last. False where that cannot be said now:
    /// others before it are not answered, or it has been read to its end.
    func turnAway(_ error: PorticoError) -> Bool {
        guard let context, order.isReadingOnly else { return false }
        act(order.refused(error), context)
        return true
    }

    /// The only request under way was answered past this handler, by ``BufferedRequestHandler``.
    func noteAnswered() {
        guard let context else { return }
        act(order.responseEnded(), context)
        if isStopping { closeUnlessAsked(context) }
    }

    private func act(_ action: PipelineOrder.Action, _ context: ChannelHandlerContext) {
        switch action {
        case .nothing: return
        case .close: context.close(promise: nil)
        case .refuse(let error): refuse(error, context)
        }
    }

    private func refuse(_ error: PorticoError, _ context: ChannelHandlerContext) {
        let response = connection.refusal(error, peer: context.remoteAddress?.ipAddress ?? "local")
        context.write(wrapOutboundOut(.head(HTTPResponseHead(response))), promise: nil)
        context.write(wrapOutboundOut(.body(.byteBuffer(response.buffer))), promise: nil)
        context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
        context.close(promise: nil)
    }

    private func throwAway(_ part: HTTPServerRequestPart, _ context: ChannelHandlerContext) {
        switch part {
        case .head(let head): countThrownAway(head.uri.utf8.count + 1, context)
        case .body(let bytes): countThrownAway(bytes.readableBytes, context)
        case .end: return
        }
    }

    private func countThrownAway(_ bytes: Int, _ context: ChannelHandlerContext) {
        thrownAway += bytes
        if thrownAway > LingeringCloseHandler.discardable { context.close(promise: nil) }
    }
}

@available(*, unavailable)
extension RequestValidationHandler: Sendable {}

extension PorticoError {
    static var methodUnknown: PorticoError { PorticoError(.methodUnknown, "The method is unknown.") }

    fileprivate static var chunksTooLarge: PorticoError {
        PorticoError(.requestTooLarge, "The chunks of the body take too many bytes beside it.")
    }

    /// The decoder's reasons, for whoever sent the request.
    init(_ error: HTTPParserError) {
        switch error {
        case .headerOverflow: self.init(.requestHeadersTooLarge, "The header fields are too large or too many.")
        case .invalidEOFState: self.init(.requestMalformed, "The request ends before it is complete.")
        case .invalidMethod: self.init(.requestMalformed, "The method is unknown.")
        // Also said of a line that ends otherwise than it should, so it cannot be told that it is the version's fault.
        case .invalidVersion: self.init(.requestMalformed, "Only HTTP/1.1 and HTTP/1.0 are spoken here.")
        case .unexpectedContentLength, .invalidContentLength:
            self.init(.requestMalformed, "The body's length is not well-formed, or given more than once.")
        case .invalidChunkSize: self.init(.requestMalformed, "A chunk's size is not well-formed.")
        default: self.init(.requestMalformed, "The request is not well-formed HTTP.")
        }
    }
}
