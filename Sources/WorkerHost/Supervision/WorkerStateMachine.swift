/// The life of one adapter's worker: attempts, heartbeats, crashes, back-off. A state machine with the time passed in;
/// ``WorkerSupervisor`` executes its actions.
///
/// At most one process exists at any time: the next is launched when the last has ended. What happened to an earlier
/// process is ignored, because every event names its attempt.
struct WorkerStateMachine: Sendable, Equatable {
    typealias Instant = ContinuousClock.Instant

    enum Phase: Sendable, Equatable {
        /// Nothing runs, and nothing will by itself.
        case idle
        /// Launched; not yet greeted and started.
        case starting(until: Instant)
        case running(since: Instant, heartbeat: Heartbeat)
        /// It is to end, or its socket has; killed at the time.
        case ending(killAt: Instant, Next)
        /// Killed; not yet waited for.
        case killed(Next)
        /// Launched again at the time.
        case waiting(until: Instant)
        /// Crashed too often; attempted again at the time.
        case failed(reason: String, until: Instant)
        /// For good.
        case stopped
    }

    enum Heartbeat: Sendable, Equatable {
        case due(Instant)
        case sent(Instant)
    }

    /// The step after the end of a process.
    enum Next: Sendable, Equatable {
        /// A crash: a reason of the host's own; nil: the process' end says it.
        case crash(String?)
        /// An operator asked for another one.
        case restart
        case stop
    }

    enum Event: Sendable, Equatable {
        /// The host wants it to run. The first attempt's failure is the host's to handle.
        case start
        /// The worker has greeted, and its start has returned.
        case ready(Int)
        /// The handshake or the start failed, and why; nil: the connection ended. The process may be there.
        case refused(Int, String?)
        /// No process could be launched.
        case notLaunched(Int, String)
        /// The session is over. A reason: it is the worker's fault.
        case disconnected(Int, String?)
        case answered(Int)
        /// The worker answers heartbeats and nothing else, and why it is to be killed.
        case stalled(Int, String)
        /// The process has ended and was waited for.
        case exited(Int, String)
        /// As `exited`, because the host ended it for what it took of the machine.
        case exceeded(Int, String)
        case restart
        case stop
        /// Nothing but that time passed.
        case time
    }

    enum Action: Sendable, Equatable {
        case launch(Int)
        /// Calls go to the session of this attempt.
        case open(Int)
        /// Calls wait.
        case hold
        /// Calls are refused, those that wait too.
        case refuse(String)
        case ping(Int)
        case terminate(Int)
        case kill(Int)
        /// A process ended that was not to end.
        case report(Int, String)
        /// The first attempt's outcome: nil where it runs.
        case started(String?)
        case stopped
    }

    private(set) var phase = Phase.idle
    /// The number of the latest launch.
    private(set) var attempt = 0
    /// Ends that were not asked for, launches that failed included.
    private(set) var crashes = 0
    /// Launches after the first that succeeded.
    private(set) var restarts = 0
    /// In a row, the time of each; none where the last worker was stable.
    private(set) var recent: [Instant] = []
    private var hasFailed = false
    /// When it last took too much of the machine.
    private var lastExcess: Instant?
    /// Whether a start waits for its outcome.
    private var isFirst = false
    private let limits: SupervisionLimits

    init(limits: SupervisionLimits) {
        self.limits = limits
    }

    /// When ``Event/time`` is due; nil: nothing happens by itself.
    var deadline: Instant? {
        switch phase {
        case .idle, .stopped, .killed: nil
        case .starting(let until), .waiting(let until), .failed(_, let until): until
        case .running(_, .due(let time)): time
        case .running(_, .sent(let time)): time.advanced(by: limits.heartbeatTolerance)
        case .ending(let killAt, _): killAt
        }
    }

    /// Whether a process may be there.
    var hasProcess: Bool {
        switch phase {
        case .starting, .running, .ending, .killed: true
        case .idle, .waiting, .failed, .stopped: false
        }
    }

    mutating func handle(_ event: Event, at now: Instant) -> [Action] {
        switch event {
        case .start: start(now)
        case .ready(let number): number == attempt ? handleReady(now) : []
        case .refused(let number, let reason): number == attempt ? handleRefusal(reason, now) : []
        case .notLaunched(let number, let reason): number == attempt && hasProcess ? handleExit(reason, now) : []
        case .disconnected(let number, let fault): number == attempt ? handleDisconnection(fault, now) : []
        case .answered(let number): number == attempt ? handleAnswer(now) : []
        case .stalled(let number, let reason): number == attempt ? handleStall(reason, now) : []
        case .exited(let number, let how): number == attempt && hasProcess ? handleExit(how, now) : []
        case .exceeded(let number, let reason): number == attempt && hasProcess ? handleExcess(reason, now) : []
        case .restart: restart(now)
        case .stop: stop(now)
        case .time: handleTime(now)
        }
    }

