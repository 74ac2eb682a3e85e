import AdapterKit
import Synchronization

/// Carries ``FairShares`` out: whoever waits is a continuation.
final class FairShareQueue: Sendable {
    private typealias Waiter = CheckedContinuation<Void, any Error>

    private struct State {
        var shares: FairShares
        var waiters: [UInt64: Waiter] = [:]
        /// Admitted or given up before they had begun to wait.
        var early: [UInt64: Result<Void, any Error>] = [:]
    }

    private let state: Mutex<State>

    init(_ shares: FairShares) {
        state = Mutex(State(shares: shares))
    }

    /// Throws `server.overloaded` where the queue is full, and `CancellationError` where the request's time is over.
    func take(_ place: FairShares.Place) async throws {
        switch state.withLock({ $0.shares.take(place) }) {
        case .taken: return
        case .refused:
            throw PorticoError(.overloaded, "Too many requests of this kind are under way.", retryAfter: 1)
        case .waits(let number):
            try await withTaskCancellationHandler {
                try await withCheckedThrowingContinuation { wait(number, $0) }
            } onCancel: {
                giveUp(number)
            }
        }
    }

    func leave(_ place: FairShares.Place) {
        for number in state.withLock({ $0.shares.leave(place) }) { settle(number, .success(())) }
    }

    private func wait(_ number: UInt64, _ waiter: Waiter) {
        let early = state.withLock { state in
            let early = state.early.removeValue(forKey: number)
            if early == nil { state.waiters[number] = waiter }
            return early
        }
        if let early { waiter.resume(with: early) }
    }

    private func giveUp(_ number: UInt64) {
        guard state.withLock({ $0.shares.giveUp(number) }) else { return }
        settle(number, .failure(CancellationError()))
    }

    private func settle(_ number: UInt64, _ result: Result<Void, any Error>) {
        let waiter = state.withLock { state in
            let waiter = state.waiters.removeValue(forKey: number)
            if waiter == nil { state.early[number] = result }
            return waiter
        }
        waiter?.resume(with: result)
    }
}
