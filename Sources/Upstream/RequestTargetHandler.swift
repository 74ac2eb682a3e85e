import NIOCore
import NIOHTTP1

/// Writes each request's target byte by byte as it was checked.
///
/// AsyncHTTPClient takes addresses from Foundation, which reads some otherwise than ``UpstreamAddress``. So it is given `/`,
/// and a field that no request has of its own brings the target here. Without exactly one nothing is sent.
final class RequestTargetHandler: ChannelOutboundHandler {
    typealias OutboundIn = HTTPClientRequestPart
    typealias OutboundOut = HTTPClientRequestPart

    /// Lower case. Never sent.
    static let field = "portico-request-target"

    struct NoTarget: Error {}

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        guard case .head(var head) = unwrapOutboundIn(data) else { return context.write(data, promise: promise) }
        let targets = head.headers[Self.field]
        guard let target = targets.first, targets.count == 1, target.hasPrefix("/") else {
            promise?.fail(NoTarget())
            context.fireErrorCaught(NoTarget())
            context.close(promise: nil)
            return
        }
        head.headers.remove(name: Self.field)
        head.uri = target
        context.write(wrapOutboundOut(.head(head)), promise: promise)
    }
}
