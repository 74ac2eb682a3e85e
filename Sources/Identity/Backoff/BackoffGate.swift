import AdapterKit
import Synchronization

/// Executes ``LoginBackoff``: lets an attempt through, has it wait for those under way, or refuses it, and counts how it
/// ended.
final class BackoffGate: Sendable {
    private struct Waiter {
        let id: UInt64
        let name: String
        let address: ClientAddress
        let since: ContinuousClock.Instant
        let continuation: CheckedContinuation<LoginBackoff.Attempt, any Error>
    }

    private struct State {
        var backoff: LoginBackoff
        /// In the order in which they came.
        var waiters: [Waiter] = []
        var lastID: UInt64 = 0
    }

    private let state: Mutex<State>
    private let clock: any WallClock
    private let limit: Int
    private let longestWait: Duration

    /// At most `limit` attempts wait for others of the same name or address, each for `longestWait`.
    init(_ limits: LoginBackoff.Limits, clock: any WallClock, waiting limit: Int, longestWait: Duration) {
        state = Mutex(State(backoff: LoginBackoff(limits)))
        self.clock = clock
        self.limit = limit
        self.longestWait = longestWait
    }

    /// Throws `auth.throttled` where the attempt comes too early, `server.overloaded` where too many wait; otherwise gives
    /// what `attempt` gives. A caller that is cancelled does not wait any longer.
    func attempt<Result>(
        _ username: String, from address: ClientAddress,
        _ attempt: (PasswordPriority) async throws -> (outcome: LoginBackoff.Outcome, result: Result)
    ) async throws -> Result {
        let pass = try await enter(username, address)
        var outcome = LoginBackoff.Outcome.unknown
        defer { end(pass, outcome) }
        try Task.checkCancellation()
        let found = try await attempt(pass.priority)
        outcome = found.outcome
        return found.result
    }

    func forget() {
        state.withLock { $0.backoff.forget(now: clock.now()) }
    }

    private func enter(_ name: String, _ address: ClientAddress) async throws -> LoginBackoff.Attempt {
        let id = state.withLock { state in
            state.lastID += 1
            return state.lastID
        }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let answer = state.withLock { state -> Result<LoginBackoff.Attempt, any Error>? in
                    let verdict = state.backoff.begin(name: name, from: address, now: clock.now())
                    if let answer = Self.answer(verdict) { return answer }
                    guard state.waiters.count < limit else { return .failure(Self.overload) }
                    state.waiters.append(
                        Waiter(id: id, name: name, address: address, since: .now, continuation: continuation))
                    return nil
                }
                if let answer { continuation.resume(with: answer) }
                if Task.isCancelled { cancel(id) }
            }
        } onCancel: {
            cancel(id)
        }
    }

    private func cancel(_ id: UInt64) {
        state.withLock { state in
            state.waiters.firstIndex { $0.id == id }.map { state.waiters.remove(at: $0) }
        }?.continuation.resume(throwing: CancellationError())
    }

    /// Those who waited for it are looked at again, in the order in which they came.
    private func end(_ pass: LoginBackoff.Attempt, _ outcome: LoginBackoff.Outcome) {
        let now = clock.now()
        let answered = state.withLock { state -> [(Waiter, Result<LoginBackoff.Attempt, any Error>)] in
            state.backoff.end(pass, outcome, now: now)
            var answered: [(Waiter, Result<LoginBackoff.Attempt, any Error>)] = []
            var still: [Waiter] = []
            for waiter in state.waiters {
                let isLate = waiter.since.duration(to: .now) >= longestWait
                let answer =
                    isLate
                    ? .failure(Self.overload)
                    : Self.answer(
                        state.backoff.begin(name: waiter.name, from: waiter.address, now: now, hasWaited: true))
                if let answer { answered.append((waiter, answer)) } else { still.append(waiter) }
            }
            state.waiters = still
            return answered
        }
        for (waiter, answer) in answered { waiter.continuation.resume(with: answer) }
    }

    /// Nil: it has to wait for those under way.
    private static func answer(_ verdict: LoginBackoff.Verdict) -> Result<LoginBackoff.Attempt, any Error>? {
        switch verdict {
        case .proceed(let pass): .success(pass)
        case .queue: nil
        case .wait(let seconds):
            .failure(
                PorticoError(.loginThrottled, "Too many failed sign-ins. Try again later.", retryAfter: seconds))
        }
    }

    private static let overload = PorticoError(.overloaded, "Too many sign-ins at once.", retryAfter: 5)
}
