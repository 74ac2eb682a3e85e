import AdapterKit
import HummingbirdCore
import Logging
import NIOCore
import NIOHTTP1

/// HummingbirdCore's HTTP/1.1 channel with ``RequestValidationHandler`` and ``BufferedRequestHandler`` behind its decoder and
/// ``RepeatedRequestHandler`` before it, its task on the channel's event loop.
struct GatewayChannel {
    typealias Value = HTTP1Channel.Value

    let inner: HTTP1Channel
    let connection: GatewayConnection
    let executors: EventLoopExecutors
    let permits: ConnectionPermits

    /// `since`: when the peer's turn began.
    func setup(
        channel: any Channel, _ permit: ConnectionPermits.Permit, since: NIODeadline, logger: Logger
    ) -> EventLoopFuture<Value> {
        let rejected = rejected(channel, permit)
        let connection = connection
        return inner.setup(channel: channel, logger: logger).flatMapThrowing { value in
            let pipeline = channel.pipeline.syncOperations
            let decoder = try pipeline.handler(type: ByteToMessageHandler<HTTPRequestDecoder>.self)
            let validation = RequestValidationHandler(connection: connection, rejected: rejected)
            let inside = BufferedRequestHandler(connection: connection, validation: validation, since: since)
            try pipeline.addHandlers([validation, inside], position: .after(decoder))
            try pipeline.addHandler(
                RepeatedRequestHandler(validation: validation, inside: inside), position: .before(decoder))
            return value
        }
    }

    /// What waits (adapters, the store, a password's hash) leaves the event loop with ``DeadlineScheduler``'s task.
    func handle(value: Value, logger: Logger) async {
        await withTaskExecutorPreference(executors[value.channel.eventLoop]) {
            await inner.handle(value: value, logger: logger)
        }
    }

    private func rejected(_ channel: any Channel, _ permit: ConnectionPermits.Permit) -> PorticoError? {
        switch permit {
        case .regular: return nil
        case .rejected(let error): return error
        case .none:
            channel.close(promise: nil)
            return nil
        }
    }
}
