import HummingbirdCore
import Logging
import NIOCore
import NIOExtras
import NIOPosix
import ServiceLifecycle
import Synchronization

/// Accepts connections and hands each to its channel, until a graceful shutdown; then those that are under way end. A
/// cancelled one (`http.deadlines.stop`) ends soon, whatever its peer does.
///
/// It does what HummingbirdCore's server does, which can only listen at addresses that it binds itself.
struct GatewayListener<Child: ServerChildChannel> {
    let child: Child
    let group: MultiThreadedEventLoopGroup
    let executors: EventLoopExecutors
    let logger: Logger
    private let arriving = PendingConnections()

    init(child: Child, group: MultiThreadedEventLoopGroup, executors: EventLoopExecutors, logger: Logger) {
        self.child = child
        self.group = group
        self.executors = executors
        self.logger = logger
    }

    func run(
        at address: ServerAddress, onListening: @escaping @Sendable (Int?) async -> Void
    ) async throws {
        let quiescing = ServerQuiescingHelper(group: group)
        let server = try await listen(at: address, quiescing)
        await withGracefulShutdownHandler {
            await onListening(server.channel.localAddress?.port)
            // Not behind the work of adapters: who is to be refused would wait for what there is too much of.
            await withTaskExecutorPreference(executors[server.channel.eventLoop]) { await accept(from: server) }
        } onGracefulShutdown: {
            stop(server.channel, quiescing)
        }
    }

    /// Accepts nothing more, and closes once what was accepted is handed on; what waits in the socket is its next owner's.
    private func stop(_ channel: any Channel, _ quiescing: ServerQuiescingHelper) {
        channel.setOption(.autoRead, value: false).whenComplete { _ in
            arriving.whenEmpty { quiescing.initiateShutdown(promise: nil) }
        }
    }

    private func accept(from server: NIOAsyncChannel<Child.Value, Never>) async {
        await withDiscardingTaskGroup { connections in
            do {
                try await server.executeThenClose { inbound in
                    for try await connection in inbound {
                        connections.addTask { await handle(connection) }
                        arriving.left(connection.channel)
                    }
                }
            } catch is CancellationError {
                logger.notice("connections under way are ended")
            } catch {
                logger.error("listening failed", metadata: ["detail": "\(error)"])
            }
        }
    }

    /// What is cancelled closes its channel and waits until that is closed, which alone would take as long as the peer
    /// takes its answer.
    private func handle(_ connection: Child.Value) async {
        await withTaskCancellationHandler {
            await child.handle(value: connection, logger: logger)
        } onCancel: {
            connection.channel.triggerUserOutboundEvent(ConnectionEndsSoon(), promise: nil)
        }
    }

    private func listen(
        at address: ServerAddress, _ quiescing: ServerQuiescingHelper
    ) async throws -> NIOAsyncChannel<Child.Value, Never> {
        let bootstrap = ServerBootstrap(group: group)
            .childChannelOption(.allowRemoteHalfClosure, value: true)
            .serverChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandlers([
                        arriving.handler(), quiescing.makeServerChannelHandler(channel: channel),
                    ])
                }
            }
        switch address {
        case .tcp(let host, let port):
            return try await listen(on: try ListeningSocket.open(host: host, port: port), bootstrap)
        case .socket(let socket): return try await listen(on: socket, bootstrap)
        case .unixSocket(let path):
            return try await bootstrap.bind(unixDomainSocketPath: path, cleanupExistingSocketFile: true) { channel in
                child.setup(channel: channel, logger: logger)
            }
        }
    }

    private func listen(
        on socket: ListeningSocket, _ bootstrap: ServerBootstrap
    ) async throws -> NIOAsyncChannel<Child.Value, Never> {
        let channel = try await bootstrap.bind(try socket.duplicate()) { channel in
            child.setup(channel: channel, logger: logger)
        }
        // NIO listens anew, with a queue of 128: a burst of connections beyond it is dropped, and tried again after
        // seconds.
        try socket.lengthenQueue()
        return channel
    }
}

/// Connections that are accepted and have no task yet.
///
/// A stop waits until there are none: what NIO has accepted and not handed on when the listening channel closes is
/// closed unanswered, or, handed on to no task, ends the process.
final class PendingConnections: Sendable {
    private struct State {
        var arriving: Set<ObjectIdentifier> = []
        var onEmpty: (@Sendable () -> Void)?

        /// What to do once no connection is pending.
        mutating func take() -> (@Sendable () -> Void)? {
            guard arriving.isEmpty else { return nil }
            defer { onEmpty = nil }
            return onEmpty
        }
    }

    private let state = Mutex(State())

    /// A handler of the listening channel, before all that hand connections on.
    func handler() -> some ChannelInboundHandler & Sendable { PendingConnectionHandler(connections: self) }

    fileprivate func arrived(_ channel: any Channel) {
        let id = ObjectIdentifier(channel)
        _ = state.withLock { $0.arriving.insert(id) }
        channel.closeFuture.whenComplete { _ in self.left(id) }
    }

    /// It has its task.
    func left(_ channel: any Channel) { left(ObjectIdentifier(channel)) }

    private func left(_ id: ObjectIdentifier) {
        let action = state.withLock { state in
            state.arriving.remove(id)
            return state.take()
        }
        action?()
    }

    /// At once where none is on the way. For one caller.
    func whenEmpty(_ body: @escaping @Sendable () -> Void) {
        let action = state.withLock { state in
            state.onEmpty = body
            return state.take()
        }
        action?()
    }
}

private final class PendingConnectionHandler: ChannelInboundHandler, Sendable {
    typealias InboundIn = any Channel
    typealias InboundOut = any Channel

    private let connections: PendingConnections

    init(connections: PendingConnections) {
        self.connections = connections
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        connections.arrived(unwrapInboundIn(data))
        context.fireChannelRead(data)
    }
}

/// An executor for each event loop of a group, so that a connection's task runs where its channel does.
///
/// Kept for as long as the server runs: the runtime does not retain the executors that tasks prefer.
struct EventLoopExecutors: Sendable {
    private let executors: [ObjectIdentifier: EventLoopExecutor]

    init(_ group: any EventLoopGroup) {
        executors = Dictionary(
            group.makeIterator().map { (ObjectIdentifier($0), EventLoopExecutor(loop: $0)) }, uniquingKeysWith: { $1 })
    }

    /// Nil, which is the global pool, for a loop of another group.
    subscript(loop: any EventLoop) -> (any TaskExecutor)? { executors[ObjectIdentifier(loop)] }
}

private final class EventLoopExecutor: TaskExecutor {
    private let loop: any EventLoop

    init(loop: any EventLoop) {
        self.loop = loop
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        loop.execute { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}
