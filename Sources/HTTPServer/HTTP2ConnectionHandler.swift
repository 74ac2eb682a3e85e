import AdapterKit
import HTTPTypes
import NIOCore
import NIOHPACK
import NIOHTTP2

/// Serves a connection of HTTP/2: the handler behind `NIOHTTP2Handler`, which has no multiplexer. A stream is an
/// ``HTTP2Stream`` in a dictionary, with no channel of its own.
///
/// NIOHTTP2 keeps the state of the protocol: it frames and unpacks, refuses malformed field sections and lengths, buffers
/// what waits for a window, and ends connections that flood it. This handler opens windows, limits streams, hands requests
/// to the ``RequestResponder``, and ends the connection: after `http.deadlines.head` without a request by GOAWAY (RFC 9113,
/// section 6.8), after twice that at once.
final class HTTP2ConnectionHandler: ChannelInboundHandler, RemovableChannelHandler, NIOHTTP2FrameDelegate {
    typealias InboundIn = HTTP2Frame
    typealias OutboundOut = HTTP2Frame

    /// Requests of one connection under way at once.
    static let streams = 100
    /// Bytes of bodies that a stream or the connection may send before it waits (RFC 9113, section 6.9.2).
    static let window = 65_535
    private static let stopPing = HTTP2PingData(withInteger: 0x706F_7274_6963_6F21)

    let server: ServerContext
    /// Stands before NIOHTTP2.
    private let frames: PeerFrameHandler
    private var streams: [HTTP2StreamID: HTTP2Stream] = [:]
    private(set) var context: ChannelHandlerContext?
    private var lastStream = HTTP2StreamID.rootStream
    private var lastEnd: NIODeadline
    private var look: Scheduled<Void>?
    private var silenceLook: Scheduled<Void>?
    private var inputHasClosed = false
    private var mustFlush = false
    private var isReading = false
    /// Streams whose requests began with this read and are not whole.
    private var incomplete: [HTTP2StreamID] = []
    /// NIOHTTP2 has ended the connection with an error.
    private var hasFailed = false
    private var ending = Ending.no
    private let certificate: PeerCertificate?
    private var peer: ConnectionPeer?

    private enum Ending {
        case no
        /// GOAWAY was sent; the peer may have sent requests before it arrived.
        case announced
        /// Nothing behind the last stream is answered any more.
        case final
    }

    /// `since`: when the connection began.
    init(server: ServerContext, frames: PeerFrameHandler, certificate: PeerCertificate?, since: NIODeadline) {
        lastEnd = since
        self.certificate = certificate
        self.server = server
        self.frames = frames
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        isReading = true
        let frame = unwrapInboundIn(data)
        switch frame.payload {
        case .headers(let headers): receive(headers, frame.streamID, context)
        case .data(let data):
            guard case .byteBuffer(let bytes) = data.data else { return }
            streams[frame.streamID]?.receive(bytes, isLast: data.endStream)
        case .ping(let data, ack: true): if data == Self.stopPing { endFinally() }
        default: return
        }
    }

