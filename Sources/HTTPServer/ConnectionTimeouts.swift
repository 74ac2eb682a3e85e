import NIOCore

/// Closes a channel whose peer does not take its answers: `http.deadlines.write` and `http.limits.writeRate`.
///
/// What counts is how much left the process, not when a response ended: an honest slow reader of a large answer takes
/// a little all the time and is never cut off. It stands where bytes (or a stream's frames) go out. One look for each
/// span, while something is waiting to go out; nothing at all otherwise.
final class SlowReaderHandler: ChannelOutboundHandler, RemovableChannelHandler {
    typealias OutboundIn = IOData
    typealias OutboundOut = IOData

    private let span: TimeAmount
    private let leastBytes: Int
    private var progress = WriteProgress()
    private var look: Scheduled<Void>?

    init(span: Duration, rate: Int) {
        self.span = .nanoseconds(span.nanoseconds)
        leastBytes = max(1, Int(span / .seconds(1) * Double(rate)))
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        progress.wrote(unwrapOutboundIn(data).readableBytes)
        context.write(data, promise: promise)
        if look == nil { watch(context) }
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        look?.cancel()
        look = nil
    }

    private func watch(_ context: ChannelHandlerContext) {
        look = context.eventLoop.assumeIsolated().scheduleTask(in: span) { [self] in
            look = nil
            let waiting = (try? context.channel.syncOptions?.getOption(.bufferedWritableBytes)) ?? 0
            switch progress.look(waiting: waiting, atLeast: leastBytes) {
            case .idle: return
            case .goesOn: watch(context)
            case .tooSlow: context.close(promise: nil)
            }
        }
    }
}

@available(*, unavailable)
extension SlowReaderHandler: Sendable {}

/// The progress of writing, from one look to the next.
struct WriteProgress {
    enum Finding {
        case idle
        case goesOn
        case tooSlow
    }

    private var written = 0
    private var leftBefore = 0
    private var waitedBefore = false

    mutating func wrote(_ bytes: Int) { written += bytes }

    /// `waiting`: bytes that have not left yet. A span that began with nothing waiting is not the peer's fault.
    mutating func look(waiting: Int, atLeast least: Int) -> Finding {
        let left = written - waiting
        let progress = left - leftBefore
        leftBefore = left
        defer { waitedBefore = waiting > 0 }
        guard waiting > 0 else { return .idle }
        return waitedBefore && progress < least ? .tooSlow : .goesOn
    }
}

/// `http.deadlines.head`: how long a connection may be quiet while it is the peer's turn.
///
/// One timer for each connection looks when it fires how long ago the last activity was: moving a timer with every request
/// would cost more than the request.
struct IdleTimeout {
    private let idle: TimeAmount
    private let clock: Clock

    /// The state that the timer and the handler share. Both run on the channel's event loop.
    private final class Clock {
        var lastActivity: NIODeadline
        var timer: Scheduled<Void>?

        init(lastActivity: NIODeadline) {
            self.lastActivity = lastActivity
        }
    }

    /// `since`: when the peer's turn began.
    init(idle: Duration, since: NIODeadline) {
        self.idle = .nanoseconds(idle.nanoseconds)
        clock = Clock(lastActivity: since)
    }

    func noteActivity(at now: NIODeadline) { clock.lastActivity = now }

    func start(
        on loop: any EventLoop, isPeersTurn: @escaping () -> Bool, giveUp: @escaping () -> Void
    ) {
        guard clock.timer == nil else { return }
        schedule(on: loop, at: clock.lastActivity + idle, isPeersTurn, giveUp)
    }

    func stop() {
        clock.timer?.cancel()
        clock.timer = nil
    }

    private func schedule(
        on loop: any EventLoop, at time: NIODeadline, _ isPeersTurn: @escaping () -> Bool,
        _ giveUp: @escaping () -> Void
    ) {
        clock.timer = loop.assumeIsolated().scheduleTask(deadline: time) {
            let now = loop.now
            let end = clock.lastActivity + idle
            guard isPeersTurn() else { return schedule(on: loop, at: now + idle, isPeersTurn, giveUp) }
            guard end > now else { return giveUp() }
            schedule(on: loop, at: end, isPeersTurn, giveUp)
        }
    }
}

extension Duration {
    var nanoseconds: Int64 {
        components.seconds * 1_000_000_000 + components.attoseconds / 1_000_000_000
    }
}
