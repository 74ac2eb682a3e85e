import AdapterKit
import IPAddresses
import NIOCore
import NIOPosix
import ServiceLifecycle
import Synchronization

/// The configuration of an ``HTTPListener``, each value by its name in the configuration reference.
package struct ServerConfiguration: Sendable {
    package var address: ListenAddress
    /// nil: plain HTTP.
    package var certificate: ServerCertificate?
    /// `http.deadlines.head`: how long a connection may stay idle or take to send a request's head.
    package var idle: Duration
    /// `http.deadlines.write`: over so long a client takes ``writeRate`` bytes a second of its responses at least.
    package var write: Duration
    /// `http.deadlines.halfClosed`: how long a streamed response may bring nothing to a client that has closed its side.
    package var halfClosed = Duration.seconds(5)
    /// `http.limits.writeRate`
    package var writeRate: Int
    /// `http.limits.readRate`: bytes a second that a body comes with at least.
    package var readRate: Int
    /// `http.limits.connections`: further connections are answered 503.
    package var connections: Int
    /// `http.limits.connectionsPerAddress`: of one address, but for trusted proxies; 0: half of ``connections``.
    package var connectionsPerAddress = 0
    /// `http.limits.fields` and `http.limits.head`
    package var head: HeadLimits
    /// `http.limits.uri`
    package var target: Int
    /// `http.limits.chunk`: responses above it are written in pieces of this size.
    package var chunk: Int
    package var peers: PeerAddress
    /// Whether a stop closes connections at once on which nothing is asked, though a request may be on its way; otherwise
    /// each is given a moment.
    package var closesIdleAtOnce = false

    package init(
        address: ListenAddress, certificate: ServerCertificate?, idle: Duration, write: Duration, writeRate: Int,
        readRate: Int, connections: Int, head: HeadLimits, target: Int, chunk: Int, peers: PeerAddress
    ) {
        self.address = address
        self.certificate = certificate
        self.idle = idle
        self.write = write
        self.writeRate = writeRate
        self.readRate = readRate
        self.connections = connections
        self.head = head
        self.target = target
        self.chunk = max(chunk, 1)
        self.peers = peers
    }
}

/// Listens, and serves HTTP/1.1 and HTTP/2 on its connections by SwiftNIO alone: every connection lives on its event loop.
///
/// A graceful shutdown accepts nothing more and lets what is under way end. A cancellation (`http.deadlines.stop`) ends
/// connections soon, whatever their peers do.
package struct HTTPListener: Sendable {
    /// The context of the connections that begin now; those that are open keep theirs.
    private let context: CurrentContext
    private let group: MultiThreadedEventLoopGroup

    package init(
        _ configuration: ServerConfiguration, responder: any RequestResponder,
        group: MultiThreadedEventLoopGroup = .singleton
    ) {
        context = CurrentContext(ServerContext(configuration, responder))
        self.group = group
    }

    /// The event loops that connections live on.
    package var eventLoops: [any EventLoop] { Array(group.makeIterator()) }

    /// Connections that are open.
    package var openConnections: Int { context.value.permits.count }

    /// Connections from now on are served by this configuration, its certificate included. Those that are open go on as
    /// they began, but for the limit of all of them, which counts at once. The address stays.
    package func reconfigure(_ configuration: ServerConfiguration) {
        context.replace { $0.reconfigured(configuration) }
    }

    /// Until the server has stopped. `onListening` is called with the port once connections are accepted; nil for a socket.
    package func run(onListening: @escaping @Sendable (Int?) async -> Void) async throws {
        let connections = OpenConnections()
        let channel: any Channel
        do {
            channel = try await listen(connections)
        } catch let error as IOError {
            throw ListeningFailure(error, at: context.value.configuration.address) ?? error as any Error
        }
        channel.closeFuture.whenComplete { _ in connections.listeningEnded() }
        await withGracefulShutdownHandler {
            await onListening(channel.localAddress?.port)
            await withTaskCancellationHandler {
                await connections.untilNone()
            } onCancel: {
                channel.close(promise: nil)
                connections.endSoon()
            }
        } onGracefulShutdown: {
            // Accepts nothing more, and closes once what was accepted has its handlers; what waits in the socket is its
            // next owner's.
            channel.setOption(.autoRead, value: false).whenComplete { _ in
                connections.whenAllOpen {
                    channel.close(promise: nil)
                    connections.quiesce()
                }
            }
        }
    }

    private func listen(_ connections: OpenConnections) async throws -> any Channel {
        let context = context
        let bootstrap = ServerBootstrap(group: group)
            .childChannelOption(.allowRemoteHalfClosure, value: true)
            .serverChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(AcceptedConnectionHandler(connections))
                }
            }
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try context.value.setUp(channel)
                    try channel.pipeline.syncOperations.addHandler(OpenConnectionHandler(connections), position: .first)
                }
            }
        switch context.value.configuration.address {
        case .tcp(let host, let port):
            return try await listen(on: try ListeningSocket.open(host: host, port: port), bootstrap)
        case .socket(let socket): return try await listen(on: socket, bootstrap)
        case .unixSocket(let path):
            return try await bootstrap.bind(unixDomainSocketPath: path, cleanupExistingSocketFile: true).get()
        }
    }

    private func listen(on socket: ListeningSocket, _ bootstrap: ServerBootstrap) async throws -> any Channel {
        let channel = try await bootstrap.withBoundSocket(try socket.duplicate()).get()
        // NIO listens anew, with a queue of 128: a burst of connections beyond it is dropped, and tried again after
        // seconds.
        try socket.lengthenQueue()
        return channel
    }
}

