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
        let place = http1.places.take(for: channel)
        if case .none = place { channel.close(promise: nil) }
        return channel.eventLoop.makeCompletedFuture {
            let pipeline = channel.pipeline.syncOperations
            let negotiation = Negotiation { result in
                result == .negotiated("h2")
                    ? secondVersion(channel, place) : firstVersion(channel, place, logger)
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
        _ channel: any Channel, _ place: ConnectionPermits.Place, _ logger: Logger
    ) -> EventLoopFuture<Negotiated> {
        http1.setup(channel: channel, place, since: .now(), logger: logger).map { .http1($0) }
    }

    private func secondVersion(
        _ channel: any Channel, _ place: ConnectionPermits.Place
    ) -> EventLoopFuture<Negotiated> {
        // There is no stream yet that could be told anything.
        if case .turnedAway = place { channel.close(promise: nil) }
        return channel.eventLoop.makeCompletedFuture { .http2(try http2.setup(channel: channel)) }
    }
}
