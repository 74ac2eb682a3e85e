import Glibc
import NIOCore

/// Closes a connection only after the socket has taken everything that was written, in every way a connection ends.
///
/// Closing a channel drops what its socket has not taken yet. Closing a socket with unread bytes resets the connection,
/// and the peer loses what it has not read. So a close has three steps: what was written leaves, the sending side is
/// closed, and what still arrives is read and discarded until the peer closes too. ``lingering`` and ``discardable``
/// limit the third step, ``SlowReaderHandler`` the first. All of it ends within ``lingering`` after ``ConnectionEndsSoon``.
///
/// It stands behind ``SlowReaderHandler``, whose close is immediate, and before all others. Why it is there:
/// docs/decisions/0220-close-after-the-last-byte-has-left.md.
final class LingeringCloseHandler: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer
    typealias OutboundIn = IOData
    typealias OutboundOut = IOData

    /// The time that the peer may take to close its side.
    static let lingering = TimeAmount.seconds(2)
    /// Bytes that are discarded before the connection is closed all the same.
    static let discardable = 256 << 10

    private enum State {
        case open
        /// Written bytes leave. `closesAll`: whether the connection ends afterwards or only its sending side.
        case draining(closesAll: Bool)
        case outputClosed
        case lingering
    }

    private var state = State.open
    private var discarded = 0
    private var timer: Scheduled<Void>?
    /// Closes whatever the state is.
    private var lastTimer: Scheduled<Void>?

    private var isClosing: Bool {
        switch state {
        case .draining(closesAll: true), .lingering: true
        default: false
        }
    }

    func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
        guard mode != .input, context.channel.isActive else { return context.close(mode: mode, promise: promise) }
        if mode == .all { context.channel.closeFuture.cascade(to: promise) } else { promise?.succeed() }
        switch (state, mode) {
        case (.open, _):
            state = .draining(closesAll: mode == .all)
            drain(context)
        case (.draining, .all): state = .draining(closesAll: true)
        case (.outputClosed, .all): beginLingering(context)
        default: return
        }
    }

    /// An empty write is finished once all writes before it are.
    private func drain(_ context: ChannelHandlerContext) {
        let written = context.eventLoop.makePromise(of: Void.self)
        written.futureResult.assumeIsolated().whenComplete { [self] result in
            guard case .success = result else { return context.close(promise: nil) }
            context.close(mode: .output, promise: nil)
            if case .draining(closesAll: true) = state { beginLingering(context) } else { state = .outputClosed }
        }
        context.writeAndFlush(wrapOutboundOut(.byteBuffer(ByteBuffer())), promise: written)
    }

    private func beginLingering(_ context: ChannelHandlerContext) {
        state = .lingering
        guard context.channel.isActive else { return }
        timer = context.eventLoop.assumeIsolated().scheduleTask(in: Self.lingering) { context.close(promise: nil) }
        context.read()
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        guard case .open = state else {
            promise?.fail(ChannelError.outputClosed)
            return
        }
        context.write(data, promise: promise)
    }

    /// Nothing is read before everything has left: discarded bytes have a limit, and an answer must not run into it.
    func read(context: ChannelHandlerContext) {
        if !isClosing { context.read() }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard isClosing else { return context.fireChannelRead(data) }
        discarded += unwrapInboundIn(data).readableBytes
        if discarded > Self.discardable, case .lingering = state { context.close(promise: nil) }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        guard isClosing else { return context.fireChannelReadComplete() }
        if case .lingering = state { context.read() }
    }

    /// Takes the end of the peer's side: handlers behind have closed already, so it is theirs no more.
    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if isClosing, case .some(.inputClosed) = event as? ChannelEvent { return }
        context.fireUserInboundEventTriggered(event)
    }

    func triggerUserOutboundEvent(context: ChannelHandlerContext, event: Any, promise: EventLoopPromise<Void>?) {
        if event is ConnectionEndsSoon {
            promise?.succeed()
            return endSoon(context)
        }
        guard event is ConnectionReset else { return context.triggerUserOutboundEvent(event, promise: promise) }
        let atOnce = linger(l_onoff: 1, l_linger: 0)
        (context.channel as? any SocketOptionProvider)?.setSoLinger(atOnce).whenComplete { _ in promise?.succeed() }
        state = .lingering
        context.close(promise: nil)
    }

    private func endSoon(_ context: ChannelHandlerContext) {
        guard context.channel.isActive, lastTimer == nil else { return }
        lastTimer = context.eventLoop.assumeIsolated().scheduleTask(in: Self.lingering) { context.close(promise: nil) }
    }

    func channelInactive(context: ChannelHandlerContext) {
        cancelTimers()
        context.fireChannelInactive()
    }

    func handlerRemoved(context: ChannelHandlerContext) { cancelTimers() }

    private func cancelTimers() {
        timer?.cancel()
        lastTimer?.cancel()
        (timer, lastTimer) = (nil, nil)
    }
}

@available(*, unavailable)
extension LingeringCloseHandler: Sendable {}

/// Resets the connection: its peer is to see that an answer broke off.
struct ConnectionReset {}

/// Closes the connection within ``LingeringCloseHandler/lingering``, whether or not its peer takes what was written.
struct ConnectionEndsSoon {}
