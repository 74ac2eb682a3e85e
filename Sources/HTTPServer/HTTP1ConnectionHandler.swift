import AdapterKit
import HTTPTypes
import NIOCore
import NIOHTTP1

/// Serves a connection of HTTP/1: the only handler behind the decoder.
///
/// One request at a time is with the ``RequestResponder``; what arrives behind it waits (``InboundQueue``), and no more is
/// read then, so responses keep the order of their requests. A request that comes with one read is handed over as a whole;
/// one whose body is longer than ``longestBody``, comes in chunks, in several reads or waits for a word is handed over with
/// its head. Requests that
/// ``RequestHead`` does not accept are answered with an error that ends the connection, after the responses before it.
/// Closing is ``LingeringCloseHandler``'s.
final class HTTP1ConnectionHandler: ChannelDuplexHandler, RemovableChannelHandler, ResponseFraming {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundIn = IOData
    typealias OutboundOut = IOData

    /// Bodies up to this are handed over as a whole.
    static let longestBody = 16 << 10
    /// Response bodies up to this are copied behind their heads, so that one write carries both.
    static let longestCopy = 16 << 10
    /// Bytes that are read and thrown away of a body that is not collected, to keep a connection.
    static let discardable = 256 << 10
    /// The time that work goes on for a peer that sends nothing more. Most often it has gone, which looks the same as a
    /// connection of which it closed its half.
    static let halfClosed = TimeAmount.seconds(1)

    private let server: ServerContext
    /// The error that every request on this connection gets, for connections above the limit; nil: requests are served.
    private let rejected: PorticoError?
    private let idleTimeout: IdleTimeout
    private var context: ChannelHandlerContext?
    private let certificate: PeerCertificate?
    private var peer: ConnectionPeer?
    private var exchange: Exchange?
    var streaming: StreamedBody?
    private var queue = InboundQueue()
    private var isDraining = false
    private var hasPendingRead = false
    /// Whose the last answered request was: by that account the connection is read in turn (``ReadTurns``).
    private var account: CallerIdentity?
    private var turns: ReadTurns?
    private var waitsForTurn = false
    /// Between a read and its end.
    private var isReading = false
    private var mustFlush = false
    /// The last response is written or the connection has gone: nothing that arrives is looked at.
    private var isShut = false
    private var inputHasClosed = false
    private var isStopping = false
    /// Bytes thrown away of the request's body, or behind the last response.
    private var discarded = 0
    /// Requests whose heads came.
    private var heads = 0
    private var framing = ChunkFraming()
    /// The bytes that the decoder is being given, and the number of heads that had come before.
    private var reading: (bytes: ByteBuffer, heads: Int)?
    private var isWritingRest = false
    private var discarding: DiscardedBody?
    /// When something of a streamed body was written last; kept up once the peer has closed its side.
    private var lastPiece: NIODeadline?
    private var silenceLook: Scheduled<Void>?

    /// The request under way and its response.
    private struct Exchange {
        enum Body {
            case held(ByteBuffer?)
            case incoming(IncomingBody)
            case discarding
        }

        enum Response {
            case awaited
            /// Pieces follow. `rest` is what has not been written of a whole body.
            case begun(rest: ByteBuffer?)
            case ended
        }

        let head: RequestHead
        let isFirstVersion: Bool
        /// The client's address.
        var peer = ""
        var body = Body.held(nil)
        var requestEnded = false
        var response = Response.awaited
        var work: (any CancellableWork)?
        /// The word that the client waits for was sent.
        var continueSent = false
        var isChunked = false
        /// HTTP/1.0 has no chunks: a body of unknown length ends with its connection.
        var endsByClosing = false
        /// The response says that the connection ends.
        var isLast = false
    }

    /// `since`: when the peer's turn began.
    init(server: ServerContext, rejected: PorticoError?, certificate: PeerCertificate?, since: NIODeadline) {
        self.server = server
        self.rejected = rejected
        self.certificate = certificate
        idleTimeout = IdleTimeout(idle: server.configuration.idle, since: since)
    }
}

