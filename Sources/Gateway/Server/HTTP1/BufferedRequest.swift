import AdapterKit
import HTTPTypes
import NIOCore
import NIOHTTP1

/// A request that arrived completely, parsed, with its route and, where it is in memory, its caller.
struct BufferedRequest: Sendable {
    let request: GatewayRequest
    let match: RouteMatch
    /// Nil where memory does not know.
    let caller: Caller?
    let began: ContinuousClock.Instant
}

extension GatewayConnection {
    /// The parsed request; nil for one that is malformed or too long, which the asynchronous channel answers.
    func request(
        _ held: PartialRequest, _ peer: PeerAddress.ConnectionPeer, _ head: inout RepeatedHead,
        _ credential: inout ConnectionCredential
    ) -> BufferedRequest? {
        let began = ContinuousClock.now
        guard let reading = held.known?.reading ?? read(held, peer, &head) else { return nil }
        held.known?.reading = reading
        let (parsed, target) = (reading.parsed, reading.target)
        let request = GatewayRequest(
            id: ids.next(), method: reading.method, target: target, headers: parsed.fields, peer: parsed.peer,
            origin: parsed.origin, body: .bytes(held.body.map { Array($0.readableBytesView) } ?? []),
            deadline: began + settings.request)
        return BufferedRequest(
            request: request, match: reading.match,
            caller: gateway.authenticator.immediateCaller(of: request, &credential), began: began)
    }

    private func read(
        _ held: PartialRequest, _ peer: PeerAddress.ConnectionPeer, _ head: inout RepeatedHead
    ) -> HeadReading? {
        let uri = held.head.uri
        guard uri.utf8.count <= gateway.services.limits.uri,
            let parsed = head.repeated(by: held.head.headers) ?? parsed(by: held, peer, &head),
            let method = HTTPRequest.Method(rawValue: held.head.method.rawValue), let target = head.target(of: uri)
        else { return nil }
        return HeadReading(
            parsed: parsed, method: method, target: target, match: head.match(method, target, in: gateway.routes))
    }

    /// Nil where a name is none.
    private func parsed(
        by held: PartialRequest, _ peer: PeerAddress.ConnectionPeer, _ head: inout RepeatedHead
    ) -> RepeatedHead.ParsedFields? {
        let headers = held.head.headers
        guard let fields = HTTPFields(withoutHost: headers) else { return nil }
        let parsed = RepeatedHead.ParsedFields(
            fields: fields, peer: peers.peer(peer, fields), origin: peers.origin(of: held.host, peer, fields))
        head.remember(parsed, of: headers)
        return parsed
    }

    /// The immediate response, logged; nil where there is none. On the channel's event loop.
    func immediateResponse(to buffered: BufferedRequest) -> WireResponse? {
        let request = buffered.request
        guard let caller = buffered.caller,
            let answer = gateway.immediateResponse(to: request, from: caller, at: buffered.match)
        else { return nil }
        log(
            access(
                request.method, LoggedPath.text(request.target.path)[...], status: answer.status, bytes: answer.bytes,
                answer.trace, id: request.id, began: buffered.began))
        return WireResponse(answer, date: dates.field(), id: request.id)
    }

    /// Answers in a task owned by ``DeadlineScheduler``, not on the event loop, because adapters may block. The result
    /// cancels the work when the client has gone; nil where the response is written already.
    func answer(_ buffered: BufferedRequest, on channel: BufferedRequestChannel) -> (any CancellableWork)? {
        let (request, gateway) = (buffered.request, gateway)
        do {
            try permits.take(for: request.target.path)
        } catch {
            send(.failure(error), to: buffered, on: channel)
            return nil
        }
        let late = PorticoError(.deadlineExceeded, "The request took too long.")
        return gateway.services.deadlines.start(until: request.deadline, late: late) {
            await gateway.respond(to: request, from: buffered.caller, at: buffered.match)
        } whenDone: { [self] result in
            permits.leave()
            send(result, to: buffered, on: channel)
        }
    }

    private func send(
        _ result: Result<(response: GatewayResponse, trace: RequestTrace), any Error>, to buffered: BufferedRequest,
        on channel: BufferedRequestChannel
    ) {
        let request = buffered.request
        var (response, trace) =
            switch result {
            case .success(let answered): answered
            case .failure(let error):
                (
                    failure(
                        error, id: request.id, method: request.method, headers: request.headers, target: request.target),
                    RequestTrace()
                )
            }
        addFields(to: &response, isLast: response.closesConnection)
        let access = access(
            request.method, LoggedPath.text(request.target.path)[...], response, trace, id: request.id,
            began: buffered.began)
        guard let stream = response.stream else {
            log(access)
            return channel.finish(response)
        }
        channel.finish(response, stream) { [self] in log(access?.sent($0)) }
    }
}

/// Writes the response of a task through ``BufferedRequestHandler`` on its event loop.
struct BufferedRequestChannel: Sendable {
    private let handlerContext: NIOLoopBound<(handler: BufferedRequestHandler, context: ChannelHandlerContext)>
    private let loop: any EventLoop

