import AdapterKit
import Admission
import DequeModule
import Synchronization

/// Which sign-in attempts go on, wait for those under way, or are refused, by ``LoginBackoff``: a policy.
package struct BackoffQueue: AdmissionPolicy {
    package struct Request: Sendable {
        let name: String
        let address: ClientAddress
        /// When it came.
        let time: WireDate

        package init(name: String, address: ClientAddress, time: WireDate) {
            (self.name, self.address, self.time) = (name, address, time)
        }
    }

    package struct End: Sendable {
        let attempt: LoginBackoff.Attempt
        let outcome: LoginBackoff.Outcome
        let time: WireDate

        package init(attempt: LoginBackoff.Attempt, outcome: LoginBackoff.Outcome, time: WireDate) {
            (self.attempt, self.outcome, self.time) = (attempt, outcome, time)
        }
    }

    var backoff: LoginBackoff
    private let limit: Int
    /// In the order in which they came.
    private var waiting: Deque<(ticket: AdmissionTicket, request: Request)> = []
    /// The next of those that wait to be looked at again, and when an attempt ended for that; nil: none ended.
    private var look: (next: Int, time: WireDate)?
    private var running = 0

    /// At most `limit` attempts wait for others of the same name or address.
    package init(_ backoff: LoginBackoff, waiting limit: Int) {
        (self.backoff, self.limit) = (backoff, limit)
    }

    package var counts: AdmissionCounts { AdmissionCounts(running: running, waiting: waiting.count) }

    package mutating func arrive(
        _ request: Request, as ticket: AdmissionTicket, at now: Instant
    ) -> AdmissionEntry<LoginBackoff.Attempt, PorticoError> {
        switch backoff.begin(name: request.name, from: request.address, now: request.time) {
        case .proceed(let attempt):
            running += 1
            return .admitted(attempt)
        case .wait(let seconds): return .refused(Self.throttled(seconds))
        case .queue:
            guard waiting.count < limit else { return .refused(Self.overload) }
            waiting.append((ticket, request))
            return .waits
        }
    }

    /// Ends an attempt. Attempts that waited for it are looked at again, in the order in which they came.
    package mutating func leave(_ request: Request, as ticket: AdmissionTicket, _ end: End, at now: Instant) {
        running -= 1
        backoff.end(end.attempt, end.outcome, now: end.time)
        look = (0, end.time)
    }

    package mutating func next(at now: Instant) -> AdmissionDecision<LoginBackoff.Attempt, PorticoError>? {
        while let (place, time) = look, place < waiting.count {
            let (ticket, request) = waiting[place]
            switch backoff.begin(name: request.name, from: request.address, now: time, hasWaited: true) {
            case .proceed(let attempt):
                waiting.remove(at: place)
                running += 1
                return .admit(ticket, attempt)
            case .wait(let seconds):
                waiting.remove(at: place)
                return .refuse(ticket, Self.throttled(seconds))
            case .queue: look = (place + 1, time)
            }
        }
        look = nil
        return nil
    }

    package mutating func abandon(_ ticket: AdmissionTicket) { waiting.removeAll { $0.ticket == ticket } }

    private static func throttled(_ seconds: Int) -> PorticoError {
        PorticoError(.loginThrottled, "Too many failed sign-ins. Try again later.", retryAfter: seconds)
    }

    fileprivate static let overload = PorticoError(.overloaded, "Too many sign-ins at once.", retryAfter: 5)
}

/// Lets sign-in attempts through by ``BackoffQueue``, and counts how they ended.
final class BackoffGate: Sendable {
    private let queue: AdmissionQueue<BackoffQueue>
    private let clock: any WallClock
    private let longestWait: Mutex<Duration>

    /// At most `limit` attempts wait for others of the same name or address, each for `longestWait`.
    init(_ limits: LoginBackoff.Limits, clock: any WallClock, waiting limit: Int, longestWait: Duration) {
        queue = AdmissionQueue(BackoffQueue(LoginBackoff(limits), waiting: limit), late: BackoffQueue.overload)
        self.clock = clock
        self.longestWait = Mutex(longestWait)
    }

    /// Waits that failed attempts have caused already stay as they are.
    func use(_ limits: LoginBackoff.Limits, longestWait: Duration) {
        queue.update { $0.backoff.use(limits) }
        self.longestWait.withLock { $0 = longestWait }
    }

    /// Throws `auth.throttled` where the attempt comes too early, `server.overloaded` where too many wait or it waits for too long;
    /// otherwise gives what `attempt` gives. A caller that is cancelled does not wait any longer.
    func attempt<Result>(
        _ username: String, from address: ClientAddress,
        _ attempt: (PasswordPriority) async throws -> (outcome: LoginBackoff.Outcome, result: Result)
    ) async throws -> Result {
        let permit = try await queue.acquire(
            BackoffQueue.Request(name: username, address: address, time: clock.now()),
            until: .now + longestWait.withLock { $0 })
        var outcome = LoginBackoff.Outcome.unknown
        defer {
            queue.leave(
                permit.place, BackoffQueue.End(attempt: permit.grant, outcome: outcome, time: clock.now()))
        }
        try Task.checkCancellation()
        let found = try await attempt(permit.grant.priority)
        outcome = found.outcome
        return found.result
    }

    func forget() {
        let now = clock.now()
        queue.update { $0.backoff.forget(now: now) }
    }
}