    private mutating func start(_ now: Instant) -> [Action] {
        guard case .idle = phase else { return [.started("The worker is already \(phase.name).")] }
        isFirst = true
        return launch(now)
    }

    private mutating func launch(_ now: Instant) -> [Action] {
        attempt += 1
        phase = .starting(until: now.advanced(by: limits.start))
        return [.launch(attempt)]
    }

    private mutating func handleReady(_ now: Instant) -> [Action] {
        guard case .starting = phase else { return [] }
        phase = .running(since: now, heartbeat: .due(now.advanced(by: limits.heartbeatInterval)))
        if !isFirst { restarts += 1 }
        defer { isFirst = false }
        return isFirst ? [.open(attempt), .started(nil)] : [.open(attempt)]
    }

    private mutating func handleRefusal(_ reason: String?, _ now: Instant) -> [Action] {
        guard case .starting = phase else { return [] }
        guard reason == nil else { return kill(then: .crash(reason)) }
        phase = .ending(killAt: now.advanced(by: limits.disconnectTolerance), .crash(nil))
        return []
    }

    private mutating func handleDisconnection(_ fault: String?, _ now: Instant) -> [Action] {
        switch phase {
        case .starting where fault != nil: return kill(then: .crash(fault))
        case .running(let since, _):
            noteUptime(since, now)
            guard fault == nil else { return [.hold] + kill(then: .crash(fault)) }
            // Its end is on the way, where it has ended; the reason is better than that the socket is closed.
            phase = .ending(killAt: now.advanced(by: limits.disconnectTolerance), .crash(nil))
            return [.hold]
        default: return []
        }
    }

    private mutating func handleAnswer(_ now: Instant) -> [Action] {
        guard case .running(let since, .sent) = phase else { return [] }
        noteUptime(since, now)
        phase = .running(since: since, heartbeat: .due(now.advanced(by: limits.heartbeatInterval)))
        return []
    }

    private mutating func handleStall(_ reason: String, _ now: Instant) -> [Action] {
        guard case .running(let since, _) = phase else { return [] }
        noteUptime(since, now)
        return [.hold] + kill(then: .crash(reason))
    }

    private mutating func kill(then next: Next) -> [Action] {
        phase = .killed(next)
        return [.kill(attempt)]
    }

    /// The process is no more, for the reason `how`.
    private mutating func handleExit(_ how: String, _ now: Instant) -> [Action] {
        switch phase {
        case .starting: return handleCrash(how, now)
        case .running(let since, _):
            noteUptime(since, now)
            return [.hold] + handleCrash(how, now)
        case .killed(.crash(nil)): return handleCrash("The worker closed its socket, and ended late: \(how)", now)
        case .ending(_, let next), .killed(let next):
            switch next {
            case .crash(let reason): return handleCrash(reason ?? how, now)
            case .restart: return launch(now)
            case .stop:
                phase = .stopped
                return [.stopped]
            }
        case .idle, .waiting, .failed, .stopped: return []
        }
    }

    /// However long it had run: one that takes from others again and again has failed.
    private mutating func handleExcess(_ reason: String, _ now: Instant) -> [Action] {
        let isRepeated = lastExcess.map { now - $0 <= limits.excessWindow } ?? false
        lastExcess = now
        let wasRunning = if case .running = phase { true } else { false }
        if wasRunning { phase = .killed(.crash(reason)) }
        hasFailed = hasFailed || isRepeated
        return (wasRunning ? [.hold] : []) + handleExit(reason, now)
    }

    private mutating func noteUptime(_ since: Instant, _ now: Instant) {
        guard now - since >= limits.stableUptime else { return }
        recent = []
        hasFailed = false
    }

    private mutating func handleCrash(_ reason: String, _ now: Instant) -> [Action] {
        crashes += 1
        let report = Action.report(attempt, reason)
        if isFirst {
            isFirst = false
            phase = .idle
            return [report, .started(reason)]
        }
        recent = recent.filter { now - $0 <= limits.crashWindow } + [now]
        if hasFailed || recent.count >= limits.crashesToFail {
            hasFailed = true
            phase = .failed(reason: reason, until: now.advanced(by: limits.failedRetry))
            return [report, .refuse(reason)]
        }
        let wait = limits.backoff(afterCrashes: recent.count)
        guard wait > .zero else { return [report] + launch(now) }
        phase = .waiting(until: now.advanced(by: wait))
        return [report]
    }

