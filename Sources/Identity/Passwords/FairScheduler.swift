import AdapterKit
import Synchronization

/// Lets password work run in the order of ``FairQueue``.
package final class FairScheduler: Sendable {
    private struct State {
        var queue: FairQueue
        var waiters: [UInt64: CheckedContinuation<Void, any Error>] = [:]
        var lastID: UInt64 = 0
    }

    private let state: Mutex<State>
    private let start = ContinuousClock.now

    package init(_ limits: FairQueue.Limits) {
        state = Mutex(State(queue: FairQueue(limits)))
    }

    package var waitingCount: Int { state.withLock { $0.queue.waitingCount } }

    /// Throws `server.overloaded` with the seconds to wait where the turn would come too late. A caller that is cancelled
    /// while it waits leaves the queue.
    package func run<Result>(for share: PasswordShare, _ body: () async throws -> Result) async throws -> Result {
        let id = state.withLock { state in
            state.lastID += 1
            return state.lastID
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { waiter in
                perform { state, now in
                    state.waiters[id] = waiter
                    return state.queue.arrive(id, share, now: now)
                }
                if Task.isCancelled { cancel(id) }
            }
        } onCancel: {
            cancel(id)
        }
        defer { perform { state, now in state.queue.finish(id, now: now) } }
        try Task.checkCancellation()
        return try await body()
    }

    private func cancel(_ id: UInt64) {
        state.withLock { $0.queue.leave(id) ? $0.waiters.removeValue(forKey: id) : nil }?
            .resume(throwing: CancellationError())
    }

    /// Those who waited are woken after the lock is gone.
    private func perform(_ step: (inout State, Duration) -> [FairQueue.Action]) {
        let now = start.duration(to: .now)
        let woken = state.withLock { state in
            step(&state, now).compactMap { action -> (CheckedContinuation<Void, any Error>, PorticoError?)? in
                switch action {
                case .run(let id): return state.waiters.removeValue(forKey: id).map { ($0, nil) }
                case .refuse(let id, let seconds):
                    let error = PorticoError(.overloaded, "Too many sign-ins at once.", retryAfter: seconds)
                    return state.waiters.removeValue(forKey: id).map { ($0, error) }
                }
            }
        }
        for (waiter, error) in woken {
            if let error { waiter.resume(throwing: error) } else { waiter.resume() }
        }
    }
}
