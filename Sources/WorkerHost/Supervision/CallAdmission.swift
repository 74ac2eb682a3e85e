import AdapterKit
import Admission
import DequeModule

/// Which calls go to a worker: those under way are bounded, and so are those that wait while it restarts. One account has all
/// but one of either at most. It knows what their ends say about the worker. A policy.
struct CallAdmission<Session: Sendable>: AdmissionPolicy {
    enum Refusal: Error, Equatable {
        /// Too many are under way, or wait.
        case overloaded
        /// The worker does not run, and why.
        case unavailable(String)
    }

    /// The session that a call goes to.
    struct Grant: Sendable {
        let session: Session
        let attempt: Int
    }

    enum End: Sendable {
        case answered
        /// Its deadline has passed, or its caller has gone. The silence: where it had all of its time with this attempt.
        case expired(StallDetector.Silence?, attempt: Int)
        /// The session of this attempt ended, after the call was sent to it or before.
        case ended(attempt: Int, wasSent: Bool)
    }

    private enum State {
        case open(Grant)
        case held
        case refused(String)
    }

    private var inFlight = 0
    private var inFlightOfAccounts: [CallerIdentity: Int] = [:]
    private var waiting: Deque<(ticket: AdmissionTicket, account: CallerIdentity)> = []
    private var state = State.refused("It has not started.")
    /// The last session, which may have ended.
    private(set) var latest: Grant?
    /// Calls that ended with the session of this attempt.
    private var interrupted = (attempt: 0, calls: 0)
    /// Calls that expired since one was answered.
    private(set) var stall: StallDetector.Stall?
    /// The last call whose whole time passed without anything of the worker's coming.
    private(set) var silence: StallDetector.Silence?
    /// Callers that wait until no call is under way.
    var idleWaiters: [CheckedContinuation<Void, Never>] = []
    private let limits: CallLimits

    init(limits: CallLimits) {
        self.limits = limits
    }

    var counts: AdmissionCounts { AdmissionCounts(running: inFlight, waiting: waiting.count) }

    mutating func arrive(
        _ account: CallerIdentity, as ticket: AdmissionTicket, at now: Instant
    ) -> AdmissionEntry<Grant, Refusal> {
        switch state {
        case .open(let grant): return begin(account) ? .admitted(grant) : .refused(.overloaded)
        case .held:
            guard hasPlace(account) else { return .refused(.overloaded) }
            waiting.append((ticket, account))
            return .waits
        case .refused(let reason): return .refused(.unavailable(reason))
        }
    }

    private mutating func begin(_ account: CallerIdentity) -> Bool {
        let own = inFlightOfAccounts[account, default: 0]
        guard inFlight < limits.inFlight, own < max(1, limits.inFlight - 1) else { return false }
        inFlight += 1
        inFlightOfAccounts[account] = own + 1
        return true
    }

    private func hasPlace(_ account: CallerIdentity) -> Bool {
        waiting.count < limits.queued && waiting.count { $0.account == account } < max(1, limits.queued - 1)
    }

    mutating func abandon(_ ticket: AdmissionTicket) { waiting.removeAll { $0.ticket == ticket } }

    mutating func leave(_ account: CallerIdentity, as ticket: AdmissionTicket, _ end: End, at now: Instant) {
        inFlight -= 1
        let own = inFlightOfAccounts[account, default: 0]
        inFlightOfAccounts[account] = own > 1 ? own - 1 : nil
        switch end {
        case .answered: stall = nil
        case .expired(let silence, let attempt):
            if let silence, attempt == latest?.attempt { self.silence = silence }
            stall = StallDetector.Stall(since: stall?.since ?? now, expired: (stall?.expired ?? 0) + 1)
        case .ended(let attempt, let wasSent):
            if wasSent { interrupted = (attempt, interruptedCalls(in: attempt) + 1) }
            hold(attempt)
        }
    }

    /// Takes the callers that wait until no call is under way, where none is: to be resumed.
    mutating func takeIdleWaiters() -> [CheckedContinuation<Void, Never>] {
        guard inFlight == 0 else { return [] }
        defer { idleWaiters = [] }
        return idleWaiters
    }

    /// The number of calls that ended with the session of this attempt so far.
    func interruptedCalls(in attempt: Int) -> Int { interrupted.attempt == attempt ? interrupted.calls : 0 }

    /// Calls that have waited begin as far as the limits go; the others are refused, as new ones would be.
    mutating func next(at now: Instant) -> AdmissionDecision<Grant, Refusal>? {
        switch state {
        case .open(let grant):
            return waiting.popFirst().map {
                begin($0.account) ? .admit($0.ticket, grant) : .refuse($0.ticket, .overloaded)
            }
        case .held: return nil
        case .refused(let reason): return waiting.popFirst().map { .refuse($0.ticket, .unavailable(reason)) }
        }
    }

    /// Calls go to this session, and so do those that waited.
    mutating func open(_ session: Session, attempt: Int) {
        let grant = Grant(session: session, attempt: attempt)
        (state, latest, stall, silence) = (.open(grant), grant, nil, nil)
    }

    /// Calls wait, where they went to this attempt's session; nil: wherever they went.
    mutating func hold(_ attempt: Int? = nil) {
        if let attempt {
            guard case .open(let grant) = state, grant.attempt == attempt else { return }
        }
        state = .held
    }

    /// Calls are refused, and so are those that waited.
    mutating func refuse(_ reason: String) { state = .refused(reason) }
}

/// Bounds of a worker's calls.
public struct CallLimits: Sendable, Equatable {
    /// Calls that a worker has at once, of one account all but one; more are refused with 503.
    public var inFlight: Int
    /// Calls that wait for a worker that restarts, of one account all but one; more are refused with 503.
    public var queued: Int
    /// The longest time that they wait.
    public var queueTimeout: Duration

    /// Creates limits with these values.
    public init(inFlight: Int = 1_024, queued: Int = 256, queueTimeout: Duration = .seconds(5)) {
        self.inFlight = inFlight
        self.queued = queued
        self.queueTimeout = queueTimeout
    }
}
