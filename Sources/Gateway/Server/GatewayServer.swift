import AdapterKit
import HTTPTypes
import HummingbirdCore
import Logging
import NIOCore
import NIOPosix
import ServiceLifecycle

/// A listener in front of a ``Gateway``.
public struct GatewayServer: Service {
    public enum Address: Sendable, CustomStringConvertible {
        case tcp(host: String, port: Int)
        case unixSocket(path: String)
        /// One that listens already, as passed on by systemd or by a predecessor.
        case socket(ListeningSocket)

        public var description: String {
            switch self {
            case .tcp(let host, let port): "\(host):\(port)"
            case .unixSocket(let path): path
            case .socket: "the inherited socket"
            }
        }
    }

    public struct Settings: Sendable {
        public var address: Address
        /// `http.deadlines.head`: how long a connection may stay idle or take to send a request's head.
        public var idle = Duration.seconds(30)
        /// `http.deadlines.request`: from the head to the answer.
        public var request = Duration.seconds(30)
        /// `http.deadlines.write`: over so long a caller takes ``writeRate`` bytes a second of its answer at least.
        public var write = Duration.seconds(30)
        /// `http.limits.writeRate`
        public var writeRate = 1 << 10
        /// `http.limits.readRate`: bytes a second that a body comes with at least.
        public var readRate = 512
        /// nil: plain HTTP.
        public var certificate: ServerCertificate?
        /// `http.trustedProxies`: whose `X-Forwarded-For` is believed.
        public var trustedProxies: [AddressRange] = []
        /// `http.limits.connections`: more are told to come back later.
        public var connections = 20_000
        /// Told of every request; it must not wait. Nil: nobody is.
        public var accessLog: (@Sendable (AccessRecord) -> Void)?

        public init(address: Address) {
            self.address = address
        }
    }

    let gateway: Gateway
    let settings: Settings
    let logger: Logger
    /// Told the port once connections are accepted; nil for a socket.
    let onListening: @Sendable (Int?) async -> Void
    private let connection: GatewayConnection

    public init(
        gateway: Gateway, settings: Settings, logger: Logger, onListening: @escaping @Sendable (Int?) async -> Void
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
        let places = ConnectionPermits(limit: settings.connections)
        let plain = GatewayChannel(
            inner: HTTP1Channel(responder: responder(connection), configuration: channelConfiguration),
            connection: connection, executors: executors, places: places)
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