/// Input of the connection.
extension HTTP1ConnectionHandler {
    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        isReading = true
        take(.part(unwrapInboundIn(data)))
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        if isReading { idleTimeout.noteActivity(at: context.eventLoop.now) }
        dispatchIncomplete()
        isReading = false
        if mustFlush {
            mustFlush = false
            context.flush()
        }
        context.fireChannelReadComplete()
    }

    func read(context: ChannelHandlerContext) {
        hasPendingRead = true
        resumeReading()
    }

    private var wantsInput: Bool {
        guard queue.isEmpty else { return false }
        guard let exchange, case .incoming(let body) = exchange.body, !exchange.requestEnded else { return true }
        return body.wantsMore
    }

    private func resumeReading() {
        guard hasPendingRead, wantsInput, !awaitsTurn() else { return }
        hasPendingRead = false
        context?.read()
    }

    /// Between two requests, where the account has many connections on this loop. The system reports a peer that has gone without reading.
    private func awaitsTurn() -> Bool {
        guard let account, let turns, !isStopping, turns.isCrowded(by: account) else { return false }
        guard exchange != nil else {
            if !waitsForTurn { turns.wait(for: self, of: account) }
            waitsForTurn = true
            return true
        }
        return exchange?.requestEnded == true
    }

    /// Reads what has come.
    func readTurnCame() {
        waitsForTurn = false
        guard hasPendingRead, wantsInput else { return }
        hasPendingRead = false
        context?.read()
    }

    private func note(_ account: CallerIdentity?) {
        guard let account, account != self.account else { return }
        turns?.connection(of: self.account, becomesOneOf: account)
        self.account = account
    }

    private func take(_ item: InboundQueue.Item) {
        if !queue.isEmpty || exchange?.requestEnded == true { queue.append(item) } else { process(item) }
    }

    /// Processes what has waited for the end of a response.
    private func drain() {
        guard !isDraining else { return }
        isDraining = true
        while exchange?.requestEnded != true, let item = queue.popFirst() { process(item) }
        isDraining = false
        if !isReading { dispatchIncomplete() }
        resumeReading()
    }

    /// A request whose body has not come with its head: the responder reads on.
    private func dispatchIncomplete() {
        if case .held(let arrived)? = exchange?.body, exchange?.requestEnded == false { dispatchEarly(arrived) }
    }

    private func process(_ item: InboundQueue.Item) {
        guard !isShut else { return discard(item) }
        switch item {
        case .part(.head(let head)): begin(head)
        case .part(.body(let piece)): receive(piece)
        case .part(.end): requestEnded()
        case .failure(let error): fail(error)
        case .inputClosed:
            inputHasClosed = true
            guard let exchange else { return close() }
            // Nothing more comes of what is thrown away.
            if case .discarding = exchange.body { return close() }
            failBody(.brokenOff)
        }
    }

    private func begin(_ head: HTTPRequestHead) {
        heads += 1
        discarded = 0
        do throws(PorticoError) {
            if let rejected, !server.responder.isAlwaysAnswered(head.uri) { throw rejected }
            let request = try RequestHead(head)
            framing.bodyBegan(isChunked: request.isChunked)
            exchange = Exchange(head: request, isFirstVersion: head.version == .http1_0)
            if request.isChunked || request.expectsContinue || (request.length ?? 0) > Self.longestBody {
                dispatchEarly(nil)
            }
        } catch {
            refuse(error, isForHead: head.method == .HEAD)
        }
    }

    private func receive(_ piece: ByteBuffer) {
        framing.bodyArrived(piece.readableBytes)
        switch exchange?.body {
        case .held(let before)?:
            guard var whole = before else {
                exchange?.body = .held(piece)
                return
            }
            exchange?.body = .held(nil)
            var piece = piece
            whole.writeBuffer(&piece)
            exchange?.body = .held(whole)
        case .incoming(let body)?: body.append(piece)
        case .discarding?:
            countDiscarded(piece.readableBytes)
            if let context, discarding?.noteArrival(piece.readableBytes, at: context.eventLoop.now) == false { close() }
        case nil: countDiscarded(piece.readableBytes)
        }
    }

    private func requestEnded() {
        framing.bodyEnded()
        guard let exchange else { return }
        self.exchange?.requestEnded = true
        switch exchange.body {
        case .held(let bytes): dispatch(.whole(bytes))
        case .incoming(let body): body.end()
        case .discarding: break
        }
        if case .ended? = self.exchange?.response { endExchange() }
    }

    private func dispatchEarly(_ arrived: ByteBuffer?) {
        guard let context, let head = exchange?.head else { return }
        let body = IncomingBody(
            announced: head.isChunked ? nil : head.length ?? 0, pace: UploadRate(rate: server.configuration.readRate),
            on: context.eventLoop
        ) { [weak self] in self?.askForBody() }
        exchange?.body = .incoming(body)
        if let arrived { body.append(arrived) }
        dispatch(.incoming(body))
    }

    private func askForBody() {
        if let exchange, exchange.head.expectsContinue, !exchange.continueSent, !exchange.requestEnded,
            case .awaited = exchange.response
        {
            self.exchange?.continueSent = true
            context?.writeAndFlush(wrapOutboundOut(.byteBuffer(Self.continuation)), promise: nil)
        }
        resumeReading()
    }

    private static let continuation = ByteBuffer(string: "HTTP/1.1 100 Continue\r\n\r\n")

    private func dispatch(_ body: RequestBody) {
        guard let context, let head = exchange?.head else { return }
        let peers = server.configuration.peers
        let peer = self.peer ?? peers.ofConnection(context.channel, certificate)
        self.peer = peer
        let request = InboundRequest(head, .http1, from: peer, peers: peers, body: body, received: .now)
        exchange?.peer = request.peer
        let work = server.responder.respond(to: request, on: ResponseSink(self, on: context.eventLoop))
        if case .awaited? = exchange?.response { exchange?.work = work }
    }

    private func discard(_ item: InboundQueue.Item) {
        switch item {
        case .part(.head(let head)): countDiscarded(head.uri.utf8.count + 1)
        case .part(.body(let bytes)): countDiscarded(bytes.readableBytes)
        default: return
        }
    }

    private func countDiscarded(_ bytes: Int) {
        discarded += bytes
        if discarded > Self.discardable { close() }
    }
}

