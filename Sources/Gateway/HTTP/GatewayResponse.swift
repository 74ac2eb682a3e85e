import HTTPTypes
import NIOCore
import NIOHTTPTypes

/// One response, before it is written to a connection or to a batch.
struct GatewayResponse: Sendable {
    var status: HTTPResponse.Status
    var headers: HTTPFields
    /// The body as a socket takes it. A kept answer is written many times, and every writing shares these bytes.
    var buffer: ByteBuffer
    /// What follows where the body has no end yet; the buffer is empty then.
    var stream: (any ResponseStream)?
    /// The connection cannot be used any further: the rest of a refused body is not read.
    var closesConnection = false
    /// For the access log: the error that this answer reports.
    var refusal: AccessRecord.Refusal?

    init(_ status: HTTPResponse.Status, headers: HTTPFields = [:], body: [UInt8] = []) {
        self.status = status
        self.headers = headers
        buffer = body.isEmpty ? ByteBuffer() : ByteBuffer(bytes: body)
    }

    /// A copy of the body's bytes.
    var body: [UInt8] {
        get { Array(buffer.readableBytesView) }
        set { buffer = newValue.isEmpty ? ByteBuffer() : ByteBuffer(bytes: newValue) }
    }
}

/// A body that comes piece by piece, for as long as its connection lasts.
protocol ResponseStream: Sendable {
    /// The head is written. From now on the stream may also write body parts itself, on the channel's event loop, between
    /// two calls of ``next()``'s caller.
    func begin(on channel: any BodyChannel)

    /// The next piece, when there is one; nil at the end. One caller at a time. Throwing breaks the connection off, so
    /// that the client does not take a part for the whole.
    func next() async throws -> ByteBuffer?

    /// Whether the body is endless, as event streams are. A client that half-closes during an endless body has gone;
    /// during a finite one it may only have nothing more to send.
    var isEndless: Bool { get }

    /// What it wrote itself so far, in bytes of the body.
    var bytesBeside: Int { get }

    /// No further piece is asked for: the body was written, or the connection is gone. May be called twice and from any thread,
    /// and makes a ``next()`` under way return.
    func end()
}

extension ResponseStream {
    func begin(on channel: any BodyChannel) {}

    var isEndless: Bool { false }

    var bytesBeside: Int { 0 }
}

/// Where pieces of a body go that are written past the task which asks for them. All but ``eventLoop`` on the event loop.
protocol BodyChannel: Sendable {
    var eventLoop: any EventLoop { get }

    /// Whether the peer keeps up: what is written meanwhile is bounded.
    var isWritable: Bool { get }

    /// Whether everything that was written has left.
    var isAtRest: Bool { get }

    func write(_ piece: ByteBuffer)
    func flush()
}

/// By the end of a channel's pipeline, whatever the version of HTTP.
struct PipelineBodyChannel: BodyChannel {
    let channel: any Channel

    var eventLoop: any EventLoop { channel.eventLoop }
    var isWritable: Bool { channel.isWritable }
    var isAtRest: Bool { channel.isAtRest }

    func write(_ piece: ByteBuffer) { channel.write(HTTPResponsePart.body(piece), promise: nil) }
    func flush() { channel.flush() }
}

extension Channel {
    var isAtRest: Bool { isWritable && (try? syncOptions?.getOption(.bufferedWritableBytes)) ?? 0 == 0 }
}
