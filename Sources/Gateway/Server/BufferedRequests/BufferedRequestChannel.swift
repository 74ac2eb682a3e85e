import NIOCore
import NIOHTTP1

/// The way back from the task that answers a request to ``BufferedRequestHandler`` on its event loop.
struct BufferedRequestChannel: Sendable {
    private let place: NIOLoopBound<(handler: BufferedRequestHandler, context: ChannelHandlerContext)>
    private let loop: any EventLoop

    /// On the event loop.
    init(_ handler: BufferedRequestHandler, _ context: ChannelHandlerContext) {
        loop = context.eventLoop
        place = NIOLoopBound((handler, context), eventLoop: loop)
    }

    /// A response without a stream. From any thread; nothing happens where the connection has gone.
    func finish(_ response: GatewayResponse) {
        let bytes = WireResponse(response)
        loop.execute { place.value.handler.finish(bytes, context: place.value.context) }
    }

    /// A stream's pieces are asked for as the peer takes them; `sent` is told how many bytes it was, when it has ended.
    func finish(_ response: GatewayResponse, _ stream: any ResponseStream, sent: @escaping @Sendable (Int) -> Void) {
        let head = HTTPResponseHead(response)
        loop.execute {
            let (handler, context) = place.value
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
            try await loop.submit { place.value.handler.resume(place.value.context, closes: isLast) }.get()
        } catch {
            // The connection is gone, or can carry nothing else: the head promised more.
            loop.execute { place.value.context.close(promise: nil) }
        }
        return bytes + stream.bytesBeside
    }

    /// Returns once it has left.
    private func write(_ part: HTTPServerResponsePart) async throws {
        try await loop.flatSubmit {
            let context = place.value.context
            return context.writeAndFlush(BufferedRequestHandler.wrapped(part))
        }.get()
    }
}

/// Pieces take the way of the head, and pass none of the asynchronous layer's handlers.
extension BufferedRequestChannel: BodyChannel {
    var eventLoop: any EventLoop { loop }
    var isWritable: Bool { place.value.context.channel.isWritable }
    var isAtRest: Bool { place.value.context.channel.isAtRest }

    func write(_ piece: ByteBuffer) {
        place.value.context.write(BufferedRequestHandler.wrapped(.body(.byteBuffer(piece))), promise: nil)
    }

    func flush() { place.value.context.flush() }
}
