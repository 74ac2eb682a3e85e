import AdapterKit
import HTTPTypes
import NIOCore
import NIOEmbedded
import Synchronization

@testable import HTTPServer

/// Answers by the path: `/later` when it is told to, `/large` with a long body, `/silent` and `/events` with a head and no
/// piece of a body that has an end and of one that has none, `/refused` without
/// reading the body, `/of/NAME` as a request of that account, everything else at once with the method, the target and the body. All on one thread.
final class ScriptedResponder: RequestResponder, @unchecked Sendable {
    static let large = ByteBuffer(repeating: UInt8(ascii: "x"), count: 300_000)

    /// Unchecked: embedded channels run on the test's thread.
    private(set) var waiting: [(request: InboundRequest, sink: ResponseSink, work: Work)] = []
    private(set) var answered: [String] = []
    private(set) var silent: [SilentStream] = []
    /// Bodies whose rest is thrown away, and how many there may be.
    let discards = Mutex((count: 0, limit: 100))

    /// Never has a piece, nor returns: the test's thread is the loop's, on which nothing else may write.
    final class SilentStream: ResponseStream {
        private struct State {
            var channel: (any BodyChannel)?
            var hasEnded = false
        }

        let isEndless: Bool
        private let state = Mutex(State())

        init(isEndless: Bool) { self.isEndless = isEndless }

        var hasEnded: Bool { state.withLock { $0.hasEnded } }

        /// What is to be written past ``next()``.
        var channel: (any BodyChannel)? { state.withLock { $0.channel } }

        func begin(on channel: any BodyChannel) { state.withLock { $0.channel = channel } }

        func next() async throws -> ByteBuffer? {
            await withUnsafeContinuation { (_: UnsafeContinuation<Void, Never>) in }
            return nil
        }

        func end() { state.withLock { $0.hasEnded = true } }
    }

    final class Work: CancellableWork {
        private let state = Mutex(false)

        var isCancelled: Bool { state.withLock { $0 } }

        func cancel() { state.withLock { $0 = true } }
    }

    func respond(to request: InboundRequest, on sink: ResponseSink) -> (any CancellableWork)? {
        switch request.target {
        case "/later":
            let work = Work()
            waiting.append((request, sink, work))
            return work
        case "/large":
            sink.send(OutboundResponse(.ok, fields: [:], body: Self.large))
        case "/silent", "/events":
            let stream = SilentStream(isEndless: request.target == "/events")
            silent.append(stream)
            sink.send(OutboundResponse(.ok, fields: [:], stream: stream))
        case "/refused":
            answer(request, "no", on: sink)
        default:
            switch request.body {
            case .whole(let bytes): answer(request, String(buffer: bytes ?? ByteBuffer()), on: sink)
            case .incoming(let body):
                let collected = sink.eventLoop.makePromise(of: [UInt8].self)
                collected.futureResult.whenComplete { [self] result in
                    switch result {
                    case .success(let bytes): answer(request, String(decoding: bytes, as: UTF8.self), on: sink)
                    case .failure(let error):
                        answer(request, (error as? PorticoError)?.code.rawValue ?? "failed", on: sink)
                    }
                }
                body.collect(upTo: 100_000, into: collected)
            }
        }
        return nil
    }

    private func answer(_ request: InboundRequest, _ text: String, on sink: ResponseSink) {
        answered.append(request.target)
        let body = ByteBuffer(string: "\(request.method.rawValue) \(request.target) \(text)")
        var response = OutboundResponse(
            .ok, fields: [.contentLength: String(body.readableBytes)],
            body: request.method == .head ? ByteBuffer() : body)
        if request.target.hasPrefix("/of/") { response.account = .account(String(request.target.dropFirst(4))) }
        sink.send(response)
    }

    /// Answers what waits longest.
    func answerNext() {
        let (request, sink, _) = waiting.removeFirst()
        answer(request, "late", on: sink)
    }

    func refusal(_ error: PorticoError, peer: String) -> OutboundResponse {
        let body = ByteBuffer(string: error.code.rawValue)
        return OutboundResponse(
            .badRequest, fields: [.contentLength: String(body.readableBytes)], body: body, closesConnection: true)
    }

    func overload(for path: String) -> PorticoError? { nil }

    func beginDiscarding(from peer: String) -> (@Sendable () -> Void)? {
        guard discards.withLock({ $0.count < $0.limit }) else { return nil }
        discards.withLock { $0.count += 1 }
        return { [self] in discards.withLock { $0.count -= 1 } }
    }

    func isAlwaysAnswered(_ path: String) -> Bool { false }
}

extension ServerContext {
    static func scripted(
        _ responder: ScriptedResponder, closesIdleAtOnce: Bool = false, connections: Int = 10
    ) -> ServerContext {
        var configuration = ServerConfiguration(
            address: .tcp(host: "127.0.0.1", port: 0), certificate: nil, idle: .seconds(30), write: .seconds(30),
            writeRate: 1_024, readRate: 512, connections: connections, head: HeadLimits(fields: 20, bytes: 1_000),
            target: 500, chunk: 64 << 10, peers: PeerAddress(proxies: []))
        configuration.closesIdleAtOnce = closesIdleAtOnce
        return ServerContext(configuration, responder)
    }
}

/// Tells what reaches the socket's end of a channel: whether it was closed.
extension EmbeddedChannel {
    /// Everything that was written.
    func written() throws -> ByteBuffer {
        var all = ByteBuffer()
        while let data = try readOutbound(as: IOData.self) {
            if case .byteBuffer(var bytes) = data { all.writeBuffer(&bytes) }
        }
        return all
    }
}