    private func receive(
        _ headers: HTTP2Frame.FramePayload.Headers, _ id: HTTP2StreamID, _ context: ChannelHandlerContext
    ) {
        if let stream = streams[id] { return stream.receiveTrailers(headers.headers) }
        guard id > lastStream else { return }
        lastStream = id
        guard streams.count < Self.streams else {
            frames.streamRefused()
            // Nothing of its request was looked at, and the client may send it again once another stream has ended (RFC
            // 9113, section 8.7).
            return write(.rstStream(.refusedStream), on: id)
        }
        let stream = HTTP2Stream(id, self, on: context.eventLoop)
        streams[id] = stream
        if !headers.endStream { incomplete.append(id) }
        stream.begin(headers.headers, isWhole: headers.endStream)
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        if !incomplete.isEmpty {
            for id in incomplete { streams[id]?.dispatchIncomplete() }
            incomplete.removeAll()
        }
        isReading = false
        flushIfNeeded()
        context.fireChannelReadComplete()
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        context.fireChannelWritabilityChanged()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        switch event {
        case let event as StreamClosedEvent: noteClosed(event.streamID)
        case let event as NIOHTTP2WindowUpdatedEvent: noteWindowUpdate(event)
        case is NIOHTTP2StreamCreatedEvent, is NIOHTTP2BulkStreamWindowChangeEvent: return
        case is ChannelShouldQuiesceEvent:
            announceEnd()
            if server.configuration.closesIdleAtOnce { endFinally() }
        case ChannelEvent.inputClosed as ChannelEvent:
            inputHasClosed = true
            for stream in Array(streams.values) where stream.isEndless { reset(stream.id, .cancel) }
            context.eventLoop.assumeIsolated().scheduleTask(in: HTTP1ConnectionHandler.halfClosed) { [self] in
                for stream in streams.values { stream.cancelWork() }
            }
            watchSilence(context)
            closeAfterLastAnswer()
        default: context.fireUserInboundEventTriggered(event)
        }
    }

    private func noteWindowUpdate(_ event: NIOHTTP2WindowUpdatedEvent) {
        guard let window = event.inboundWindowSize else { return }
        if event.streamID == .rootStream {
            if let increment = Self.increment(window) {
                write(.windowUpdate(windowSizeIncrement: increment), on: .rootStream)
            }
        } else {
            streams[event.streamID]?.windowChanged(to: window)
        }
    }

    /// The increment that opens a window again of which half is used.
    static func increment(_ window: Int) -> Int? { window <= Self.window / 2 ? Self.window - window : nil }

    private func noteClosed(_ id: HTTP2StreamID) {
        guard let stream = streams.removeValue(forKey: id) else { return }
        if let context { lastEnd = context.eventLoop.now }
        stream.noteClosed()
        closeAfterLastAnswer()
    }
}

/// Requests of its streams.
extension HTTP2ConnectionHandler {
    func write(_ payload: HTTP2Frame.FramePayload, on id: HTTP2StreamID, promise: EventLoopPromise<Void>? = nil) {
        guard let context else {
            promise?.fail(ChannelError.ioOnClosedChannel)
            return
        }
        context.write(wrapOutboundOut(HTTP2Frame(streamID: id, payload: payload)), promise: promise)
        mustFlush = true
    }

    /// Flushes, unless a read goes on: what one read brings is answered together.
    func flushUnlessReading() {
        if !isReading { flushIfNeeded() }
    }

    func flushIfNeeded() {
        guard mustFlush else { return }
        mustFlush = false
        context?.flush()
    }

    var connectionPeer: ConnectionPeer {
        if let peer { return peer }
        let peer = server.configuration.peers.ofConnection(context?.channel, certificate)
        self.peer = peer
        return peer
    }

    func reset(_ id: HTTP2StreamID, _ code: NIOHTTP2.HTTP2ErrorCode) {
        write(.rstStream(code), on: id)
        flushUnlessReading()
    }
}

