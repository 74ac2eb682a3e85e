import AdapterKit

/// Work that is cancelled after a time.
enum TimeLimit {
    /// Throws `late` then. Returns when the work has ended, which it does soon after it is cancelled.
    static func run<Result: Sendable>(
        _ time: Duration, late: PorticoError, _ work: @escaping @Sendable () async throws -> Result
    ) async throws -> Result {
        try await withThrowingTaskGroup(of: Result.self) { tasks in
            tasks.addTask { try await work() }
            tasks.addTask {
                try await Task.sleep(for: max(time, .zero))
                throw late
            }
            defer { tasks.cancelAll() }
            guard let first = try await tasks.next() else { throw CancellationError() }
            return first
        }
    }
}