/// Output of the connection.
extension HTTP1ConnectionHandler {
    var isWritable: Bool { context?.channel.isWritable ?? false }

    var isAtRest: Bool { context?.channel.isAtRest ?? false }

    func write(_ response: OutboundResponse) {
        guard let context, !isShut, case .awaited? = exchange?.response else { return }
        note(response.account)
        let isLast = endsConnection(after: response)
        exchange?.isLast = isLast
        let isCopied = response.body.readableBytes <= Self.longestCopy
        var bytes = head(of: response, room: isCopied ? response.body.readableBytes : 0)
        if isCopied { bytes.writeImmutableBuffer(response.body) }
        context.write(wrapOutboundOut(.byteBuffer(bytes)), promise: nil)
        guard isCopied else {
            exchange?.response = .begun(rest: response.body)
            if isReading { mustFlush = true } else { context.flush() }
            return writeRest()
        }
        responseEnded()
    }

    /// A large body goes out piece by piece, as the peer takes it.
    private func writeRest() {
        guard let context, !isWritingRest else { return }
        isWritingRest = true
        defer { isWritingRest = false }
        while case .begun(.some(var rest))? = exchange?.response, context.channel.isWritable {
            guard let piece = rest.readSlice(length: min(server.configuration.chunk, rest.readableBytes)) else {
                return
            }
            exchange?.response = .begun(rest: rest)
            context.writeAndFlush(wrapOutboundOut(.byteBuffer(piece)), promise: nil)
            if rest.readableBytes == 0 { return responseEnded() }
        }
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        if context.channel.isWritable { writeRest() }
        context.fireChannelWritabilityChanged()
    }

