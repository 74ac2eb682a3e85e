import AdapterKit
import GRDB
import Synchronization

/// One connection with a thread of its own for reads that take long, one after the other: however many are asked for,
/// they use one core. Cancelling the task breaks its read off.
final class SlowLane: Sendable {
    /// How many long reads wait at most; more throw `server.overloaded`.
    static let maximumWaiting = 64

    /// Long reads go through whole tables, and again and again through the same ones: with a cache that is smaller, every
    /// page would come from the kernel every time.
    static let cacheKilobytes = 32_768

    private let connection: DatabaseQueue
    private let waiting = Mutex(0)

    init(_ connection: DatabaseQueue) {
        self.connection = connection
    }

    func read<Result: Sendable>(_ body: @escaping @Sendable (Database) throws -> Result) async throws -> Result {
        try enter()
        defer { waiting.withLock { $0 -= 1 } }
        do {
            return try await connection.read(body)
        } catch let error as CancellationError {
            throw error
        } catch {
            if Task.isCancelled { throw CancellationError() }
            throw translated(error)
        }
    }

    func close() {
        try? connection.close()
    }

    private func enter() throws(PorticoError) {
        let isFull = waiting.withLock { count in
            if count == Self.maximumWaiting { return true }
            count += 1
            return false
        }
        if isFull { throw PorticoError(.overloaded, "Too many long searches are waiting.", retryAfter: 1) }
    }
}