/// The context for the connections that begin now.
private final class CurrentContext: Sendable {
    private let context: Mutex<ServerContext>

    init(_ context: ServerContext) {
        self.context = Mutex(context)
    }

    var value: ServerContext { context.withLock { $0 } }

    func replace(_ body: (ServerContext) -> ServerContext) { context.withLock { $0 = body($0) } }
}

/// The connections of a server: those that are accepted and have no handlers yet, and those that are open.
///
/// A stop waits for the former: what NIO has accepted and not handed on when the listening channel closes is closed
/// unanswered.
final class OpenConnections: Sendable {
    private struct State {
        var accepted: Set<ObjectIdentifier> = []
        var open: [ObjectIdentifier: any Channel] = [:]
        var isListening = true
        var isStopping = false
        var mustEndSoon = false
        var onAllOpen: (@Sendable () -> Void)?
        var onNone: CheckedContinuation<Void, Never>?

        mutating func takeAllOpen() -> (@Sendable () -> Void)? {
            guard accepted.isEmpty else { return nil }
            defer { onAllOpen = nil }
            return onAllOpen
        }

        mutating func takeNone() -> CheckedContinuation<Void, Never>? {
            guard !isListening, accepted.isEmpty, open.isEmpty else { return nil }
            defer { onNone = nil }
            return onNone
        }
    }

    private let state = Mutex(State())

    func noteAccepted(_ channel: any Channel) {
        let id = ObjectIdentifier(channel)
        _ = state.withLock { $0.accepted.insert(id) }
        channel.closeFuture.whenComplete { _ in
            self.change { state in
                state.accepted.remove(id)
                state.open[id] = nil
            }
        }
    }

    /// On the channel's event loop.
    func noteOpened(_ channel: any Channel) {
        let id = ObjectIdentifier(channel)
        var (isStopping, mustEndSoon) = (false, false)
        change { state in
            state.accepted.remove(id)
            state.open[id] = channel
            (isStopping, mustEndSoon) = (state.isStopping, state.mustEndSoon)
        }
        if isStopping { channel.pipeline.fireUserInboundEventTriggered(ChannelShouldQuiesceEvent()) }
        if mustEndSoon { channel.triggerUserOutboundEvent(ConnectionEndsSoon(), promise: nil) }
    }

    func listeningEnded() { change { $0.isListening = false } }

    private func change(_ body: (inout State) -> Void) {
        let (allOpen, none) = state.withLock { state in
            body(&state)
            return (state.takeAllOpen(), state.takeNone())
        }
        allOpen?()
        none?.resume()
    }

    /// At once where none is on the way. For one caller.
    func whenAllOpen(_ body: @escaping @Sendable () -> Void) { change { $0.onAllOpen = body } }