    func writeHead(_ response: OutboundResponse) {
        guard let context, !isShut, case .awaited? = exchange?.response else { return abandonStream() }
        note(response.account)
        let isLast = endsConnection(after: response)
        let hasLength = response.fields.contains { $0.name == .contentLength }
        let isFirstVersion = exchange?.isFirstVersion == true
        exchange?.isLast = isLast
        exchange?.endsByClosing = !hasLength && isFirstVersion
        exchange?.isChunked = !hasLength && !isFirstVersion
        exchange?.response = .begun(rest: nil)
        notePiece(context)
        context.writeAndFlush(wrapOutboundOut(.byteBuffer(head(of: response, room: 0))), promise: nil)
    }

    func writePiece(_ piece: ByteBuffer, promise: EventLoopPromise<Void>?) {
        guard let context, case .begun? = exchange?.response else {
            promise?.fail(ChannelError.ioOnClosedChannel)
            return
        }
        notePiece(context)
        guard exchange?.isChunked == true else {
            return context.write(wrapOutboundOut(.byteBuffer(piece)), promise: promise)
        }
        let size = String(piece.readableBytes, radix: 16)
        guard piece.readableBytes > Self.longestCopy else {
            var bytes = context.channel.allocator.buffer(capacity: piece.readableBytes + 20)
            bytes.writeString(size)
            bytes.writeStaticString("\r\n")
            bytes.writeImmutableBuffer(piece)
            bytes.writeStaticString("\r\n")
            return context.write(wrapOutboundOut(.byteBuffer(bytes)), promise: promise)
        }
        context.write(wrapOutboundOut(.byteBuffer(ByteBuffer(string: size + "\r\n"))), promise: nil)
        context.write(wrapOutboundOut(.byteBuffer(piece)), promise: nil)
        context.write(wrapOutboundOut(.byteBuffer(ByteBuffer(string: "\r\n"))), promise: promise)
    }

    func flushPieces() { context?.flush() }

    func writeEnd() {
        guard let context, case .begun? = exchange?.response else { return }
        if exchange?.isChunked == true {
            context.write(wrapOutboundOut(.byteBuffer(ByteBuffer(string: "0\r\n\r\n"))), promise: nil)
        }
        streaming = nil
        responseEnded()
    }

    /// The connection can carry nothing else: the head promised more.
    func breakOff() {
        streaming = nil
        close()
    }

    private func abandonStream() {
        streaming?.cancel()
        streaming = nil
    }

    private func responseEnded() {
        exchange?.response = .ended
        exchange?.work = nil
        if let context { idleTimeout.noteActivity(at: context.eventLoop.now) }
        guard exchange?.isLast != true else {
            isShut = true
            if case .incoming(let body)? = exchange?.body { body.abandon() }
            exchange?.endsByClosing = false
            context?.flush()
            return close()
        }
        if isReading { mustFlush = true } else { context?.flush() }
        if exchange?.requestEnded == true { endExchange() } else { beginDiscarding() }
        drain()
    }

    /// The rest of a body whose response has left, of at most ``discardable`` bytes, is read so that the connection can be
    /// kept: for a time, at ``UploadRate`` at least, and as one of the incomplete requests of its peer.
    private func beginDiscarding() {
        guard let context, let exchange else { return }
        self.exchange?.body = .discarding
        guard let end = server.responder.beginDiscarding(from: exchange.peer) else { return close() }
        let limit = TimeAmount.nanoseconds(server.configuration.idle.nanoseconds)
        let timer = context.eventLoop.assumeIsolated().scheduleTask(in: limit) { [self] in close() }
        discarding = DiscardedBody(
            pace: UploadRate(rate: server.configuration.readRate), since: context.eventLoop.now, timer, end: end)
    }

