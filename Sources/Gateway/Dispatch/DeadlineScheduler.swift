import AdapterKit
import HTTPServer
import Synchronization

/// Enforces deadlines, even for work that ignores its cancellation.
///
/// It owns the task of every piece of work until that ends. A task group was rejected: it waits for its children, so a
/// hanging adapter would hang its caller. One sweep checks all deadlines every ``resolution``, which costs a call a
/// dictionary entry instead of a timer.
final class DeadlineScheduler: Sendable {
    static let resolution = Duration.milliseconds(20)

    private struct State {
        var nextID: UInt64 = 0
        var underWay: [UInt64: any SupervisedWork] = [:]
    }

    private let state = Mutex(State())
    private let processor: ProcessorShares

    init(processor: ProcessorShares = .shared) {
        self.processor = processor
    }

    /// How many pieces of work are under way and not given up.
    var count: Int { state.withLock { $0.underWay.count } }

    /// The result of `body`, or `late` once the deadline has passed. The work is cancelled then, and when the caller is.
    func run<Success: Sendable>(
        until deadline: ContinuousClock.Instant, late: PorticoError,
        _ body: @escaping @Sendable () async throws -> Success
    ) async throws -> Success {
        // An unstructured task does not inherit where its creator runs.
        let caller = CallerIdentity.current
        let executor = caller == .system ? nil : processor.executor(for: caller)
        let work = DeadlineWork<Success>(deadline: deadline, late: late, on: executor)
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                begin(work, body) { continuation.resume(with: $0) }
            }
        } onCancel: {
            work.cancel()
        }
    }

    /// The same for a caller that cannot wait: `whenDone` is called once, from any thread. The result cancels the work.
    ///
    /// - Parameter executor: where the work's task runs; nil: in Swift's own pool.
    @discardableResult
    func start<Success: Sendable>(
        until deadline: ContinuousClock.Instant, late: PorticoError, on executor: (any TaskExecutor)? = nil,
        _ body: @escaping @Sendable () async throws -> Success,
        whenDone: @escaping @Sendable (Result<Success, any Error>) -> Void
    ) -> any CancellableWork {
        let work = DeadlineWork<Success>(deadline: deadline, late: late, on: executor)
        begin(work, body, whenDone)
        return work
    }

    /// Looks for passed deadlines until it is cancelled.
    func sweep() async {
        while (try? await Task.sleep(for: Self.resolution)) != nil { expire(at: .now) }
    }

    func expire(at now: ContinuousClock.Instant) {
        let late = state.withLock { state in state.underWay.values.filter { $0.deadline <= now } }
        for work in late { work.giveUp() }
    }

    private func begin<Success: Sendable>(
        _ work: DeadlineWork<Success>, _ body: @escaping @Sendable () async throws -> Success,
        _ whenDone: @escaping @Sendable (Result<Success, any Error>) -> Void
    ) {
        let id = state.withLock { state in
            state.nextID += 1
            state.underWay[state.nextID] = work
            return state.nextID
        }
        work.start(body) { result in
            self.state.withLock { _ = $0.underWay.removeValue(forKey: id) }
            whenDone(result)
        }
    }
}

private protocol SupervisedWork: CancellableWork {
    var deadline: ContinuousClock.Instant { get }
    func giveUp()
}

/// One piece of work: its task and its waiter. The first result counts; later ones are dropped.
private final class DeadlineWork<Success: Sendable>: SupervisedWork {
    private struct State {
        var waiting: (@Sendable (Result<Success, any Error>) -> Void)?
        var task: Task<Void, Never>?
        var isCancelled = false
    }

    let deadline: ContinuousClock.Instant
    private let late: PorticoError
    private let state = Mutex(State())

    /// Kept with the work, whose task keeps the work: the runtime does not retain the executors that tasks prefer.
    private let executor: (any TaskExecutor)?

    init(deadline: ContinuousClock.Instant, late: PorticoError, on executor: (any TaskExecutor)? = nil) {
        self.deadline = deadline
        self.late = late
        self.executor = executor
    }

    func start(
        _ body: @escaping @Sendable () async throws -> Success,
        _ whenDone: @escaping @Sendable (Result<Success, any Error>) -> Void
    ) {
        state.withLock { $0.waiting = whenDone }
        let task = Task(executorPreference: executor) {
            do { self.finish(.success(try await body())) } catch { self.finish(.failure(error)) }
        }
        let isCancelled = state.withLock { state in
            state.task = task
            return state.isCancelled
        }
        if isCancelled { task.cancel() }
    }

    func giveUp() {
        finish(.failure(late))
        cancel()
    }

    func cancel() {
        let task = state.withLock { state in
            state.isCancelled = true
            return state.task
        }
        task?.cancel()
    }

    private func finish(_ result: Result<Success, any Error>) {
        let waiting = state.withLock { state in
            defer { state.waiting = nil }
            return state.waiting
        }
        waiting?(result)
    }
}
