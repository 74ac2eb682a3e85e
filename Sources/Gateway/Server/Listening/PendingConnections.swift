import NIOCore
import Synchronization

/// Connections that are accepted and have no task yet.
///
/// A stop waits until there are none: what NIO has accepted and not handed on when the listening channel closes is
/// closed unanswered, or, handed on to nobody, ends the process.
final class PendingConnections: Sendable {
    private struct State {
        var arriving: Set<ObjectIdentifier> = []
        var onEmpty: (@Sendable () -> Void)?

        /// What to do now that nobody is on the way any more.
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
