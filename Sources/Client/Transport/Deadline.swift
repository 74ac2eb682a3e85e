/// Runs `work` and cancels it when the time is over, which is then ``TransportError/deadlineExceeded``.
///
/// - Throws: what `work` throws; `CancellationError` where the calling task was cancelled.
func withDeadline<Result: Sendable>(
    _ deadline: Duration, clock: any Clock<Duration>, _ work: @escaping @Sendable () async throws -> Result
) async throws -> Result {
    try await withThrowingTaskGroup(of: Result.self) { group in
        group.addTask { try await work() }
        group.addTask {
            try await clock.sleep(for: deadline)
            throw TransportError.deadlineExceeded
        }
        defer { group.cancelAll() }
        guard let first = try await group.next() else { throw CancellationError() }
        return first
    }
}
