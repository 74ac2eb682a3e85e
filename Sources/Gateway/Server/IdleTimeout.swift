import NIOCore

/// `http.deadlines.head`: how long a connection may be quiet while it is the peer's turn.
///
/// It stands here and not in HummingbirdCore's handler, which cannot see the requests that are answered before it. One
/// timer for each connection looks when it fires how long ago the last activity was: moving a timer with every request
/// would cost more than the request.
struct IdleTimeout {
    private let idle: TimeAmount
    private let clock: Clock

    /// What the timer and the handler share. Both run on the channel's event loop.
    private final class Clock {
        var lastActivity: NIODeadline
        var timer: Scheduled<Void>?

        init(lastActivity: NIODeadline) {
            self.lastActivity = lastActivity
        }
    }

    /// `since`: when the peer's turn began.
    init(idle: Duration, since: NIODeadline = .now()) {
        self.idle = .nanoseconds(idle.nanoseconds)
        clock = Clock(lastActivity: since)
    }

    func noteActivity() { clock.lastActivity = .now() }

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
            let now = NIODeadline.now()
            let end = clock.lastActivity + idle
            guard isPeersTurn() else { return schedule(on: loop, at: now + idle, isPeersTurn, giveUp) }
            guard end > now else { return giveUp() }
            schedule(on: loop, at: end, isPeersTurn, giveUp)
        }
    }
}
