import Dispatch

/// Work that takes long and waits for the disk: on a thread of its own, so that no thread that serves others is held.
enum DedicatedThread {
    static func run<Result: Sendable>(
        label: String, _ work: @escaping @Sendable () throws -> Result
    ) async throws -> Result {
        try await withCheckedThrowingContinuation { answer in
            DispatchQueue(label: label).async { answer.resume(with: Swift.Result { try work() }) }
        }
    }
}