    func untilNone() async {
        await withCheckedContinuation { continuation in change { $0.onNone = continuation } }
    }

    /// Tells every connection that nothing more is to be asked.
    func quiesce() {
        let open = state.withLock { state in
            state.isStopping = true
            return Array(state.open.values)
        }
        for channel in open {
            channel.eventLoop.execute { channel.pipeline.fireUserInboundEventTriggered(ChannelShouldQuiesceEvent()) }
        }
    }

    /// Closes every connection soon, whatever its peer does.
    func endSoon() {
        let open = state.withLock { state in
            state.mustEndSoon = true
            return Array(state.open.values)
        }
        for channel in open {
            channel.triggerUserOutboundEvent(ConnectionEndsSoon(), promise: nil)
            channel.close(promise: nil)
        }
    }
}

private final class AcceptedConnectionHandler: ChannelInboundHandler, Sendable {
    typealias InboundIn = any Channel
    typealias InboundOut = any Channel

    private let connections: OpenConnections

    init(_ connections: OpenConnections) {
        self.connections = connections
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        connections.noteAccepted(unwrapInboundIn(data))
        context.fireChannelRead(data)
    }
}

/// Tells when a connection has begun, and goes then.
private final class OpenConnectionHandler: ChannelInboundHandler, RemovableChannelHandler, Sendable {
    typealias InboundIn = NIOAny

    private let connections: OpenConnections

    init(_ connections: OpenConnections) {
        self.connections = connections
    }

    func channelActive(context: ChannelHandlerContext) {
        context.fireChannelActive()
        connections.noteOpened(context.channel)
        context.pipeline.syncOperations.removeHandler(context: context, promise: nil)
    }
}

/// A few more connections are accepted than may be open, so that health is answered and all other requests get 503; beyond
/// those, connections are closed.
final class ConnectionPermits: Sendable {
    enum Permit {
        case regular
        case rejected(PorticoError)
        case none

        var rejection: PorticoError? { if case .rejected(let error) = self { error } else { nil } }
    }

    /// Connections above the limit that live for one answer.
    static let reserve = 64

    private struct State {
        var limit: Int
        /// Connections of one address.
        var share: Int
        var open = 0
        /// By the network that counts as one client.
        var ofClients: [String: Int] = [:]

        init(_ configuration: ServerConfiguration) {
            limit = configuration.connections
            let share = configuration.connectionsPerAddress
            self.share = share > 0 ? share : (limit + 1) / 2
        }
    }

    private let state: Mutex<State>

    init(_ configuration: ServerConfiguration) {
        state = Mutex(State(configuration))
    }

    /// Connections that are open.
    var count: Int { state.withLock { $0.open } }

    /// Connections that are open already stay, though they are more.
    func change(_ configuration: ServerConfiguration) {
        state.withLock { state in
            var changed = State(configuration)
            (changed.open, changed.ofClients) = (state.open, state.ofClients)
            state = changed
        }
    }

    /// Given back when the channel closes. `client`: whose share it takes; nil: no share.
    func take(for channel: any Channel, of client: String?) -> Permit {
        // Behind it, so that a channel that is closed already gives back what it has taken.
        defer { channel.closeFuture.whenComplete { _ in self.giveBack(of: client) } }
        return state.withLock { state in
            state.open += 1
            if let client, case let own = state.ofClients[client, default: 0] + 1 {
                state.ofClients[client] = own
                // Refusals are no way around the share: together they leave room for others.
                let refused = min(Self.reserve, max(state.limit - state.share, 0) / 2)
                if own > state.share, state.open <= state.limit {
                    guard own <= state.share + refused else { return .none }
                    return Self.reject("Too many connections of your address are open.")
                }
            }
            guard state.open > state.limit else { return .regular }
            guard state.open <= state.limit + Self.reserve else { return .none }
            return Self.reject("Too many connections are open.")
        }
    }

    private static func reject(_ reason: String) -> Permit {
        .rejected(PorticoError(.overloaded, reason, retryAfter: 1))
    }

    private func giveBack(of client: String?) {
        state.withLock { state in
            state.open -= 1
            guard let client, let own = state.ofClients[client] else { return }
            state.ofClients[client] = own > 1 ? own - 1 : nil
        }
    }
}
