import AdapterKit
import Synchronization

/// Answers for work that takes too long, even where the work ignores its cancellation.
///
/// It owns the task of every piece of work that it runs, until that ends. A task group was rejected: it waits for its
/// children, so an adapter that hangs would hang its caller. One sweep looks at all deadlines every ``resolution``,
/// which costs a call a dictionary entry instead of a timer.
final class DeadlineKeeper: Sendable {
    static let resolution = Duration.milliseconds(20)

    private struct State {
        var nextID: UInt64 = 0
        var underWay: [UInt64: any SupervisedWork] = [:]
    }

    private let state = Mutex(State())

    /// How many pieces of work are under way and not given up.
    var count: Int { state.withLock { $0.underWay.count } }

    /// The result of `work`, or `late` once the deadline has passed. The work is cancelled then, and when the caller is.
    func run<Success: Sendable>(
        until deadline: ContinuousClock.Instant, late: PorticoError,
        _ body: @escaping @Sendable () async throws -> Success
    ) async throws -> Success {
        let work = Work<Success>(deadline: deadline, late: late)
        let id = begin(work)
        defer { end(id) }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { work.start(body, $0) }
        } onCancel: {
            work.cancel()
        }
    }

    /// Looks for passed deadlines until it is cancelled.
    func sweep() async {
        while (try? await Task.sleep(for: Self.resolution)) != nil { expire(at: .now) }
    }

    func expire(at now: ContinuousClock.Instant) {
        let late = state.withLock { state in state.underWay.values.filter { $0.deadline <= now } }
        for work in late { work.giveUp() }
    }

    private func begin(_ work: any SupervisedWork) -> UInt64 {
        state.withLock { state in
            state.nextID += 1
            state.underWay[state.nextID] = work
            return state.nextID
        }
    }

    private func end(_ id: UInt64) {
        state.withLock { _ = $0.underWay.removeValue(forKey: id) }
    }
}

private protocol SupervisedWork: Sendable {
    var deadline: ContinuousClock.Instant { get }
    func giveUp()
}

/// One piece of work: its task, and whoever waits for it. The first end wins, later ones change nothing.
private final class Work<Success: Sendable>: SupervisedWork {
    private struct State {
        var waiting: CheckedContinuation<Success, any Error>?
        var task: Task<Void, Never>?
        var isCancelled = false
    }

    let deadline: ContinuousClock.Instant
    private let late: PorticoError
    private let state = Mutex(State())

    init(deadline: ContinuousClock.Instant, late: PorticoError) {
        self.deadline = deadline
        self.late = late
    }

    func start(
        _ body: @escaping @Sendable () async throws -> Success, _ continuation: CheckedContinuation<Success, any Error>
    ) {
        state.withLock { $0.waiting = continuation }
        let task = Task {
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
        waiting?.resume(with: result)
    }
}
