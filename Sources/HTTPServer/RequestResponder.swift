import AdapterKit
import HTTPTypes
import NIOCore

/// Answers the requests of a ``HTTPListener``, whatever the version of HTTP they came by.
package protocol RequestResponder: Sendable {
    /// Called on the connection's event loop, once for each request; must not block. The response goes to `sink`, now or
    /// later. Returns the work that makes it, where that is under way: it is cancelled when no client waits for it any more.
    func respond(to request: InboundRequest, on sink: ResponseSink) -> (any CancellableWork)?

    /// The response to a request that the server does not accept. On the connection's event loop.
    func refusal(_ error: PorticoError, peer: String) -> OutboundResponse

    /// Why a request to this path would be refused now, before it is read: an early check before costly work; nil: it
    /// would not.
    func overload(for path: String) -> PorticoError?

    /// Counts a request whose body's rest is read only to be thrown away, among the incomplete ones of the peer. Returns what
    /// ends that; nil: the peer has too many, and its connection is to end. On the connection's event loop.
    func beginDiscarding(from peer: String) -> (@Sendable () -> Void)?

    /// Whether requests to this path are answered on connections beyond the limit too.
    func isAlwaysAnswered(_ path: String) -> Bool
}

/// Work under way whose result may not be wanted any more.
package protocol CancellableWork: AnyObject, Sendable {
    /// It goes on to its end all the same where it ignores that.
    func cancel()
}

/// A request whose head was validated: one host, one length, a target in origin form or `*`, fields within the limits.
package final class InboundRequest: Sendable {
    package let method: HTTPRequest.Method
    package let version: HTTPVersion
    /// As it came: path and query, printable ASCII.
    package let target: String
    /// Without the host.
    package let fields: HTTPFields
    /// The client's IP address, `local` at a Unix socket; behind a trusted proxy, the one that the proxy names.
    package let peer: String
    /// The client's own certificate, verified against ``ServerCertificate/Files/clientAuthorities`` when the connection
    /// or the session that it resumes began, and shown to this server itself; nil: none was. Whether it holds still, says
    /// ``ServerCertificate/holds(_:)``.
    package let certificate: PeerCertificate?
    /// The scheme of the address that the client used: `http` or `https`.
    package let scheme: String
    /// The host and the port, as the client wrote them.
    package let authority: String
    package let body: RequestBody
    /// When its head had arrived, or for a short request all of it.
    package let received: ContinuousClock.Instant

    init(
        _ head: RequestHead, _ version: HTTPVersion, from connection: ConnectionPeer, peers: PeerAddress,
        body: RequestBody, received: ContinuousClock.Instant
    ) {
        self.version = version
        method = head.method
        target = head.target
        fields = head.fields
        peer = peers.peer(connection, head.fields)
        certificate = connection.certificate
        scheme = peers.scheme(connection, head.fields)
        authority = head.host
        self.body = body
        self.received = received
    }
}

/// The version of HTTP that a request came by. HTTP/1.0 counts as HTTP/1.1.
package enum HTTPVersion: Sendable {
    case http1, http2
}

/// A request's body: there as a whole, or on its way.
package enum RequestBody: Sendable {
    case whole(ByteBuffer?)
    case incoming(IncomingBody)
}

/// One response.
package struct OutboundResponse: Sendable {
    package let status: HTTPResponse.Status
    /// Fields that many responses have alike; nil: none.
    package let prepared: PreparedFields?
    /// This response's own fields. The server adds `Date`, and `Connection` where the connection ends.
    package var fields: HTTPFields
    package var body: ByteBuffer
    /// The body where it has no end yet; `body` is empty then.
    package var stream: (any ResponseStream)?
    /// The connection cannot be used any further: the rest of a refused body is not read.
    package var closesConnection: Bool
    /// The last of its connection, which could be used but is not to be: what is under way on it ends first.
    package var endsConnection = false
    /// Whose request it answers, by whom its connection is read in turn from now on; nil: as before.
    package var account: CallerIdentity?
    /// Called once with the bytes of a streamed body when it has ended or broken off. From any thread.
    package var whenSent: (@Sendable (Int) -> Void)?

    package init(
        _ status: HTTPResponse.Status, prepared: PreparedFields? = nil, fields: HTTPFields,
        body: ByteBuffer = ByteBuffer(),
        stream: (any ResponseStream)? = nil, closesConnection: Bool = false, whenSent: (@Sendable (Int) -> Void)? = nil
    ) {
        self.status = status
        self.prepared = prepared
        self.fields = fields
        self.body = body
        self.stream = stream
        self.closesConnection = closesConnection
        self.whenSent = whenSent
    }
}

/// Header fields as both versions of HTTP write them, encoded once for many responses.
package final class PreparedFields: Sendable {
    /// Lines of HTTP/1.1, each with its end.
    let text: ByteBuffer
    let section: FieldSection

    package init(_ fields: HTTPFields) {
        var text = ByteBuffer()
        for field in fields { text.writeField(field.name.rawName, field.value) }
        self.text = text
        section = FieldSection(fields)
    }

    /// Bytes that keeping it costs, about.
    package var cost: Int { 3 * text.readableBytes }
}