/// The end of the connection.
extension HTTP2ConnectionHandler {
    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        watch(context)
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        end()
        self.context = nil
    }

    func channelInactive(context: ChannelHandlerContext) {
        end()
        context.fireChannelInactive()
    }

    private func end() {
        look?.cancel()
        look = nil
        silenceLook?.cancel()
        silenceLook = nil
        let open = streams.values
        streams = [:]
        for stream in open { stream.noteClosed() }
    }

    /// Closes a connection on which no request was under way for too long, whatever else its peer sends: frames that ask
    /// for nothing keep silence away, and would keep a place for ever. One look for each span.
    private func watch(_ context: ChannelHandlerContext) {
        let idle = TimeAmount.nanoseconds(server.configuration.idle.nanoseconds)
        look = context.eventLoop.assumeIsolated().scheduleTask(in: idle) { [self] in
            let isIdle = streams.isEmpty && lastEnd + idle <= context.eventLoop.now
            if isIdle, lastEnd + idle * 2 <= context.eventLoop.now { return context.close(promise: nil) }
            if isIdle { announceEnd() }
            watch(context)
        }
    }

    /// `http.deadlines.halfClosed`: ends streamed bodies that bring nothing to a peer that has closed its side. One look for
    /// each span.
    private func watchSilence(_ context: ChannelHandlerContext) {
        let limit = TimeAmount.nanoseconds(server.configuration.halfClosed.nanoseconds)
        silenceLook?.cancel()
        silenceLook = context.eventLoop.assumeIsolated().scheduleTask(in: limit) { [self] in
            let start = context.eventLoop.now - limit
            for stream in Array(streams.values) where stream.isSilent(since: start) { reset(stream.id, .cancel) }
            watchSilence(context)
        }
    }

    /// Nothing more is to be asked. The peer acknowledges a ping, and so tells that it knows.
    func announceEnd() {
        guard case .no = ending else { return }
        ending = .announced
        write(.goAway(lastStreamID: .maxID, errorCode: .noError, opaqueData: nil), on: .rootStream)
        write(.ping(Self.stopPing, ack: false), on: .rootStream)
        flushIfNeeded()
    }

    private func endFinally() {
        guard case .announced = ending else { return }
        ending = .final
        write(.goAway(lastStreamID: lastStream, errorCode: .noError, opaqueData: nil), on: .rootStream)
        flushIfNeeded()
        closeAfterLastAnswer()
    }

    /// In the loop's next turn: a stream ends while its last frame is being written.
    private func closeAfterLastAnswer() {
        var mayEnd = inputHasClosed
        if case .final = ending { mayEnd = true }
        guard mayEnd, streams.isEmpty, let context else { return }
        context.eventLoop.assumeIsolated().execute { context.close(promise: nil) }
    }

    /// Before an error of the connection NIOHTTP2 has written GOAWAY with a code; for one of a stream it has reset the
    /// stream (RFC 9113, section 5.4).
    func wroteFrame(_ frame: HTTP2Frame) {
        if case .goAway(_, let code, _) = frame.payload, code != .noError { hasFailed = true }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        if !hasFailed, error is any NIOHTTP2Error { return }
        context.close(promise: nil)
    }
}

@available(*, unavailable)
extension HTTP2ConnectionHandler: Sendable {}

/// One request of a connection of HTTP/2 and its response.
final class HTTP2Stream: ResponseFraming {
    /// Bytes of a response that wait for a window or the socket before no more is written.
    private static let unsentAtMost = 128 << 10

    private enum Request {
        case held(RequestHead, ByteBuffer?)
        case incoming(IncomingBody)
        /// Answered: what follows is ignored.
        case answered
    }

    private enum Response {
        case awaited
        case begun(rest: ByteBuffer?)
        case ended
    }

    let id: HTTP2StreamID
    private let connection: HTTP2ConnectionHandler
    private let eventLoop: any EventLoop
    private var request = Request.answered
    private var requestEnded = false
    private var response = Response.awaited
    private var work: (any CancellableWork)?
    var streaming: StreamedBody?
    private var expectsContinue = false
    /// Bytes that its peer may still send.
    private var window = HTTP2ConnectionHandler.window
    private var unsent = 0
    private var isWritingRest = false
    private var isClosed = false
    /// When something left last.
    private var progress: NIODeadline
    private var timer: Scheduled<Void>?

    init(_ id: HTTP2StreamID, _ connection: HTTP2ConnectionHandler, on eventLoop: any EventLoop) {
        self.id = id
        self.connection = connection
        self.eventLoop = eventLoop
        progress = eventLoop.now
    }

    private var server: ServerContext { connection.server }
}

