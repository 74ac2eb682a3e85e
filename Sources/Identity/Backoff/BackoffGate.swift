import AdapterKit
import Synchronization

/// Executes ``LoginBackoff``: lets an attempt through or refuses it, and counts how it ended.
final class BackoffGate: Sendable {
    private let state: Mutex<LoginBackoff>
    private let clock: any WallClock

    init(_ limits: LoginBackoff.Limits, clock: any WallClock) {
        state = Mutex(LoginBackoff(limits))
        self.clock = clock
    }

    /// Throws `auth.throttled` where the attempt comes too early; otherwise gives what `attempt` gives, nil for a refusal.
    func attempt<Proof>(
        _ username: String, from address: ClientAddress, _ attempt: () async throws -> Proof?
    ) async throws -> Proof? {
        switch state.withLock({ $0.begin(name: username, from: address, now: clock.now()) }) {
        case .wait(let seconds):
            throw PorticoError(.loginThrottled, "Too many failed sign-ins. Try again later.", retryAfter: seconds)
        case .proceed(let pass):
            var outcome = LoginBackoff.Outcome.unknown
            defer { state.withLock { $0.end(pass, outcome, now: clock.now()) } }
            let proof = try await attempt()
            outcome = proof == nil ? .refused : .accepted
            return proof
        }
    }

    func forget() {
        state.withLock { $0.forget(now: clock.now()) }
    }
}
