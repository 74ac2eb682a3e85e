import Admission
import Foundation
import RecordStorage
import Synchronization
import Telemetry

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
            refused: refused.load(ordering: .relaxed), commitDurations: .init(durations.distribution),
            groupSizes: .init(sizes), queued: queued, quickReads: quickReads.load(ordering: .relaxed),
            longReads: longReads.load(ordering: .relaxed), longPool: .init(longPool), streamPool: .init(streamPool),
            databaseBytes: Self.size(of: path), logBytes: Self.size(of: path + "-wal"))
    }

    private static func size(of path: String) -> Int64 {
        let attributes = try? FileManager.default.attributesOfItem(atPath: path)
        return (attributes?[.size] as? Int64) ?? (attributes?[.size] as? Int).map(Int64.init) ?? 0
    }
}

extension StoreFigures.Distribution {
    fileprivate init(_ distribution: MetricDistribution) {
        self.init(
            bounds: distribution.bounds, cumulativeCounts: distribution.cumulativeCounts, sum: distribution.sum)
    }
}

extension StoreFigures.Pool {
    fileprivate init(_ counts: AdmissionCounts) {
        self.init(running: counts.running, waiting: counts.waiting)
    }
}
