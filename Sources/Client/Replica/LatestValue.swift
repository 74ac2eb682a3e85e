import Dispatch
import Synchronization

/// A value that others follow: each gets the present one first, then every later one, or the latest where it is slow.
final class LatestValue<Value: Sendable & Equatable>: Sendable {
    private struct State {
        var value: Value
        var last = 0
        var followers: [Int: AsyncStream<Value>.Continuation] = [:]
    }

    private let state: Mutex<State>

    init(_ value: Value) {
        state = Mutex(State(value: value))
    }

    var value: Value { state.withLock { $0.value } }

    func set(_ value: Value) {
        state.withLock { state in
            guard state.value != value else { return }
            state.value = value
            // Within the lock, so that every follower sees the values in their order.
            for follower in state.followers.values { follower.yield(value) }
        }
    }

    func follow() -> AsyncStream<Value> {
        let (stream, continuation) = AsyncStream.makeStream(of: Value.self, bufferingPolicy: .bufferingNewest(1))
        let number = state.withLock { state in
            state.last += 1
            state.followers[state.last] = continuation
            continuation.yield(state.value)
            return state.last
        }
        continuation.onTermination = { [weak self] _ in
            self?.state.withLock { _ = $0.followers.removeValue(forKey: number) }
        }
        return stream
    }

    func finish() {
        let followers = state.withLock { $0.followers }
        for follower in followers.values { follower.finish() }
    }
}

/// Runs an actor's jobs on a thread of its own, one after another, so that it may wait for a disk without holding up other
/// tasks.
///
/// `@unchecked` is not needed: a dispatch queue is safe to share, and it is all there is.
final class SerialQueue: SerialExecutor {
    private let queue: DispatchQueue

    init(label: String) {
        queue = DispatchQueue(label: label)
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { job.runSynchronously(on: self.asUnownedSerialExecutor()) }
    }
}
