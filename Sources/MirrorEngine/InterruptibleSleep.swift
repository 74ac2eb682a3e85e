import AdapterKit
import Synchronization

/// A sleep of one task that any caller may end. An end that comes before the sleep begins ends that one at once, so that
/// none is lost between looking for work and sleeping.
final class InterruptibleSleep: Sendable {
    private struct State {
        var sleeper: CheckedContinuation<Void, Never>?
        var isInterrupted = false
    }

    private let clock: any WallClock
    private let sleep: @Sendable (Duration) async throws -> Void
    private let state = Mutex(State())

    init(clock: any WallClock, sleep: @escaping @Sendable (Duration) async throws -> Void) {
        self.clock = clock
        self.sleep = sleep
    }

    /// Ends the sleep, or the next one where none is.
    func interrupt() {
        let sleeper = state.withLock { state in
            defer { state.sleeper = nil }
            if state.sleeper == nil { state.isInterrupted = true }
            return state.sleeper
        }
        sleeper?.resume()
    }

    /// Returns at an instant, from a millisecond to a day ahead, or earlier by ``interrupt()`` and the task's cancellation;
    /// nil: by these alone. For one task at a time.
    func run(until instant: WireDate?) async {
        await withTaskGroup(of: Void.self) { group in
            if let instant {
                let seconds = max(0.001, min(instant.seconds(since: clock.now()), 86_400))
                group.addTask {
                    if (try? await self.sleep(.seconds(seconds))) != nil { self.interrupt() }
                }
            }
            await withTaskCancellationHandler {
                await withCheckedContinuation { caller in
                    let isInterrupted = state.withLock { state in
                        guard !state.isInterrupted, !Task.isCancelled else {
                            state.isInterrupted = false
                            return true
                        }
                        state.sleeper = caller
                        return false
                    }
                    if isInterrupted { caller.resume() }
                }
            } onCancel: {
                interrupt()
            }
            group.cancelAll()
        }
    }
}