    private func endDiscarding() {
        discarding?.end()
        discarding = nil
    }

    private func endExchange() {
        endDiscarding()
        exchange = nil
        if inputHasClosed, queue.isEmpty { return close() }
        if isStopping { server.configuration.closesIdleAtOnce ? close() : closeUnlessAsked() }
    }

    private func endsConnection(after response: OutboundResponse) -> Bool {
        guard let exchange else { return true }
        if response.closesConnection || response.endsConnection || exchange.head.isLast || (isStopping && queue.isEmpty)
        {
            return true
        }
        guard !exchange.requestEnded, case .incoming(let body) = exchange.body else { return false }
        // Reading on to the end of a refused body would let any client keep the server busy.
        let isAwaited = exchange.head.expectsContinue && !exchange.continueSent
        return body.wasCollected || isAwaited || (body.announced ?? .max) > Self.discardable
    }

    private func head(of response: OutboundResponse, room: Int) -> ByteBuffer {
        let capacity = (response.prepared?.text.readableBytes ?? 256) + 256 + room
        var bytes = context?.channel.allocator.buffer(capacity: capacity) ?? ByteBuffer()
        bytes.writeHead(
            of: response, server.dates, version: exchange?.isFirstVersion == true ? "HTTP/1.0 " : "HTTP/1.1 ",
            isLast: exchange?.isLast ?? true, isChunked: exchange?.isChunked == true)
        return bytes
    }
}

/// Failures, and the end of a connection.
extension HTTP1ConnectionHandler {
    /// Answers with an error as the connection's last. Only while no other response is under way.
    private func refuse(_ error: PorticoError, isForHead: Bool = false) {
        guard let context, !isShut else { return }
        isShut = true
        exchange?.work?.cancel()
        exchange = nil
        let peer = server.configuration.peers.ofConnection(context.channel).address
        let last = server.lastResponse(error, peer: peer, isForHead: isForHead)
        context.writeAndFlush(wrapOutboundOut(.byteBuffer(last)), promise: nil)
        close()
    }

    /// Fails what the decoder cannot read: the next request, or the body of the one under way.
    private func fail(_ error: PorticoError) {
        guard let exchange else { return refuse(error) }
        failBody(error)
        if case .awaited = exchange.response { refuse(error) } else { close() }
    }

    private func failBody(_ error: PorticoError) {
        if case .incoming(let body)? = exchange?.body { body.fail(error) }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        if case .dataReceivedInErrorState(_, let bytes) = error as? ByteToMessageDecoderError {
            return countDiscarded(bytes.readableBytes)
        }
        guard let known = error as? HTTPParserError else { return close() }
        take(.failure(known == .invalidMethod && startsWithMethod ? .methodUnknown : PorticoError(known)))
    }

    /// Whether the reading begins with what could be a request's method. The decoder calls everything else by the same name.
    private var startsWithMethod: Bool {
        guard let reading, reading.heads == heads else { return false }
        let line = reading.bytes.readableBytesView.prefix(Self.longestMethod + 2)
        let method = line.prefix { $0 != UInt8(ascii: " ") }
        return line.dropFirst(method.count).starts(with: " /".utf8)
            && HTTPRequest.Method(rawValue: String(decoding: method, as: UTF8.self)) != nil
    }

    /// Longer ones are called malformed.
    private static let longestMethod = 32

    /// The decoder is about to be given bytes.
    func readingBegan(_ bytes: ByteBuffer) {
        reading = (bytes, heads)
        framing.readingBegan()
    }