/// Input of the stream.
extension HTTP2Stream {
    func begin(_ section: HPACKHeaders, isWhole: Bool) {
        requestEnded = isWhole
        do throws(PorticoError) {
            let head = try RequestHead(section, limits: server.configuration.head)
            if isWhole {
                dispatch(head, .whole(nil))
            } else if head.expectsContinue || (head.length ?? 0) > HTTP1ConnectionHandler.longestBody {
                dispatchEarly(head, nil)
            } else {
                request = .held(head, nil)
            }
        } catch {
            var response = server.responder.refusal(error, peer: connection.connectionPeer.address)
            if section.first(name: ":method") == "HEAD" { response.body.clear() }
            write(response)
        }
    }

    /// Hands over a request whose body has not come with one read: the reader of the body waits for it.
    func dispatchIncomplete() {
        if case .held(let head, let arrived) = request { dispatchEarly(head, arrived) }
    }

    func receive(_ bytes: ByteBuffer, isLast: Bool) {
        requestEnded = requestEnded || isLast
        switch request {
        case .held(let head, let before):
            let whole = Self.joined(before, bytes)
            if isLast {
                request = .answered
                dispatch(head, .whole(whole))
            } else if whole.readableBytes > HTTP1ConnectionHandler.longestBody {
                dispatchEarly(head, whole)
            } else {
                request = .held(head, whole)
                openWindow()
            }
        case .incoming(let body):
            if bytes.readableBytes > 0 { body.append(bytes) }
            if isLast { body.end() } else { openWindow() }
        case .answered: return
        }
    }

    /// They are not looked at, but counted: a request whose trailer is too large ends with its stream.
    func receiveTrailers(_ section: HPACKHeaders) {
        let limits = server.configuration.head
        let bytes = section.reduce(0) { $0 + $1.name.utf8.count + $1.value.utf8.count }
        guard section.count <= limits.fields, bytes <= limits.bytes else {
            work?.cancel()
            if case .incoming(let body) = request { body.fail(.brokenOff) }
            return connection.reset(id, .enhanceYourCalm)
        }
        receive(ByteBuffer(), isLast: true)
    }

    private static func joined(_ before: ByteBuffer?, _ bytes: ByteBuffer) -> ByteBuffer {
        guard var whole = before else { return bytes }
        var bytes = bytes
        whole.writeBuffer(&bytes)
        return whole
    }

    private func dispatchEarly(_ head: RequestHead, _ arrived: ByteBuffer?) {
        expectsContinue = head.expectsContinue
        let body = IncomingBody(
            announced: head.length, pace: UploadRate(rate: server.configuration.readRate), on: eventLoop
        ) { [weak self] in self?.askForBody() }
        request = .incoming(body)
        if let arrived { body.append(arrived) }
        dispatch(head, .incoming(body))
    }

    private func dispatch(_ head: RequestHead, _ body: RequestBody) {
        let (peers, peer) = (server.configuration.peers, connection.connectionPeer)
        let request = InboundRequest(head, .http2, from: peer, peers: peers, body: body, received: .now)
        let work = server.responder.respond(to: request, on: ResponseSink(self, on: eventLoop))
        if case .awaited = response { self.work = work }
    }

    private func askForBody() {
        if expectsContinue, case .awaited = response, !requestEnded {
            expectsContinue = false
            connection.write(.headers(.init(headers: [":status": "100"])), on: id)
            connection.flushIfNeeded()
        }
        openWindow()
        connection.flushIfNeeded()
    }

    func windowChanged(to window: Int) {
        self.window = window
        openWindow()
    }

    private func openWindow() {
        guard !requestEnded, !isClosed, let increment = HTTP2ConnectionHandler.increment(window) else { return }
        switch request {
        case .held: break
        case .incoming(let body): guard body.wantsMore else { return }
        case .answered: return
        }
        window += increment
        connection.write(.windowUpdate(windowSizeIncrement: increment), on: id)
    }
}

/// Output of the stream.
extension HTTP2Stream {
    var isWritable: Bool { !isClosed && unsent < Self.unsentAtMost && connection.context?.channel.isWritable == true }

