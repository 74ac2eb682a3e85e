import NIOCore
import NIOHPACK
import NIOHTTP1
import NIOHTTP2

/// PreparedResponses each request of a connection of HTTP/1.1 once it has arrived.
final class HTTP1AnswerHandler: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    private let answers: PreparedResponses
    private var target = ""

    init(_ answers: PreparedResponses) {
        self.answers = answers
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let head): target = head.uri
        case .body: break
        case .end:
            let answer = answers.answer(to: target)
            context.write(wrapOutboundOut(.head(answer.http1)), promise: nil)
            if let body = answer.body { context.write(wrapOutboundOut(.body(.byteBuffer(body))), promise: nil) }
            context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
        }
    }
}

@available(*, unavailable)
extension HTTP1AnswerHandler: Sendable {}

/// PreparedResponses the request of a stream of HTTP/2 once it has arrived. Frames as they are: no codec of HTTP/1 between.
final class HTTP2AnswerHandler: ChannelInboundHandler {
    typealias InboundIn = HTTP2Frame.FramePayload
    typealias OutboundOut = HTTP2Frame.FramePayload

    private let answers: PreparedResponses
    private var target = ""

    init(_ answers: PreparedResponses) {
        self.answers = answers
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .headers(let head):
            target = head.headers.first(name: ":path") ?? ""
            if head.endStream { answer(context) }
        case .data(let body):
            if body.endStream { answer(context) }
        default: break
        }
    }

    private func answer(_ context: ChannelHandlerContext) {
        let answer = answers.answer(to: target)
        let head = HTTP2Frame.FramePayload.Headers(headers: answer.http2, endStream: answer.body == nil)
        context.write(wrapOutboundOut(.headers(head)), promise: nil)
        if let body = answer.body {
            context.write(
                wrapOutboundOut(.data(HTTP2Frame.FramePayload.Data(data: .byteBuffer(body), endStream: true))),
                promise: nil)
        }
        context.flush()
    }
}

@available(*, unavailable)
extension HTTP2AnswerHandler: Sendable {}
