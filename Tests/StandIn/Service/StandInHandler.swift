import Foundation
import NIOCore
import NIOHTTP1

/// One connection: collects a request, has it answered, and sends the answer as its fault wants it.
final class StandInHandler: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    private let service: StandInService
    private var head: HTTPRequestHead?
    private var body: [UInt8] = []

    /// The pieces of a huge body.
    private static let piece = 64 << 10
    /// Between two bytes of a dripping body.
    private static let dripPause = TimeAmount.milliseconds(500)

    init(_ service: StandInService) {
        self.service = service
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let head):
            self.head = head
            body = []
        case .body(let bytes):
            guard head != nil else { return }
            guard body.count + bytes.readableBytes <= StandInServer.bodyBytes else {
                head = nil
                let error = ServiceError(status: 413, code: "large", message: "The body is too long.")
                write(error.response, context, isHead: false, isKept: false)
                return
            }
            body.append(contentsOf: bytes.readableBytesView)
        case .end:
            guard let head else { return }
            self.head = nil
            respond(to: head, context)
        }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        guard event is IdleStateHandler.IdleStateEvent else { return context.fireUserInboundEventTriggered(event) }
        context.close(promise: nil)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

    private func respond(to head: HTTPRequestHead, _ context: ChannelHandlerContext) {
        let fields = head.headers.map { (name: $0.name, value: $0.value) }
        guard
            let request = ServiceRequest(method: head.method.rawValue, target: head.uri, fields: fields, body: body)
        else {
            let error = ServiceError.invalid("The address cannot be decoded.")
            return write(error.response, context, isHead: false, isKept: false)
        }
        let isHead = head.method == .HEAD
        let isKept = head.isKeepAlive
        let delivery = service.deliver(request, isLocal: isLocal(context), at: .now)
        switch delivery {
        case .whole(let response): write(response, context, isHead: isHead, isKept: isKept)
        case .late(let response, let delay):
            let bound = NIOLoopBound(self, eventLoop: context.eventLoop)
            let loopContext = NIOLoopBound(context, eventLoop: context.eventLoop)
            context.eventLoop.scheduleTask(in: TimeAmount(delay)) {
                bound.value.write(response, loopContext.value, isHead: isHead, isKept: isKept)
            }
        case .drip(let response):
            writeHead(response, context, isKept: false)
            drip(response.body[...], context)
        case .half(let response), .halfThenReset(let response):
            writeHead(response, context, isKept: false)
            let half = ByteBuffer(bytes: response.body.prefix(response.body.count / 2))
            let isReset = if case .halfThenReset = delivery { true } else { false }
            let channel = context.channel
            context.writeAndFlush(wrapOutboundOut(.body(.byteBuffer(half)))).whenComplete { _ in
                if isReset { Self.reset(channel) } else { channel.close(promise: nil) }
            }
        case .reset: Self.reset(context.channel)
        case .hang: break
        case .huge(let response, let bytes):
            var response = response
            response.fields["Transfer-Encoding"] = "chunked"
            writeHead(response, context, isKept: false)
            pour(bytes, context)
        }
    }

    private func isLocal(_ context: ChannelHandlerContext) -> Bool {
        guard let address = context.channel.remoteAddress?.ipAddress else { return false }
        return address.hasPrefix("127.") || address == "::1" || address.hasPrefix("::ffff:127.")
    }

    private func write(_ response: ServiceResponse, _ context: ChannelHandlerContext, isHead: Bool, isKept: Bool) {
        writeHead(response, context, isKept: isKept)
        if !isHead, !response.body.isEmpty {
            context.write(wrapOutboundOut(.body(.byteBuffer(ByteBuffer(bytes: response.body)))), promise: nil)
        }
        let sent = context.writeAndFlush(wrapOutboundOut(.end(nil)))
        if !isKept {
            let channel = context.channel
            sent.whenComplete { _ in channel.close(promise: nil) }
        }
    }

    private func writeHead(_ response: ServiceResponse, _ context: ChannelHandlerContext, isKept: Bool) {
        var headers = HTTPHeaders()
        for (name, value) in response.fields.sorted(by: { $0.key < $1.key }) { headers.add(name: name, value: value) }
        let hasBody = response.status != 204 && response.status != 304
        if hasBody {
            headers.add(name: "Content-Type", value: response.contentType)
            if !headers.contains(name: "Transfer-Encoding") {
                headers.add(name: "Content-Length", value: String(response.body.count))
            }
        }
        if !isKept { headers.add(name: "Connection", value: "close") }
        let head = HTTPResponseHead(
            version: .http1_1, status: HTTPResponseStatus(statusCode: response.status), headers: headers)
        context.write(wrapOutboundOut(.head(head)), promise: nil)
    }

    /// Sends the rest byte by byte, for as long as the client stays.
    private func drip(_ rest: ArraySlice<UInt8>, _ context: ChannelHandlerContext) {
        guard let byte = rest.first else {
            let channel = context.channel
            context.writeAndFlush(wrapOutboundOut(.end(nil))).whenComplete { _ in channel.close(promise: nil) }
            return
        }
        let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        let eventLoop = context.eventLoop
        context.writeAndFlush(wrapOutboundOut(.body(.byteBuffer(ByteBuffer(bytes: [byte]))))).whenSuccess {
            eventLoop.scheduleTask(in: Self.dripPause) { bound.value.0.drip(rest.dropFirst(), bound.value.1) }
        }
    }

    /// Sends so many bytes of white space, which begins every document, as fast as the client reads them.
    private func pour(_ bytes: Int, _ context: ChannelHandlerContext) {
        guard bytes > 0 else {
            let channel = context.channel
            context.writeAndFlush(wrapOutboundOut(.end(nil))).whenComplete { _ in channel.close(promise: nil) }
            return
        }
        let piece = ByteBuffer(repeating: UInt8(ascii: " "), count: min(bytes, Self.piece))
        let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        context.writeAndFlush(wrapOutboundOut(.body(.byteBuffer(piece)))).whenSuccess {
            bound.value.0.pour(bytes - Self.piece, bound.value.1)
        }
    }

    /// Closes with a reset in the place of an orderly end.
    private static func reset(_ channel: any Channel) {
        guard let options = channel as? any SocketOptionProvider else { return channel.close(promise: nil) }
        options.setSoLinger(linger(l_onoff: 1, l_linger: 0)).whenComplete { _ in channel.close(promise: nil) }
    }
}