    private mutating func restart(_ now: Instant) -> [Action] {
        switch phase {
        case .running:
            recent = []
            phase = .ending(killAt: now.advanced(by: limits.terminationGrace), .restart)
            return [.hold, .terminate(attempt)]
        case .waiting, .failed:
            (recent, hasFailed) = ([], false)
            return [.hold] + launch(now)
        case .idle, .starting, .ending, .killed, .stopped: return []
        }
    }

    private mutating func stop(_ now: Instant) -> [Action] {
        let refusal = Action.refuse("It is stopped.")
        let outcome: [Action] = isFirst ? [.started("It is stopped.")] : []
        isFirst = false
        switch phase {
        case .idle, .waiting, .failed:
            phase = .stopped
            return [refusal, .stopped]
        case .starting: return [refusal] + kill(then: .stop) + outcome
        case .running:
            phase = .ending(killAt: now.advanced(by: limits.terminationGrace), .stop)
            return [refusal, .terminate(attempt)]
        case .ending(let killAt, _):
            phase = .ending(killAt: killAt, .stop)
            return [refusal] + outcome
        case .killed:
            phase = .killed(.stop)
            return [refusal] + outcome
        case .stopped: return [.stopped]
        }
    }

    private mutating func handleTime(_ now: Instant) -> [Action] {
        guard let deadline, deadline <= now else { return [] }
        switch phase {
        case .starting: return kill(then: .crash("It has not started within \(limits.start)."))
        case .waiting, .failed: return [.hold] + launch(now)
        case .running(let since, .due):
            noteUptime(since, now)
            phase = .running(since: since, heartbeat: .sent(now))
            return [.ping(attempt)]
        case .running(let since, .sent):
            noteUptime(since, now)
            return [.hold] + kill(then: .crash("It has not answered for \(limits.heartbeatTolerance)."))
        case .ending(_, let next): return kill(then: next)
        case .idle, .killed, .stopped: return []
        }
    }
}

/// When a worker is pinged, killed and launched again.
public struct SupervisionLimits: Sendable, Equatable {
    /// From the launch until the worker has greeted and its start has returned.
    public var start = Duration.seconds(30)
    /// Between the answer to a heartbeat and the next one.
    public var heartbeatInterval = Duration.seconds(2)
    /// A worker that has not answered a heartbeat for so long hangs, and is killed.
    public var heartbeatTolerance = Duration.seconds(5)
    /// Between the end of the socket and the kill of a process that stays: one that had begun to exit, or of which that cannot
    /// be read. One that goes on is killed at once.
    public var disconnectTolerance = Duration.milliseconds(100)
    /// Between the request to end and the kill.
    public var terminationGrace = Duration.seconds(2)
    /// A worker that has run for so long is launched again at once when it ends, and earlier crashes are forgotten.
    public var stableUptime = Duration.seconds(1)
    /// The wait after the second crash in a row; each is twice the last.
    public var firstBackoff = Duration.milliseconds(100)
    /// The longest wait between two crashes in a row.
    public var longestBackoff = Duration.seconds(30)
    /// So many crashes in a row, within `crashWindow`: it has failed.
    public var crashesToFail = 8
    /// Older crashes do not count.
    public var crashWindow = Duration.seconds(60)
    /// One that takes too much of the machine (its threads) twice within so long has failed.
    public var excessWindow = Duration.seconds(600)
    /// When one that has failed is attempted again.
    public var failedRetry = Duration.seconds(60)

    /// So many calls that expired with none answered, and the worker is watched for a stall.
    public var stallCalls = 4
    /// A stalled worker that takes the processor for so long while calls wait is killed.
    public var spinTolerance = Duration.seconds(5)
    /// A stalled worker is killed once calls have waited for so long, all together.
    public var stallTolerance = Duration.seconds(60)

    /// Creates the limits that hold where nothing else is configured.
    public init() {}

    /// The wait before the attempt that follows so many crashes in a row: none after the first.
    func backoff(afterCrashes count: Int) -> Duration {
        guard count > 1 else { return .zero }
        return min(longestBackoff, firstBackoff * (1 << min(count - 2, Self.mostDoublings)))
    }

    private static let mostDoublings = 20
}

extension WorkerStateMachine.Phase {
    /// As operators read it.
    var name: String {
        switch self {
        case .idle: "idle"
        case .starting: "starting"
        case .running: "running"
        case .ending, .killed: "ending"
        case .waiting: "waiting"
        case .failed: "failed"
        case .stopped: "stopped"
        }
    }
}
