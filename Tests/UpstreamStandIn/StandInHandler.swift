import NIOCore
import NIOHTTP1

/// One connection: collects a request, asks for its answer, writes it.
final class StandInHandler: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    private let answer: @Sendable (StandIn.Request) async -> StandIn.Answer
    private var head: HTTPRequestHead?
    private var body: [UInt8] = []

    init(_ answer: @escaping @Sendable (StandIn.Request) async -> StandIn.Answer) {
        self.answer = answer
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let head):
            self.head = head
            body = []
        case .body(let bytes): body.append(contentsOf: bytes.readableBytesView)
        case .end: respond(context)
        }
    }

    private func respond(_ context: ChannelHandlerContext) {
        guard let head else { return }
        let request = StandIn.Request(
            method: head.method.rawValue, target: head.uri,
            fields: head.headers.map { (name: $0.name, value: $0.value) }, body: body)
        let channel = context.channel
        let answer = answer
        channel.eventLoop.makeFutureWithTask { await answer(request) }.whenSuccess { Self.write($0, to: channel) }
    }

    private static func write(_ answer: StandIn.Answer, to channel: any Channel) {
        switch answer {
        case .plain(let status, let fields, let body):
            var headers = HTTPHeaders(fields)
            headers.replaceOrAdd(name: "Content-Length", value: String(body.utf8.count))
            channel.write(HTTPServerResponsePart.head(head(status, headers)), promise: nil)
            channel.write(HTTPServerResponsePart.body(.byteBuffer(ByteBuffer(string: body))), promise: nil)
            channel.writeAndFlush(HTTPServerResponsePart.end(nil), promise: nil)
        case .endless:
            channel.write(HTTPServerResponsePart.head(head(200, [:])), promise: nil)
            pour(64 << 10, into: channel, every: .zero)
        case .trickle:
            channel.write(HTTPServerResponsePart.head(head(200, [:])), promise: nil)
            pour(1, into: channel, every: .milliseconds(20))
        case .silence: break
        case .headOnly: channel.writeAndFlush(HTTPServerResponsePart.head(head(200, [:])), promise: nil)
        case .bytes(let status, let fields, let pieces):
            channel.write(HTTPServerResponsePart.head(head(status, HTTPHeaders(fields))), promise: nil)
            for piece in pieces {
                channel.writeAndFlush(HTTPServerResponsePart.body(.byteBuffer(ByteBuffer(bytes: piece))), promise: nil)
            }
            channel.writeAndFlush(HTTPServerResponsePart.end(nil), promise: nil)
        case .hangUp: channel.close(promise: nil)
        }
    }

    private static func head(_ status: Int, _ headers: HTTPHeaders) -> HTTPResponseHead {
        HTTPResponseHead(version: .http1_1, status: HTTPResponseStatus(statusCode: status), headers: headers)
    }

    /// Goes on until the other side has gone.
    private static func pour(_ count: Int, into channel: any Channel, every pause: TimeAmount) {
        let piece = ByteBuffer(repeating: UInt8(ascii: "x"), count: count)
        channel.writeAndFlush(HTTPServerResponsePart.body(.byteBuffer(piece))).whenSuccess {
            channel.eventLoop.scheduleTask(in: pause) { pour(count, into: channel, every: pause) }
        }
    }
}