    /// The peer sends nothing more, and has most often gone.
    func cancelWork() { work?.cancel() }

    var isEndless: Bool { streaming?.stream.isEndless == true }

    /// Whether its body is streamed, and nothing of it was written since then.
    func isSilent(since start: NIODeadline) -> Bool { streaming != nil && unsent == 0 && progress <= start }

    var isAtRest: Bool { unsent == 0 && connection.context?.channel.isAtRest == true }

    func write(_ response: OutboundResponse) {
        guard !isClosed, case .awaited = self.response else { return }
        work = nil
        defer { connection.flushUnlessReading() }
        defer { if response.endsConnection { connection.announceEnd() } }
        let body = response.body
        writeFields(of: response, isLast: body.readableBytes == 0)
        guard body.readableBytes > 0 else { return responseEnded() }
        guard body.readableBytes > server.configuration.chunk else {
            write(body, isLast: true)
            return responseEnded()
        }
        self.response = .begun(rest: body)
        writeRest()
    }

    func writeHead(_ response: OutboundResponse) {
        guard !isClosed, case .awaited = self.response else {
            streaming?.cancel()
            streaming = nil
            return
        }
        work = nil
        progress = eventLoop.now
        self.response = .begun(rest: nil)
        writeFields(of: response, isLast: false)
        connection.flushIfNeeded()
    }

    func writePiece(_ piece: ByteBuffer, promise: EventLoopPromise<Void>?) {
        guard !isClosed, case .begun = response else {
            promise?.fail(ChannelError.ioOnClosedChannel)
            return
        }
        write(piece, isLast: false, promise: promise)
    }

    func flushPieces() { connection.flushIfNeeded() }

    func writeEnd() {
        guard !isClosed, case .begun = response else { return }
        streaming = nil
        write(ByteBuffer(), isLast: true)
        responseEnded()
        connection.flushIfNeeded()
    }

    func breakOff() {
        streaming = nil
        guard !isClosed else { return }
        connection.reset(id, .internalError)
    }

    private func writeFields(of response: OutboundResponse, isLast: Bool) {
        var fields = FieldSection.headers(response)
        fields.add(name: "date", value: server.dates.text())
        connection.write(
            .headers(.init(headers: fields, endStream: isLast)), on: id, promise: isLast ? cutOff() : nil)
    }

    /// In frames of their own, so that a peer that reads slowly is seen to read: a long piece is not the unit of progress.
    private func write(_ bytes: ByteBuffer, isLast: Bool, promise: EventLoopPromise<Void>? = nil) {
        var rest = bytes
        while rest.readableBytes > Self.longestFrame, let piece = rest.readSlice(length: Self.longestFrame) {
            writeFrame(piece, isLast: false)
        }
        writeFrame(rest, isLast: isLast, isWatched: bytes.readableBytes > Self.longestFrame, promise: promise)
    }

    private func writeFrame(
        _ bytes: ByteBuffer, isLast: Bool, isWatched: Bool = true, promise: EventLoopPromise<Void>? = nil
    ) {
        let size = bytes.readableBytes
        // A short body within the window leaves with the next flush; only what may wait is watched.
        let promise = promise ?? (isLast ? cutOff() : nil)
        guard promise != nil || isWatched || !isLast else {
            return connection.write(.data(.init(data: .byteBuffer(bytes), endStream: isLast)), on: id)
        }
        let left = promise ?? eventLoop.makePromise()
        unsent += size
        left.futureResult.assumeIsolated().whenComplete { [self] _ in
            unsent -= size
            progress = eventLoop.now
            if unsent < Self.unsentAtMost { writeRest() }
        }
        connection.write(.data(.init(data: .byteBuffer(bytes), endStream: isLast)), on: id, promise: left)
        watch()
    }

    /// Bytes of a DATA frame: what every peer takes (RFC 9113, section 6.5.2).
    private static let longestFrame = 1 << 14