    /// On the event loop.
    init(_ handler: BufferedRequestHandler, _ context: ChannelHandlerContext) {
        loop = context.eventLoop
        handlerContext = NIOLoopBound((handler, context), eventLoop: loop)
    }

    /// A response without a stream. From any thread; nothing happens where the connection has gone.
    func finish(_ response: GatewayResponse) {
        let bytes = WireResponse(response)
        loop.execute { handlerContext.value.handler.finish(bytes, context: handlerContext.value.context) }
    }

    /// Writes a stream's pieces as the peer takes them. `sent` is called with the number of bytes at its end.
    func finish(_ response: GatewayResponse, _ stream: any ResponseStream, sent: @escaping @Sendable (Int) -> Void) {
        let head = HTTPResponseHead(response)
        loop.execute {
            let (handler, context) = handlerContext.value
            let writing = Task { sent(await write(stream, head, isLast: response.closesConnection)) }
            handler.finish(by: writing, isEndless: stream.isEndless)
            context.channel.closeFuture.whenComplete { _ in stream.end() }
        }
    }

    /// Returns how many bytes the body was.
    private func write(_ stream: any ResponseStream, _ head: HTTPResponseHead, isLast: Bool) async -> Int {
        defer { stream.end() }
        var bytes = 0
        do {
            try await write(.head(head))
            stream.begin(on: self)
            while let piece = try await stream.next() {
                try await write(.body(.byteBuffer(piece)))
                bytes += piece.readableBytes
            }
            try await write(.end(nil))
            try await loop.submit { handlerContext.value.handler.resume(handlerContext.value.context, closes: isLast) }
                .get()
        } catch {
            // The connection is gone, or can carry nothing else: the head promised more.
            loop.execute { handlerContext.value.context.close(promise: nil) }
        }
        return bytes + stream.bytesBeside
    }

    /// Returns once it has left.
    private func write(_ part: HTTPServerResponsePart) async throws {
        try await loop.flatSubmit {
            let context = handlerContext.value.context
            return context.writeAndFlush(BufferedRequestHandler.wrapped(part))
        }.get()
    }
}

/// Pieces take the way of the head, and pass none of the asynchronous layer's handlers.
extension BufferedRequestChannel: BodyChannel {
    var eventLoop: any EventLoop { loop }
    var isWritable: Bool { handlerContext.value.context.channel.isWritable }
    var isAtRest: Bool { handlerContext.value.context.channel.isAtRest }

    func write(_ piece: ByteBuffer) {
        handlerContext.value.context.write(BufferedRequestHandler.wrapped(.body(.byteBuffer(piece))), promise: nil)
    }

    func flush() { handlerContext.value.context.flush() }
}

/// A whole response as it goes out on an HTTP/1.1 connection.
struct WireResponse {
    /// Bodies up to this are copied behind their heads, so that one write carries both.
    static let longestCopy = 16 << 10

    let bytes: ByteBuffer
    /// Nil where `bytes` hold it, or there is none.
    let body: ByteBuffer?
    /// The connection ends with it.
    let isLast: Bool

    /// A response that says all about itself already.
    init(_ response: GatewayResponse) {
        let body = response.buffer
        let isCopied = body.readableBytes <= Self.longestCopy
        var bytes = ByteBufferAllocator().buffer(capacity: 512 + (isCopied ? body.readableBytes : 0))
        response.writeHead(to: &bytes)
        bytes.writeStaticString("\r\n")
        if isCopied { bytes.writeImmutableBuffer(body) }
        self.bytes = bytes
        self.body = isCopied ? nil : body
        isLast = response.closesConnection
    }

    /// A kept answer, with what is this sending's own.
    /// `date`: the field, whole.
    init(_ answer: ImmediateResponse, date: String, id: String) {
        let body = answer.sendsBody ? answer.kept.response.buffer : ByteBuffer()
        let isCopied = body.readableBytes <= Self.longestCopy
        var bytes = ByteBufferAllocator().buffer(
            capacity: answer.head.readableBytes + 160 + (isCopied ? body.readableBytes : 0))
        bytes.writeImmutableBuffer(answer.head)
        bytes.writeString(date)
        for field in answer.fields { bytes.writeField(field.name.rawName, field.value) }
        bytes.writeStaticString("X-Request-ID: ")
        bytes.writeString(id)
        bytes.writeStaticString("\r\n\r\n")
        if isCopied { bytes.writeImmutableBuffer(body) }
        self.bytes = bytes
        self.body = isCopied ? nil : body
        isLast = false
    }

    private init(bytes: ByteBuffer, body: ByteBuffer?) {
        self.bytes = bytes
        self.body = body
        isLast = true
    }

    /// The same, telling that the connection ends with it: a stop began after it was written.
    func endingConnection() -> WireResponse {
        guard !isLast, let line = bytes.readableBytesView.firstIndex(of: UInt8(ascii: "\n")) else { return self }
        var rest = bytes
        var closing = ByteBufferAllocator().buffer(capacity: bytes.readableBytes + 24)
        if let status = rest.readSlice(length: line - bytes.readerIndex + 1) { closing.writeImmutableBuffer(status) }
        closing.writeField("Connection", "close")
        closing.writeImmutableBuffer(rest)
        return WireResponse(bytes: closing, body: body)
    }
}
