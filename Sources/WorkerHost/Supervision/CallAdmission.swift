import AdapterKit

/// Which calls go to a worker: those under way are bounded, and so are those that wait while it restarts. One account has all
/// but one of either at most. A state machine; ``WorkerCalls`` executes it under a lock.
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
    private var inFlightOfAccounts: [CallerIdentity: Int] = [:]
    private var waiters: [UInt64: (waiter: Waiter, account: CallerIdentity)] = [:]
    private var state = State.refused("It has not started.")
    private var lastTicket: UInt64 = 0
    private let limits: CallLimits

    init(limits: CallLimits) {
        self.limits = limits
    }

    var queued: Int { waiters.count }

    mutating func enter(for account: CallerIdentity) -> Outcome {
        switch state {
        case .open(let session, let attempt):
            let own = inFlightOfAccounts[account, default: 0]
            guard inFlight < limits.inFlight, own < max(1, limits.inFlight - 1) else { return .refuse(.overloaded) }
            inFlight += 1
            inFlightOfAccounts[account] = own + 1
            return .begin(session, attempt: attempt)
        case .held: return hasPlace(account) ? .wait : .refuse(.overloaded)
        case .refused(let reason): return .refuse(.unavailable(reason))
        }
    }

    /// The name of a waiter that is to come.
    mutating func ticket() -> UInt64 {
        lastTicket &+= 1
        return lastTicket
    }

    /// False where there is nothing to wait for, or no capacity: the call enters again, and learns it.
    mutating func wait(_ waiter: Waiter, _ ticket: UInt64, for account: CallerIdentity) -> Bool {
        guard case .held = state, hasPlace(account) else { return false }
        waiters[ticket] = (waiter, account)
        return true
    }

    private func hasPlace(_ account: CallerIdentity) -> Bool {
        waiters.count < limits.queued
            && waiters.values.count { $0.account == account } < max(1, limits.queued - 1)
    }

    /// The waiter, where it still waits.
    mutating func leaveQueue(_ ticket: UInt64) -> Waiter? { waiters.removeValue(forKey: ticket)?.waiter }

    /// A call of the account that had begun has ended.
    mutating func leave(_ account: CallerIdentity) {
        inFlight -= 1
        let own = inFlightOfAccounts[account, default: 0]
        inFlightOfAccounts[account] = own > 1 ? own - 1 : nil
    }

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
        return waiters.values.map(\.waiter)
    }
}

/// Bounds of a worker's calls.
public struct CallLimits: Sendable, Equatable {
    /// Calls that a worker has at once, of one account all but one; more are refused with 503.
    public var inFlight: Int
    /// Calls that wait for a worker that restarts, of one account all but one; more are refused with 503.
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
