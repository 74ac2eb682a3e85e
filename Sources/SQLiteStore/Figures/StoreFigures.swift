import Admission
import Foundation
import Synchronization
import Telemetry

/// Counts of a store since it was opened, and its state at the moment.
public struct StoreFigures: Sendable {
    /// Group commits.
    public var commits: UInt64
    /// Transactions that a commit made durable, and those that threw.
    public var committed: UInt64
    public var refused: UInt64
    /// Seconds of group commits.
    public var commitDurations: MetricDistribution
    /// Transactions of a group commit.
    public var groupSizes: MetricDistribution
    /// Transactions that wait for the next commit.
    public var queued: Int
    /// Reads that ended on their caller's thread, and those that went to the pool of long reads.
    public var quickReads: UInt64
    public var longReads: UInt64
    /// Reads that have a connection of their pool, and those that wait for one.
    public var longPool: AdmissionCounts
    public var streamPool: AdmissionCounts
    /// Sizes in bytes; 0 where the file is not there.
    public var databaseBytes: Int64
    public var logBytes: Int64
}

/// Counts what a store does, across threads.
final class StoreCounters: Sendable {
    private let committed = Atomic<UInt64>(0)
    private let refused = Atomic<UInt64>(0)
    private let quickReads = Atomic<UInt64>(0)
    private let longReads = Atomic<UInt64>(0)
    private let durations: Histogram
    private let sizes: Histogram

    init() {
        durations = Self.histogram(MetricCatalogue.commitDuration)
        sizes = Self.histogram(MetricCatalogue.groupSize)
    }

    private static func histogram(_ definition: MetricDefinition) -> Histogram {
        guard case .histogram(let bounds) = definition.kind else { return Histogram([]) }
        return Histogram(bounds)
    }

    /// One group commit.
    func noteCommit(of transactions: Int, refused count: Int, after duration: Duration) {
        committed.wrappingAdd(UInt64(clamping: transactions - count), ordering: .relaxed)
        refused.wrappingAdd(UInt64(clamping: count), ordering: .relaxed)
        durations.observe(duration / .seconds(1))
        sizes.observe(Double(transactions))
    }

    func noteQuickRead() { quickReads.wrappingAdd(1, ordering: .relaxed) }
    func noteLongRead() { longReads.wrappingAdd(1, ordering: .relaxed) }

    /// With what others know: the queue, the pools and the files.
    func figures(
        queued: Int, longPool: AdmissionCounts, streamPool: AdmissionCounts, path: String
    ) -> StoreFigures {
        let sizes = sizes.distribution
        return StoreFigures(
            commits: sizes.cumulativeCounts.last ?? 0, committed: committed.load(ordering: .relaxed),
            refused: refused.load(ordering: .relaxed), commitDurations: durations.distribution, groupSizes: sizes,
            queued: queued, quickReads: quickReads.load(ordering: .relaxed),
            longReads: longReads.load(ordering: .relaxed), longPool: longPool, streamPool: streamPool,
            databaseBytes: Self.size(of: path), logBytes: Self.size(of: path + "-wal"))
    }

    private static func size(of path: String) -> Int64 {
        let attributes = try? FileManager.default.attributesOfItem(atPath: path)
        return (attributes?[.size] as? Int64) ?? (attributes?[.size] as? Int).map(Int64.init) ?? 0
    }
}
