import FoundationEssentials

/// Finds a worker that answers heartbeats and no calls: one whose threads all spin or wait for each other. A state machine
/// that is asked with each heartbeat.
///
/// Calls that expire are no proof alone, since the system that they wait for may be slow. One that takes the processor all
/// the time is held for broken soon, any other late.
struct StallDetector: Sendable {
    /// Calls of a worker that expired, while none was answered.
    struct Stall: Sendable, Equatable {
        /// When the first of them expired.
        var since: ContinuousClock.Instant
        var expired: Int
    }

    private let limits: SupervisionLimits
    private var first: (stall: ContinuousClock.Instant, seen: ContinuousClock.Instant, demand: Duration)?

    init(limits: SupervisionLimits) {
        self.limits = limits
    }

    /// Why the worker is to be killed; nil: it is not. `processorDemand`: of all its life.
    mutating func reason(
        _ stall: Stall?, processorDemand: Duration, at now: ContinuousClock.Instant
    ) -> String? {
        guard let stall, stall.expired >= limits.stallCalls else {
            first = nil
            return nil
        }
        guard let first, first.stall == stall.since else {
            first = (stall.since, now, processorDemand)
            return nil
        }
        let observed = now - first.seen
        if observed >= limits.spinTolerance, processorDemand - first.demand >= observed * Self.busyShare {
            return "It takes the processor, and \(stall.expired) calls expired with none answered."
        }
        guard now - stall.since >= limits.stallTolerance else { return nil }
        return "\(stall.expired) calls expired with none answered."
    }

    private static let busyShare = 0.8
}

extension WorkerProcess {
    /// The time for which its threads have run or were ready to run; zero where it has ended. Time on the processor alone
    /// would depend on what else the machine does. Source: Documentation/scheduler/sched-stats.rst.
    var processorDemand: Duration {
        let folder = "/proc/\(id)/task"
        guard exit == nil, let threads = try? FileManager.default.contentsOfDirectory(atPath: folder) else {
            return .zero
        }
        var nanoseconds = 0.0
        for thread in threads {
            guard let text = try? String(contentsOfFile: "\(folder)/\(thread)/schedstat", encoding: .utf8) else {
                continue
            }
            for field in text.split(separator: " ").prefix(2) { nanoseconds += Double(field) ?? 0 }
        }
        return .seconds(nanoseconds / 1e9)
    }
}
