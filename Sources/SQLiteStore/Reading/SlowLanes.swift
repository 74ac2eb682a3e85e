import AdapterKit
import GRDB
import Synchronization

/// Connections with a thread each for reads that take long: however many are asked for, they use as many cores at most.
/// Each goes where the fewest are waiting, one after the other. Cancelling the task breaks its read off.
final class SlowLanes: Sendable {
    /// How many long reads go on or wait at most; more throw `server.overloaded`.
    static let maximumWaiting = 64

    /// Long reads go through whole tables, and again and again through the same ones: with a cache that is smaller, every
    /// page would come from the kernel every time.
    static let cacheKilobytes = 32_768

    private let lanes: [DatabaseQueue]
    /// How many reads each of them has.
    private let reads: Mutex<[Int]>

    init(_ lanes: [DatabaseQueue]) {
        self.lanes = lanes
        reads = Mutex(Array(repeating: 0, count: lanes.count))
    }

    func read<Result: Sendable>(_ body: @escaping @Sendable (Database) throws -> Result) async throws -> Result {
        let lane = try enter()
        defer { reads.withLock { $0[lane] -= 1 } }
        do {
            return try await lanes[lane].read(body)
        } catch let error as CancellationError {
            throw error
        } catch {
            if Task.isCancelled { throw CancellationError() }
            throw translated(error)
        }
    }

    func close() {
        for lane in lanes { try? lane.close() }
    }

    private func enter() throws(PorticoError) -> Int {
        let lane = reads.withLock { reads -> Int? in
            guard reads.reduce(0, +) < Self.maximumWaiting else { return nil }
            let lane = reads.indices.min { reads[$0] < reads[$1] }
            if let lane { reads[lane] += 1 }
            return lane
        }
        guard let lane else { throw PorticoError(.overloaded, "Too many long searches are waiting.", retryAfter: 1) }
        return lane
    }
}
