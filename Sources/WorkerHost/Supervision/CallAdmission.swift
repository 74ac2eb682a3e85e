/// Which calls go to a worker: those under way are bounded, and so are those that wait while it restarts. A state machine;
/// ``WorkerCalls`` executes it under a lock.
struct CallAdmission<Session, Waiter> {
    enum Refusal: Error, Equatable {
        /// Too many are under way, or wait.
        case overloaded
        /// The worker does not run, and why.
        case unavailable(String)
    }

    /// The answer to a call that wants to begin.
    enum Outcome {
        case begin(Session, attempt: Int)
        case wait
        case refuse(Refusal)
    }

    private enum State {
        case open(Session, attempt: Int)
        case held
        case refused(String)
    }

    private(set) var inFlight = 0
    private var waiters: [UInt64: Waiter] = [:]
    private var state = State.refused("It has not started.")
    private var lastTicket: UInt64 = 0
    private let limits: CallLimits

    init(limits: CallLimits) {
        self.limits = limits
    }

    var queued: Int { waiters.count }

    mutating func enter() -> Outcome {
        switch state {
        case .open(let session, let attempt):
            guard inFlight < limits.inFlight else { return .refuse(.overloaded) }
            inFlight += 1
            return .begin(session, attempt: attempt)
        case .held: return waiters.count < limits.queued ? .wait : .refuse(.overloaded)
        case .refused(let reason): return .refuse(.unavailable(reason))
        }
    }

    /// The name of a waiter that is to come.
    mutating func ticket() -> UInt64 {
        lastTicket &+= 1
        return lastTicket
    }

    /// False where there is nothing to wait for, or no capacity: the call enters again, and learns it.
    mutating func wait(_ waiter: Waiter, _ ticket: UInt64) -> Bool {
        guard case .held = state, waiters.count < limits.queued else { return false }
        waiters[ticket] = waiter
        return true
    }

    /// The waiter, where it still waits.
    mutating func leaveQueue(_ ticket: UInt64) -> Waiter? { waiters.removeValue(forKey: ticket) }

    /// A call that had begun has ended.
    mutating func leave() { inFlight -= 1 }

    /// Calls go to this session. Returns those that waited, in no order: they enter again.
    mutating func open(_ session: Session, attempt: Int) -> [Waiter] {
        state = .open(session, attempt: attempt)
        return takeWaiters()
    }

    /// Calls wait, where they went to this attempt's session; nil: wherever they went.
    mutating func hold(_ attempt: Int? = nil) {
        if let attempt {
            guard case .open(_, attempt) = state else { return }
        }
        state = .held
    }

    /// Calls are refused, and so are those that waited, which are returned.
    mutating func refuse(_ reason: String) -> [Waiter] {
        state = .refused(reason)
        return takeWaiters()
    }

    private mutating func takeWaiters() -> [Waiter] {
        defer { waiters = [:] }
        return Array(waiters.values)
    }
}

/// Bounds of a worker's calls.
public struct CallLimits: Sendable, Equatable {
    /// Calls that a worker has at once; more are refused with 503.
    public var inFlight: Int
    /// Calls that wait for a worker that restarts; more are refused with 503.
    public var queued: Int
    /// How long they wait at most.
    public var queueTimeout: Duration

    /// Creates limits with these values.
    public init(inFlight: Int = 1_024, queued: Int = 256, queueTimeout: Duration = .seconds(5)) {
        self.inFlight = inFlight
        self.queued = queued
        self.queueTimeout = queueTimeout
    }
}