    /// The decoder was given so many bytes, and everything that it made of them has come.
    func readingEnded() {
        guard let bytes = reading?.bytes.readableBytes else { return }
        reading = nil
        guard !framing.readingEnded(bytes), !isShut else { return }
        framing.bodyEnded()
        take(.failure(PorticoError(.requestTooLarge, "The chunks of the body take too many bytes beside it.")))
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if event is ChannelShouldQuiesceEvent {
            isStopping = true
            resumeReading()
            guard server.configuration.closesIdleAtOnce else { return closeUnlessAsked() }
            if exchange == nil { close() }
            return
        }
        guard case .some(.inputClosed) = event as? ChannelEvent else {
            return context.fireUserInboundEventTriggered(event)
        }
        // Clients of endless streams do not half-close (browsers and proxies close): the end of the peer's side is its end.
        if let streaming, streaming.stream.isEndless {
            abandonStream()
            return close()
        }
        if lastPiece == nil { watchSilence(context) }
        if let work = exchange?.work {
            context.eventLoop.scheduleTask(in: Self.halfClosed) { work.cancel() }
        }
        take(.inputClosed)
    }

    private func notePiece(_ context: ChannelHandlerContext) {
        if lastPiece != nil { lastPiece = context.eventLoop.now }
    }

    /// `http.deadlines.halfClosed`: ends a streamed body that brings nothing to a peer that has closed its side. Most often the
    /// peer has gone, and only a write would show it. For what was written and not taken there is ``SlowReaderHandler``.
    private func watchSilence(_ context: ChannelHandlerContext) {
        let limit = TimeAmount.nanoseconds(server.configuration.halfClosed.nanoseconds)
        let last = lastPiece ?? context.eventLoop.now
        lastPiece = last
        silenceLook = context.eventLoop.assumeIsolated().scheduleTask(deadline: last + limit) { [weak self] in
            guard let self, !isShut, let context = self.context else { return }
            let now = context.eventLoop.now
            if streaming == nil || !context.channel.isAtRest { lastPiece = now }
            guard let last = lastPiece, last + limit <= now else { return watchSilence(context) }
            abandonStream()
            close()
        }
    }

    /// A stop fails no request: each is answered, with `Connection: close`; only one on which
    /// nothing was asked for a while is closed.
    ///
    /// Looks twice at least: after much work a loop's timers come before what has arrived meanwhile. A loop that is late
    /// with its timers is late with reading too, so it looks until one is punctual.
    private func closeUnlessAsked(in time: TimeAmount = StopGrace.first) {
        guard exchange == nil, !isShut, let context else { return }
        let asked = heads
        let due = context.eventLoop.now + time
        context.eventLoop.assumeIsolated().scheduleTask(in: time) { [self] in
            guard exchange == nil, heads == asked else { return }
            let isBehind = context.eventLoop.now - due > StopGrace.punctual
            if time == StopGrace.first || isBehind { return closeUnlessAsked(in: StopGrace.next) }
            close()
        }
    }

    /// A body whose end is the connection's, and which breaks off, must not look whole.
    private func close() {
        isShut = true
        endDiscarding()
        guard let context else { return }
        if exchange?.endsByClosing == true { context.triggerUserOutboundEvent(ConnectionReset(), promise: nil) }
        context.close(promise: nil)
    }

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        turns = server.turns.turns(on: context.eventLoop)
        if context.channel.isActive { watch(context) }
    }

    func channelActive(context: ChannelHandlerContext) {
        watch(context)
        context.fireChannelActive()
    }

    func channelInactive(context: ChannelHandlerContext) {
        end()
        context.fireChannelInactive()
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        end()
        self.context = nil
    }

    private func end() {
        turns?.connection(of: account, becomesOneOf: nil)
        (turns, account) = (nil, nil)
        idleTimeout.stop()
        endDiscarding()
        silenceLook?.cancel()
        isShut = true
        failBody(.brokenOff)
        exchange?.work?.cancel()
        exchange = nil
        queue = InboundQueue()
        abandonStream()
    }

    /// A connection is given up when nothing comes while something is due from the peer, never while we owe an answer;
    /// for answers that it does not take there is ``SlowReaderHandler``.
    private func watch(_ context: ChannelHandlerContext) {
        idleTimeout.start(on: context.eventLoop) { [weak self] in
            guard let self, let exchange else { return true }
            if case .begun = exchange.response { return false }
            return !exchange.requestEnded && wantsInput
        } giveUp: { [weak self] in
            self?.context?.close(promise: nil)
        }
    }
}