    /// A large body goes out piece by piece, as the peer takes it.
    private func writeRest() {
        guard !isWritingRest, !isClosed else { return }
        isWritingRest = true
        defer { isWritingRest = false }
        while case .begun(.some(var rest)) = response, unsent < Self.unsentAtMost {
            guard let piece = rest.readSlice(length: min(server.configuration.chunk, rest.readableBytes)) else {
                return
            }
            response = .begun(rest: rest)
            write(piece, isLast: rest.readableBytes == 0)
            connection.flushIfNeeded()
            if rest.readableBytes == 0 { responseEnded() }
        }
    }

    private func responseEnded() {
        response = .ended
        guard !isClosed else { return }
        if case .incoming(let body) = request { body.abandon() }
        request = .answered
        watch()
    }

    /// For the last frame: a request that has not ended is cut off without an error once its response has left (RFC 9113,
    /// section 8.1). Nil where the request has ended.
    private func cutOff() -> EventLoopPromise<Void>? {
        guard !requestEnded else { return nil }
        let left = eventLoop.makePromise(of: Void.self)
        left.futureResult.assumeIsolated().whenComplete { [self] _ in
            if !isClosed, !requestEnded { connection.reset(id, .noError) }
        }
        return left
    }

    /// `http.deadlines.write`: a stream whose peer takes nothing for so long is given up. A peer can hold a response up by
    /// its window alone, and bytes that wait for a window never reach ``SlowReaderHandler``.
    private func watch() {
        guard timer == nil, !isClosed else { return }
        let limit = TimeAmount.nanoseconds(server.configuration.write.nanoseconds)
        progress = eventLoop.now
        schedule(at: progress + limit, limit)
    }

    private func schedule(at time: NIODeadline, _ limit: TimeAmount) {
        timer = eventLoop.assumeIsolated().scheduleTask(deadline: time) { [self] in
            timer = nil
            guard !isClosed else { return }
            var isOver = false
            if case .ended = response { isOver = true }
            guard unsent > 0 || isOver else { return }
            guard progress + limit > eventLoop.now else { return connection.reset(id, .cancel) }
            schedule(at: progress + limit, limit)
        }
    }

    /// The stream has ended, on both sides or by a reset.
    func noteClosed() {
        guard !isClosed else { return }
        isClosed = true
        timer?.cancel()
        timer = nil
        work?.cancel()
        work = nil
        if case .incoming(let body) = request { body.fail(.brokenOff) }
        request = .answered
        streaming?.cancel()
        streaming = nil
    }
}

@available(*, unavailable)
extension HTTP2Stream: Sendable {}

/// Fields as a field section of HTTP/2 has them.
struct FieldSection: Sendable {
    private let fields: HPACKHeaders

    init(_ fields: HTTPFields) {
        var section = HPACKHeaders()
        section.add(fields)
        self.fields = section
    }

    /// The section of a response, its status first.
    static func headers(_ response: OutboundResponse) -> HPACKHeaders {
        var section = HPACKHeaders()
        section.reserveCapacity(response.fields.count + (response.prepared?.section.fields.count ?? 0) + 2)
        section.add(name: ":status", value: String(response.status.code))
        if let prepared = response.prepared { section.add(contentsOf: prepared.section.fields) }
        section.add(response.fields)
        return section
    }
}

extension HPACKHeaders {
    fileprivate mutating func add(_ fields: HTTPFields) {
        for field in fields where !field.name.isOfConnection {
            add(name: field.name.canonicalName, value: field.value, indexing: field.name.indexing)
        }
    }
}

extension HTTPField.Name {
    /// Values that are another with every response are not worth a place in the compression's table (RFC 7541, section 6.2).
    fileprivate var indexing: HPACKIndexing {
        switch canonicalName {
        case "x-request-id", "etag", "content-length", "ratelimit", "location", "x-csrf-token", "set-cookie":
            .nonIndexable
        default: .indexable
        }
    }
}
