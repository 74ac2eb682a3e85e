import HummingbirdCore
import Logging
import NIOCore
import NIOSSL
import NIOTLS

/// A channel behind TLS, which by ALPN carries HTTP/1.1 (``GatewayChannel``) or HTTP/2 (``HTTP2ConnectionChannel``).
struct SecureChannel: ServerChildChannel {
    enum Negotiated: Sendable {
        case http1(GatewayChannel.Value)
        case http2(HTTP2ConnectionChannel.Value)
    }

    struct Value: ServerChildChannelValue {
        let negotiated: EventLoopFuture<Negotiated>
        let channel: any Channel
    }

    typealias Negotiation = NIOTypedApplicationProtocolNegotiationHandler<Negotiated>

    let certificate: ServerCertificate
    let http1: GatewayChannel
    let http2: HTTP2ConnectionChannel
    let idle: Duration

    func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Value> {
        // Before the handshake, which is what costs.
        let permit = http1.permits.take(for: channel)
        if case .none = permit { channel.close(promise: nil) }
        return channel.eventLoop.makeCompletedFuture {
            let pipeline = channel.pipeline.syncOperations
            let negotiation = Negotiation { result in
                result == .negotiated("h2")
                    ? secondVersion(channel, permit) : firstVersion(channel, permit, logger)
            }
            try pipeline.addConnectionEnd(http1.connection.settings)
            try pipeline.addHandlers([
                NIOSSLServerHandler(context: certificate.current), HandshakeDeadline(idle), negotiation,
            ])
            return Value(negotiated: negotiation.protocolNegotiationResult, channel: channel)
        }
    }

    func handle(value: Value, logger: Logger) async {
        let negotiated = try? await withTaskCancellationHandler {
            try await value.negotiated.get()
        } onCancel: {
            value.channel.close(promise: nil)
        }
        guard let negotiated else { return }
        switch negotiated {
        case .http1(let inner): await http1.handle(value: inner, logger: logger)
        case .http2(let inner):
            await withTaskExecutorPreference(http1.executors[value.channel.eventLoop]) {
                await http2.handle(value: inner, logger: logger)
            }
        }
    }

    private func firstVersion(
        _ channel: any Channel, _ permit: ConnectionPermits.Permit, _ logger: Logger
    ) -> EventLoopFuture<Negotiated> {
        http1.setup(channel: channel, permit, since: .now(), logger: logger).map { .http1($0) }
    }

    private func secondVersion(
        _ channel: any Channel, _ permit: ConnectionPermits.Permit
    ) -> EventLoopFuture<Negotiated> {
        // There is no stream yet that could carry a refusal.
        if case .rejected = permit { channel.close(promise: nil) }
        return channel.eventLoop.makeCompletedFuture { .http2(try http2.setup(channel: channel)) }
    }
}

/// `http.deadlines.head` for the TLS handshake, during which nothing else watches a connection. It goes when that ends.
final class HandshakeDeadline: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer

    private let limit: TimeAmount
    private var timer: Scheduled<Void>?
    private var isStopping = false

    init(_ limit: Duration) {
        self.limit = .nanoseconds(limit.nanoseconds)
    }

    func handlerAdded(context: ChannelHandlerContext) {
        startTimer(context, limit)
    }

    private func startTimer(_ context: ChannelHandlerContext, _ limit: TimeAmount) {
        timer?.cancel()
        timer = context.eventLoop.assumeIsolated().scheduleTask(in: limit) { context.close(promise: nil) }
    }

    private func announceStop(_ channel: any Channel) {
        channel.eventLoop.execute { channel.pipeline.fireUserInboundEventTriggered(ChannelShouldQuiesceEvent()) }
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        timer?.cancel()
        timer = nil
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        // The handlers that handle a stop are not there yet.
        if event is ChannelShouldQuiesceEvent {
            isStopping = true
            return startTimer(context, RequestValidationHandler.grace)
        }
        // Passed on first: a handler that is removed has no next one.
        context.fireUserInboundEventTriggered(event)
        if case .handshakeCompleted = event as? TLSUserEvent {
            if isStopping { announceStop(context.channel) }
            context.pipeline.syncOperations.removeHandler(context: context, promise: nil)
        }
    }
}

@available(*, unavailable)
extension HandshakeDeadline: Sendable {}
