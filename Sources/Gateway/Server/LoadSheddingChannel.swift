import HummingbirdCore
import Logging
import NIOCore

/// A connection in the clear: a ``LoadSheddingHandler``, and ``GatewayChannel`` for who is let in.
struct LoadSheddingChannel: ServerChildChannel {
    struct Value: ServerChildChannelValue {
        /// Nil where the connection ended before anything was made for it.
        let inner: EventLoopFuture<GatewayChannel.Value?>
        let channel: any Channel
    }

    let inner: GatewayChannel

    func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Value> {
        let place = inner.places.take(for: channel)
        if case .none = place { channel.close(promise: nil) }
        let letIn = channel.eventLoop.makePromise(of: GatewayChannel.Value?.self)
        return channel.eventLoop.makeCompletedFuture {
            let began = NIODeadline.now()
            let idleTimeout = IdleTimeout(idle: inner.connection.settings.idle, since: began)
            let pipeline = channel.pipeline.syncOperations
            try pipeline.addConnectionEnd(inner.connection.settings)
            try pipeline.addHandler(
                LoadSheddingHandler(connection: inner.connection, idleTimeout: idleTimeout) {
                    inner.setup(channel: channel, place, since: began, logger: logger)
                        .map(Optional.some).cascade(to: letIn)
                } onEnd: {
                    letIn.succeed(nil)
                })
            return Value(inner: letIn.futureResult, channel: channel)
        }
    }

    func handle(value: Value, logger: Logger) async {
        let letIn = try? await withTaskCancellationHandler {
            try await value.inner.get()
        } onCancel: {
            value.channel.close(promise: nil)
        }
        guard let letIn else { return }
        await inner.handle(value: letIn, logger: logger)
    }
}
