import AdapterKit
import HTTPTypes
import HummingbirdCore
import Logging
import NIOCore
import NIOPosix
import ServiceLifecycle

/// A listener in front of a ``Gateway``.
public struct GatewayServer: Service {
    let gateway: Gateway
    let settings: ServerSettings
    let logger: Logger
    /// Called with the port once connections are accepted; nil for a socket.
    let onListening: @Sendable (Int?) async -> Void
    private let connection: GatewayConnection

    public init(
        gateway: Gateway, settings: ServerSettings, logger: Logger,
        onListening: @escaping @Sendable (Int?) async -> Void
    ) {
        self.gateway = gateway
        self.settings = settings
        self.logger = logger
        self.onListening = onListening
        connection = GatewayConnection(gateway: gateway, settings: settings, logger: logger)
    }

    public func run() async throws {
        let group = MultiThreadedEventLoopGroup.singleton
        let executors = EventLoopExecutors(group)
        let permits = ConnectionPermits(limit: settings.connections)
        let plain = GatewayChannel(
            inner: HTTP1Channel(responder: responder(connection), configuration: channelConfiguration),
            connection: connection, executors: executors, permits: permits)
        do {
            guard let certificate = settings.certificate else {
                return try await listen(LoadSheddingChannel(inner: plain), group, executors)
            }
            let streams = GatewayConnection(carryingStreamsOf: connection)
            let second = HTTP2ConnectionChannel(
                requests: HTTP1Channel(responder: responder(streams)), connection: streams)
            try await listen(
                SecureChannel(certificate: certificate, http1: plain, http2: second, idle: settings.idle), group,
                executors)
        } catch let error as IOError {
            throw ListeningFailure(error, at: settings.address) ?? error as any Error
        }
    }

    private func listen(
        _ child: some ServerChildChannel, _ group: MultiThreadedEventLoopGroup, _ executors: EventLoopExecutors
    ) async throws {
        try await GatewayListener(child: child, group: group, executors: executors, logger: logger).run(
            at: settings.address, onListening: onListening)
    }

    private func responder(_ connection: GatewayConnection) -> HTTPChannelHandler.Responder {
        { request, writer, channel in try await connection.respond(to: request, writer, channel) }
    }

    /// One event loop for each processor that this process may use: more would only take turns. To be called first of
    /// all; NIO counts the machine's processors, whichever are meant for others.
    public static func limitEventLoops(to processors: Int) {
        NIOSingletons.groupLoopCountSuggestion = max(1, processors)
    }

    private var channelConfiguration: HTTP1Channel.Configuration {
        let limits = gateway.services.limits
        return HTTP1Channel.Configuration(
            idleTimeout: nil,  // kept by WholeRequestHandler
            httpDecoderConfiguration: .init(
                maxHeaderFieldSize: limits.head, maxHeaderListSize: limits.head, maxHeaderFieldCount: limits.fields))
    }
}

extension Duration {
    var nanoseconds: Int64 {
        components.seconds * 1_000_000_000 + components.attoseconds / 1_000_000_000
    }
}
