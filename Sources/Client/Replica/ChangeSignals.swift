import Synchronization

/// Tells those who watch a collection that it changed. A signal says no more than that; several become one where the
/// watcher is busy.
final class ChangeSignals: Sendable {
    private struct Watchers {
        var last = 0
        var continuations: [Int: (collection: String, AsyncStream<Void>.Continuation)] = [:]
        var isClosed = false
    }

    private let watchers = Mutex(Watchers())

    /// Signals from now on; the stream ends when the replica is closed.
    func watch(_ collection: String) -> AsyncStream<Void> {
        let (stream, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let number = watchers.withLock { watchers -> Int? in
            guard !watchers.isClosed else { return nil }
            watchers.last += 1
            watchers.continuations[watchers.last] = (collection, continuation)
            return watchers.last
        }
        guard let number else {
            continuation.finish()
            return stream
        }
        continuation.onTermination = { [weak self] _ in
            self?.watchers.withLock { _ = $0.continuations.removeValue(forKey: number) }
        }
        return stream
    }

    func changed(_ collections: Set<String>) {
        let concerned = watchers.withLock { watchers in
            watchers.continuations.values.filter { collections.contains($0.collection) }.map(\.1)
        }
        for continuation in concerned { continuation.yield() }
    }

    func close() {
        let all = watchers.withLock { watchers in
            watchers.isClosed = true
            return watchers.continuations.values.map(\.1)
        }
        for continuation in all { continuation.finish() }
    }
}
