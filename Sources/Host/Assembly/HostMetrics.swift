import AdapterKit
import Admission
import Backups
import Foundation
import Glibc
import RecordStorage
import Telemetry
import Upstream

/// What is measured at each scrape of the store, the upstreams and the process.
struct HostMetrics: Sendable {
    let store: any HostedStore
    let upstreams: HostUpstreams
    let traces: HostTraces
    /// Nil: none are configured.
    let backups: BackupService?

    func collect(into samples: inout MetricSamples) {
        collectStore(into: &samples)
        for status in upstreams.statuses { Self.collect(status, into: &samples) }
        if traces.exporter.isUsed {
            let spans = traces.queue.figures
            samples.set(MetricCatalogue.spans, ["exported"], spans.exported)
            samples.set(MetricCatalogue.spans, ["failed"], spans.failed)
            samples.set(MetricCatalogue.spans, ["dropped"], spans.dropped)
            samples.set(MetricCatalogue.queuedSpans, spans.waiting)
        }
        if let backups = backups?.figures { Self.collect(backups, into: &samples) }
        ProcessFigures()?.collect(into: &samples)
    }

    private func collectStore(into samples: inout MetricSamples) {
        let figures = store.figures
        samples.set(MetricCatalogue.commits, figures.commits)
        samples.set(MetricCatalogue.transactions, ["committed"], figures.committed)
        samples.set(MetricCatalogue.transactions, ["refused"], figures.refused)
        samples.set(MetricCatalogue.commitDuration, Self.distribution(figures.commitDurations))
        samples.set(MetricCatalogue.groupSize, Self.distribution(figures.groupSizes))
        samples.set(MetricCatalogue.storeQueue, figures.queued)
        samples.set(MetricCatalogue.reads, ["quick"], figures.quickReads)
        samples.set(MetricCatalogue.reads, ["long"], figures.longReads)
        for (pool, counts) in [("long", figures.longPool), ("stream", figures.streamPool)] {
            samples.set(MetricCatalogue.readsRunning, [pool], counts.running)
            samples.set(MetricCatalogue.readsWaiting, [pool], counts.waiting)
        }
        samples.set(MetricCatalogue.storeFiles, ["database"], figures.databaseBytes)
        samples.set(MetricCatalogue.storeFiles, ["log"], figures.logBytes)
    }

    private static func distribution(_ figures: StoreFigures.Distribution) -> MetricDistribution {
        MetricDistribution(bounds: figures.bounds, cumulativeCounts: figures.cumulativeCounts, sum: figures.sum)
    }

    private static func collect(_ figures: BackupFigures, into samples: inout MetricSamples) {
        let now = SystemClock().now().secondsSince1970
        // Where there is nothing to restore, it is as old as can be.
        samples.set(MetricCatalogue.backupAge, ["state"], now - (figures.state ?? 0))
        samples.set(MetricCatalogue.backupAge, ["copy"], now - (figures.copy ?? 0))
        samples.set(MetricCatalogue.backupCopies, figures.verifiedCopies)
        samples.set(MetricCatalogue.backupLogBytes, figures.logBytes)
        for step in ["log", "copy", "verification", "removal"] {
            samples.set(MetricCatalogue.backupFailures, [step], figures.failures[step] ?? 0)
        }
    }

    private static func collect(_ status: UpstreamStatus, into samples: inout MetricSamples) {
        let (name, figures) = (status.name.text, status.figures)
        for (result, count) in figures.calls { samples.set(MetricCatalogue.upstreamRequests, [name, result], count) }
        samples.set(
            MetricCatalogue.upstreamDuration, [name],
            MetricDistribution(
                bounds: UpstreamFigures.bounds, cumulativeCounts: figures.durations.map { UInt64(clamping: $0) },
                sum: figures.durationSum))
        samples.set(MetricCatalogue.upstreamRetries, [name], figures.retries)
        samples.set(MetricCatalogue.upstreamOpen, [name], status.openCircuits.count)
        samples.set(MetricCatalogue.upstreamActive, [name], status.active)
        samples.set(MetricCatalogue.upstreamWaiting, [name], status.waiting)
    }
}

/// What the kernel knows of this process. Source: proc(5), `/proc/self/stat`.
struct ProcessFigures {
    private let userAndSystem: Double
    private let started: Double
    private let virtual: Int64
    private let resident: Int64

    /// Nil where there is no such file.
    init?() {
        guard let text = try? String(contentsOfFile: "/proc/self/stat", encoding: .utf8),
            // The second field is a name in parentheses, which may have spaces.
            let end = text.lastIndex(of: ")")
        else { return nil }
        let fields = text[text.index(after: end)...].split(separator: " ").map { Double($0) ?? 0 }
        guard fields.count > 21 else { return nil }
        let ticks = Double(max(1, sysconf(Int32(_SC_CLK_TCK))))
        userAndSystem = (fields[11] + fields[12]) / ticks
        started = Self.bootTime + fields[19] / ticks
        virtual = Int64(exactly: fields[20]) ?? 0
        resident = (Int64(exactly: fields[21]) ?? 0) &* Int64(sysconf(Int32(_SC_PAGESIZE)))
    }

    func collect(into samples: inout MetricSamples) {
        samples.set(MetricCatalogue.cpu, userAndSystem)
        samples.set(MetricCatalogue.startTime, started)
        samples.set(MetricCatalogue.virtualMemory, virtual)
        samples.set(MetricCatalogue.residentMemory, resident)
        if let open = try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count {
            samples.set(MetricCatalogue.openFiles, open)
        }
        var limit = rlimit()
        if getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 {
            samples.set(MetricCatalogue.mostFiles, Double(limit.rlim_cur))
        }
    }

    /// When the machine started, in seconds since 1970; constant, and read once.
    private static let bootTime: Double = {
        let text = (try? String(contentsOfFile: "/proc/stat", encoding: .utf8)) ?? ""
        let line = text.split(separator: "\n").first { $0.hasPrefix("btime ") }
        return line.flatMap { Double($0.dropFirst("btime ".count)) } ?? 0
    }()
}
