import AdapterKit
import HTTPTypes
import NIOCore
import NIOPosix
import ServiceLifecycle
import ServiceLifecycleTestKit
import Synchronization

@testable import HTTPServer

/// Answers over real sockets. `/later` waits until it is released, `/stream` and `/broken` come piece by piece, `/health` is
/// always answered; `/silent` sends a head and no piece; everything else tells the method, the target, the peer, the scheme and the body.
final class NetworkResponder: RequestResponder {
    private struct State {
        var waiting: [ResponseSink] = []
        var overload: PorticoError?
    }

    private let state = Mutex(State())
    private let arrivals = AsyncStream.makeStream(of: Void.self)
    private let abandoned = AsyncStream.makeStream(of: Void.self)

    /// Requests that are not closed afterwards are served all the same.
    func shedLoad() { state.withLock { $0.overload = PorticoError(.overloaded, "Full.") } }

    /// Waits for a request to `/later`.
    func arrival() async { for await _ in arrivals.stream { return } }

    /// Waits for the end of a response to `/silent`.
    func abandonment() async { for await _ in abandoned.stream { return } }

    func release() {
        let sinks = state.withLock { state in
            defer { state.waiting = [] }
            return state.waiting
        }
        for sink in sinks { sink.send(Self.response("released")) }
    }

    func respond(to request: InboundRequest, on sink: ResponseSink) -> (any CancellableWork)? {
        switch request.target {
        case "/later":
            state.withLock { $0.waiting.append(sink) }
            arrivals.continuation.yield()
        case "/stream", "/broken":
            let stream = PieceStream(["one", "", "two"], breaks: request.target == "/broken")
            sink.send(OutboundResponse(.ok, fields: [:], stream: stream))
        case "/silent":
            sink.send(OutboundResponse(.ok, fields: [:], stream: SilentStream(abandoned.continuation)))
        default:
            let line = "\(request.method.rawValue) \(request.target) \(request.peer) \(request.scheme)"
            switch request.body {
            case .whole(let bytes): sink.send(Self.response("\(line) \(bytes.map { String(buffer: $0) } ?? "")"))
            case .incoming(let body):
                let collected = sink.eventLoop.makePromise(of: [UInt8].self)
                collected.completeWithTask { try await body.collect(upTo: 1 << 20) }
                collected.futureResult.whenSuccess {
                    sink.send(Self.response("\(line) \(String(decoding: $0, as: UTF8.self))"))
                }
            }
        }
        return nil
    }

    static func response(_ text: String) -> OutboundResponse {
        OutboundResponse(
            .ok, fields: [.contentLength: String(text.utf8.count)], body: ByteBuffer(string: text))
    }

    func refusal(_ error: PorticoError, peer: String) -> OutboundResponse {
        let text = "\(error.code.rawValue) \(peer)"
        return OutboundResponse(
            .serviceUnavailable, fields: [.contentLength: String(text.utf8.count)], body: ByteBuffer(string: text),
            closesConnection: true)
    }

    func beginDiscarding(from peer: String) -> (@Sendable () -> Void)? { return {} }

    func overload(for path: String) -> PorticoError? { state.withLock { $0.overload } }
    func isAlwaysAnswered(_ path: String) -> Bool { path == "/health" }

    private final class PieceStream: ResponseStream {
        private let pieces: Mutex<[String]>
        private let breaks: Bool

        init(_ pieces: [String], breaks: Bool) {
            self.pieces = Mutex(pieces)
            self.breaks = breaks
        }

        func next() async throws -> ByteBuffer? {
            let piece = pieces.withLock { $0.isEmpty ? nil : $0.removeFirst() }
            if piece == nil, breaks { throw CancellationError() }
            return piece.map { ByteBuffer(string: $0) }
        }

        func end() {}
    }

    /// Has no piece until it is ended.
    private final class SilentStream: ResponseStream {
        private let ended: AsyncStream<Void>.Continuation
        private let silence = AsyncStream.makeStream(of: Void.self)

        init(_ ended: AsyncStream<Void>.Continuation) { self.ended = ended }

        func next() async throws -> ByteBuffer? {
            for await _ in silence.stream {}
            throw CancellationError()
        }

        func end() {
            silence.continuation.finish()
            ended.yield()
        }
    }
}

extension NetworkResponder {
    /// Serves while `body` runs, which gets the port (nil at a Unix socket) and what stops the server gracefully.
    func serving(
        _ address: ListenAddress = .tcp(host: "127.0.0.1", port: 0), certificate: ServerCertificate? = nil,
        connections: Int = 100, idle: Duration = .seconds(60), halfClosed: Duration = .seconds(60),
        _ body: @escaping @Sendable (Int?, GracefulShutdownTestTrigger) async throws -> Void
    ) async throws {
        var configuration = ServerConfiguration(
            address: address, certificate: certificate, idle: idle, write: .seconds(60), writeRate: 1, readRate: 1,
            connections: connections, head: HeadLimits(fields: 20, bytes: 4_000), target: 500, chunk: 1_000,
            peers: PeerAddress(proxies: [], isSecure: certificate != nil))
        configuration.halfClosed = halfClosed
        let listener = HTTPListener(configuration, responder: self)
        try await testGracefulShutdown { trigger in
            try await withThrowingTaskGroup(of: Void.self) { group in
                let (ports, listening) = AsyncStream.makeStream(of: Int?.self)
                group.addTask { try await listener.run { listening.yield($0) } }
                group.addTask {
                    for await port in ports { return try await body(port, trigger) }
                }
                // Where the listener ends first it has failed, or was stopped by the body.
                try await group.next()
                trigger.triggerGracefulShutdown()
                try await group.next()
            }
        }
    }
}

/// A client's side of a connection, in bytes.
final class ClientConnection: Sendable {
    private let channel: any Channel
    private let pieces: AsyncStream<String>

    init(_ address: ListenAddress, _ handlers: [any ChannelHandler & Sendable] = []) async throws {
        let (pieces, received) = AsyncStream.makeStream(of: String.self)
        let bootstrap = ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton).channelInitializer { channel in
            channel.pipeline.addHandlers(handlers + [Receiver(received)])
        }
        switch address {
        case .tcp(let host, let port): channel = try await bootstrap.connect(host: host, port: port).get()
        case .unixSocket(let path): channel = try await bootstrap.connect(unixDomainSocketPath: path).get()
        case .socket: throw ChannelError.operationUnsupported
        }
        self.pieces = pieces
    }

    static func to(_ port: Int?) async throws -> ClientConnection {
        try await ClientConnection(.tcp(host: "127.0.0.1", port: port ?? 0))
    }

    func send(_ text: String) async throws { try await channel.writeAndFlush(ByteBuffer(string: text)) }

    /// Everything up to this text, or up to the end.
    func receive(until end: String) async -> String {
        var all = ""
        for await piece in pieces {
            all += piece
            if all.contains(end) { break }
        }
        return all
    }

    /// What comes until the server closes.
    func receiveAll() async -> String {
        var all = ""
        for await piece in pieces { all += piece }
        return all
    }

    func close() async throws { try await channel.close() }

    /// Sends nothing more, and goes on receiving.
    func closeOutput() async throws { try await channel.close(mode: .output) }

    private final class Receiver: ChannelInboundHandler, Sendable {
        typealias InboundIn = ByteBuffer

        private let received: AsyncStream<String>.Continuation

        init(_ received: AsyncStream<String>.Continuation) { self.received = received }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            received.yield(String(buffer: unwrapInboundIn(data)))
        }

        func channelInactive(context: ChannelHandlerContext) { received.finish() }

        func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
    }
}
