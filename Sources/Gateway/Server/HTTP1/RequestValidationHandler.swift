import AdapterKit
import HTTPTypes
import NIOCore
import NIOHTTP1

/// Passes on requests whose heads ``RequestHeadValidation`` accepts; answers all others with an error and closes the
/// connection. The first handler after the decoder.
///
/// After an error response the peer may still be sending: ``LingeringCloseHandler`` reads and discards that.
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
    /// The error that every request on this connection gets, for connections above the limit; nil: requests are served.
    private let rejected: PorticoError?
    private var order = PipelineOrder()
    private var framing = ChunkFraming()
    /// What the decoder is being given, and how many heads had come before.
    private var reading: (bytes: ByteBuffer, heads: Int)?
    /// The next handler. Requests are passed to it by direct calls, which cost less than the channel pipeline.
    private var inside: BufferedRequestHandler?
    /// For who watches what the decoder makes of bytes, until it is taken.
    private var lastLetIn: (HTTPRequestHead, ValidatedHead)?
    private var discarded = 0
    /// HTTP/1.0 has no chunks: a body of unknown length ends with its connection.
    private var isFirstVersion = false
    private var endsByClosing = false
    private(set) var isStopping = false
    private var context: ChannelHandlerContext?
    /// Whether the response under way says that it is the connection's last.
    private var saysClose = false

    init(connection: GatewayConnection, rejected: PorticoError?) {
        self.connection = connection
        self.rejected = rejected
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let part = unwrapInboundIn(data)
        guard order.isReadingOn else { return discard(part, context) }
        switch part {
        case .head(let head): admit(head, context)
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
    private func admit(_ head: HTTPRequestHead, _ context: ChannelHandlerContext) {
        do {
            if let rejected, !RequestPermits.isAlwaysAnswered(head.uri) { throw rejected }
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

    /// A buffered request whose head was validated before. False where it has to come through the decoder.
    func admit(_ known: CachedRequestHead, body: ByteBuffer?) -> Bool {
        guard order.isReadingOn, !isStopping, rejected == nil, let inside else { return false }
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
        // The reader of the body gets the failure.
        context.fireErrorCaught(HTTPParserError.invalidChunkSize)
    }

    /// How many heads were let in.
    var heads: Int { order.heads }

    /// The last head that was let in, unless it is the connection's last. Once.
    func takeAdmittedHead() -> (HTTPRequestHead, ValidatedHead)? {
        defer { lastLetIn = nil }
        return lastLetIn
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        if case .dataReceivedInErrorState(_, let bytes) = error as? ByteToMessageDecoderError {
            return countDiscarded(bytes.readableBytes, context)
        }
        guard let known = error as? HTTPParserError else { return context.fireErrorCaught(error) }
        guard !order.isComplete else { return }
        let isOtherMethod = known == .invalidMethod && startsWithMethod
        act(order.refused(isOtherMethod ? .methodUnknown : PorticoError(known)), context)
        // The reader of the broken body gets the failure.
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

    /// A stop fails no request: each is answered, with `Connection: close`; only one on which
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
        // A second response to a broken request is dropped without a failure, which would close the connection at once.
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

    /// Answers the request whose head was just accepted with an error, as the connection's last. False where that is
    /// not possible now: earlier requests are unanswered, or the request has been read to its end.
    func rejectCurrentRequest(_ error: PorticoError) -> Bool {
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

    private func discard(_ part: HTTPServerRequestPart, _ context: ChannelHandlerContext) {
        switch part {
        case .head(let head): countDiscarded(head.uri.utf8.count + 1, context)
        case .body(let bytes): countDiscarded(bytes.readableBytes, context)
        case .end: return
        }
    }

    private func countDiscarded(_ bytes: Int, _ context: ChannelHandlerContext) {
        discarded += bytes
        if discarded > LingeringCloseHandler.discardable { context.close(promise: nil) }
    }
}

@available(*, unavailable)
extension RequestValidationHandler: Sendable {}

extension PorticoError {
    static var methodUnknown: PorticoError { PorticoError(.methodUnknown, "The method is unknown.") }

    fileprivate static var chunksTooLarge: PorticoError {
        PorticoError(.requestTooLarge, "The chunks of the body take too many bytes beside it.")
    }

    /// The decoder's errors as errors for the client.
    init(_ error: HTTPParserError) {
        switch error {
        case .headerOverflow: self.init(.requestHeadersTooLarge, "The header fields are too large or too many.")
        case .invalidEOFState: self.init(.requestMalformed, "The request ends before it is complete.")
        case .invalidMethod: self.init(.requestMalformed, "The method is unknown.")
        // Also said of a line that ends otherwise than it should, so the version is not necessarily the cause.
        case .invalidVersion: self.init(.requestMalformed, "Only HTTP/1.1 and HTTP/1.0 are spoken here.")
        case .unexpectedContentLength, .invalidContentLength:
            self.init(.requestMalformed, "The body's length is not well-formed, or given more than once.")
        case .invalidChunkSize: self.init(.requestMalformed, "A chunk's size is not well-formed.")
        default: self.init(.requestMalformed, "The request is not well-formed HTTP.")
        }
    }
}

/// Decides when an error response may be written on a connection whose earlier requests are not answered yet.
///
/// Responses keep the order of their requests, so an error response waits for those before it. After it, all further
/// input and output of the connection is dropped.
struct PipelineOrder {
    enum Action {
        case nothing
        case refuse(PorticoError)
        /// A response is partly written: the only way to report a failure is to close.
        case close
    }

    private var unanswered = 0
    private var isReading = false
    private var isAnswering = false
    private var waiting: PorticoError?
    private var isLast = false
    private(set) var isShut = false
    /// The request that was to be the last has arrived: nothing behind it is meant for us.
    private(set) var isComplete = false

    /// Requests that were let in.
    private(set) var heads = 0

    /// Nothing is asked that was not answered.
    var isIdle: Bool { unanswered == 0 && waiting == nil }

    /// The response under way is to the only request that is.
    var isAnsweringLast: Bool { unanswered == 1 && !isReading }

    /// The only request is still being read, and its response has not begun.
    var isReadingOnly: Bool { unanswered == 1 && isReading && !isAnswering && isReadingOn }

    /// Whether what arrives is still let in.
    var isReadingOn: Bool { waiting == nil && !isShut && !isComplete }

    mutating func headArrived(isLast: Bool) {
        unanswered += 1
        heads += 1
        isReading = true
        self.isLast = isLast
    }

    mutating func requestEnded() {
        isReading = false
        isComplete = isLast
    }

    mutating func responseBegan() { isAnswering = true }

    mutating func responseEnded() -> Action {
        isAnswering = false
        unanswered = max(0, unanswered - 1)
        return step()
    }

    /// What arrives cannot be understood or is not to be let in: the request that is being read, or the next one.
    mutating func refused(_ error: PorticoError) -> Action {
        guard isReadingOn else { return .nothing }
        waiting = error
        return step()
    }

    private mutating func step() -> Action {
        // A request that was let in and then broke off is itself among the unanswered; it may have been answered early.
        guard let error = waiting, !isShut, unanswered <= (isReading ? 1 : 0) else { return .nothing }
        isShut = true
        return isAnswering || (isReading && unanswered == 0) ? .close : .refuse(error)
    }
}

/// Counts what the chunks of a body take on the connection beside the body itself: sizes, extensions and line ends.
///
/// The decoder drops extensions without a limit (RFC 9112, section 7.1.1 asks for one). Only readings that begin and end
/// within the same body are counted, so each body has one reading more.
struct ChunkFraming {
    /// Bytes that any body may take.
    static let allowance = 16 << 10
    /// Further bytes for each byte of the body. One that is sent alone takes five.
    static let perByte = 8

    private var isOpen = false
    private var isWithinBody = false
    private var body = 0
    private var bodyBefore = 0
    private var framing = 0

    mutating func bodyBegan(isChunked: Bool) {
        self = ChunkFraming()
        isOpen = isChunked
    }

    mutating func bodyArrived(_ bytes: Int) { body += bytes }

    mutating func bodyEnded() { self = ChunkFraming() }

    mutating func readingBegan() {
        isWithinBody = isOpen
        bodyBefore = body
    }

    /// - Parameter bytes: what the decoder was given in this reading.
    /// - Returns: false where the chunks take more than is allowed.
    mutating func readingEnded(_ bytes: Int) -> Bool {
        guard isWithinBody else { return true }
        framing += bytes - (body - bodyBefore)
        return framing <= Self.allowance + Self.perByte * body
    }
}