extension ByteBuffer {
    /// One line of a head. The value was checked where it became an `HTTPField`, or is ours.
    mutating func writeField(_ name: String, _ value: String) {
        writeString(name)
        writeStaticString(": ")
        writeString(value)
        writeStaticString("\r\n")
    }
}

/// A body that comes piece by piece, for as long as its connection lasts.
package protocol ResponseStream: Sendable {
    /// The head is written. From now on the stream may also write body parts itself, on the channel's event loop, between
    /// two calls of ``next()``'s caller.
    func begin(on channel: any BodyChannel)

    /// The next piece, when there is one; nil at the end. One caller at a time. Throwing breaks the connection off, so
    /// that the client does not take a part for the whole.
    func next() async throws -> ByteBuffer?

    /// Whether the body is endless, as event streams are. A client that half-closes during an endless body has gone;
    /// during a finite one it may only have nothing more to send.
    var isEndless: Bool { get }

    /// Bytes of the body that it wrote itself so far.
    var bytesBeside: Int { get }

    /// No further piece is asked for: the body was written, or the connection is gone. May be called twice and from any thread,
    /// and makes a ``next()`` under way return.
    func end()
}

extension ResponseStream {
    package func begin(on channel: any BodyChannel) {}

    package var isEndless: Bool { false }

    package var bytesBeside: Int { 0 }
}

/// Where pieces of a body go that are written past the task which asks for them. All but ``eventLoop`` on the event loop.
package protocol BodyChannel: Sendable {
    var eventLoop: any EventLoop { get }

    /// Whether the peer keeps up: what is written meanwhile is bounded.
    var isWritable: Bool { get }

    /// Whether everything that was written has left.
    var isAtRest: Bool { get }

    func write(_ piece: ByteBuffer)
    func flush()
}

/// One response on its way out, in the framing of its connection. On the connection's event loop.
protocol ResponseFraming: AnyObject {
    /// A whole response. It says nothing any more where the connection or the stream has gone.
    func write(_ response: OutboundResponse)

    /// The head of a response whose body is a stream.
    func writeHead(_ response: OutboundResponse)

    /// A piece of a streamed body. `promise` is completed once it has left.
    func writePiece(_ piece: ByteBuffer, promise: EventLoopPromise<Void>?)

    /// The end of a streamed body.
    func writeEnd()

    /// A streamed body broke off; the client must not take it for whole.
    func breakOff()

    func flushPieces()

    var isWritable: Bool { get }
    var isAtRest: Bool { get }

    /// Owns the task that writes a streamed body: cancelled where the client has gone.
    var streaming: StreamedBody? { get set }
}

/// Where the response to one request goes. From any thread, once.
package struct ResponseSink: Sendable {
    package let eventLoop: any EventLoop
    private let framing: NIOLoopBound<any ResponseFraming>

    init(_ framing: any ResponseFraming, on eventLoop: any EventLoop) {
        self.eventLoop = eventLoop
        self.framing = NIOLoopBound(framing, eventLoop: eventLoop)
    }

    package func send(_ response: OutboundResponse) {
        if eventLoop.inEventLoop { write(response) } else { eventLoop.execute { write(response) } }
    }

    private func write(_ response: OutboundResponse) {
        let framing = framing.value
        guard let stream = response.stream else { return framing.write(response) }
        framing.streaming = StreamedBody(stream, whenSent: response.whenSent)
        framing.writeHead(response)
        framing.streaming?.start(on: FramingChannel(eventLoop: eventLoop, framing: self.framing))
    }
}

/// A streamed body: the task that asks for its pieces, and its end. On the connection's event loop.
final class StreamedBody {
    let stream: any ResponseStream
    private let whenSent: (@Sendable (Int) -> Void)?
    private var task: Task<Void, Never>?

    init(_ stream: any ResponseStream, whenSent: (@Sendable (Int) -> Void)?) {
        self.stream = stream
        self.whenSent = whenSent
    }

    func start(on channel: FramingChannel) {
        let (stream, whenSent) = (stream, whenSent)
        stream.begin(on: channel)
        task = Task {
            let sent = await channel.write(stream)
            stream.end()
            whenSent?(sent + stream.bytesBeside)
        }
    }

    /// The client has gone.
    func cancel() {
        if let task { task.cancel() } else { whenSent?(0) }
        stream.end()
    }
}

struct FramingChannel: BodyChannel {
    let eventLoop: any EventLoop
    let framing: NIOLoopBound<any ResponseFraming>

    var isWritable: Bool { framing.value.isWritable }
    var isAtRest: Bool { framing.value.isAtRest }
    func write(_ piece: ByteBuffer) { framing.value.writePiece(piece, promise: nil) }
    func flush() { framing.value.flushPieces() }

    /// Returns the bytes of the pieces that were asked for.
    fileprivate func write(_ stream: any ResponseStream) async -> Int {
        var sent = 0
        do {
            while let piece = try await stream.next() {
                guard piece.readableBytes > 0 else { continue }
                let left = eventLoop.makePromise(of: Void.self)
                eventLoop.execute {
                    framing.value.writePiece(piece, promise: left)
                    framing.value.flushPieces()
                }
                try await left.futureResult.get()
                sent += piece.readableBytes
            }
            eventLoop.execute { framing.value.writeEnd() }
        } catch {
            eventLoop.execute { framing.value.breakOff() }
        }
        return sent
    }
}