@available(*, unavailable)
extension HTTP1ConnectionHandler: Sendable {}

/// The waits of a stop for requests that are on their way still.
enum StopGrace {
    static let first = TimeAmount.seconds(1)
    static let next = TimeAmount.milliseconds(200)
    /// The delay up to which a loop's timer counts as punctual: the loop has read everything there is.
    static let punctual = TimeAmount.milliseconds(20)
}

/// Input of a connection while one of its requests is being answered, in order. It holds no more than one read brought.
struct InboundQueue {
    enum Item {
        case part(HTTPServerRequestPart)
        case failure(PorticoError)
        case inputClosed
    }

    private var items: [Item] = []
    private var first = 0

    var isEmpty: Bool { first == items.count }

    mutating func append(_ item: Item) { items.append(item) }

    mutating func popFirst() -> Item? {
        guard first < items.count else { return nil }
        defer {
            first += 1
            if first == items.count { (items, first) = ([], 0) }
        }
        return items[first]
    }
}

/// Tells ``HTTP1ConnectionHandler`` what its decoder is given: what chunks take beside a body, and how a message begins
/// that the decoder refuses, the decoder does not say.
final class DecoderInputHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    private let connection: HTTP1ConnectionHandler

    init(_ connection: HTTP1ConnectionHandler) {
        self.connection = connection
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        connection.readingBegan(unwrapInboundIn(data))
        context.fireChannelRead(data)
        connection.readingEnded()
    }
}

@available(*, unavailable)
extension DecoderInputHandler: Sendable {}

extension ByteBuffer {
    /// The head of a response (RFC 9112, sections 4 and 5). Its fields were checked where they became `HTTPField`s.
    mutating func writeHead(
        of response: OutboundResponse, _ dates: DateHeader, version: StaticString, isLast: Bool, isChunked: Bool = false
    ) {
        writeStaticString(version)
        writeStatus(response.status)
        if let prepared = response.prepared { writeImmutableBuffer(prepared.text) }
        for field in response.fields where !field.name.isOfConnection { writeField(field.name.rawName, field.value) }
        writeString(dates.line())
        if isLast { writeStaticString("Connection: close\r\n") }
        if isChunked { writeStaticString("Transfer-Encoding: chunked\r\n") }
        writeStaticString("\r\n")
    }

    private mutating func writeStatus(_ status: HTTPResponse.Status) {
        switch status.code {
        case 200: writeStaticString("200 OK\r\n")
        case 304: writeStaticString("304 Not Modified\r\n")
        case 404: writeStaticString("404 Not Found\r\n")
        default:
            writeString(String(status.code))
            writeStaticString(" ")
            writeString(status.reasonPhrase)
            writeStaticString("\r\n")
        }
    }
}

extension HTTPField.Name {
    /// Fields that the framing of a connection writes itself (RFC 9110, section 7.6.1; RFC 9113, section 8.2.2).
    var isOfConnection: Bool {
        switch canonicalName.utf8.count {
        case 7: self == .upgrade
        case 10: self == .connection || canonicalName == "keep-alive"
        case 16: canonicalName == "proxy-connection"
        case 17: self == .transferEncoding
        default: false
        }
    }
}

extension Channel {
    /// Whether everything that was written has left.
    var isAtRest: Bool { isWritable && (try? syncOptions?.getOption(.bufferedWritableBytes)) ?? 0 == 0 }
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
